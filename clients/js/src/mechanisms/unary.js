/** Unary encoding: one noisy bit for each value. OUE, SUE and THE differ in two probabilities only. */

import { setBit } from "../bits.js";
import { ParameterError } from "../errors.js";
import { bitLaw } from "../law.js";
import { ceilThreshold, expAbove, expBelow, floorThreshold, keepThreshold, writtenAs } from "../probability.js";
import { ONE } from "../source.js";
import { Spec } from "../spec.js";
import { bitColumn } from "../wire.js";
import { everyKey, marked } from "../words.js";

/** @typedef {import("../source.js").Source} Source */
/** @typedef {import("../decimal.js").Rational} Rational */

class UnaryEncoding extends Spec {
  static largestDomain = 2 ** 24;

  get ratio() {
    return bitRatio(this.thresholds.keep, this.thresholds.raise_other);
  }

  get layout() {
    return [bitColumn("bits", this.domainSize)];
  }

  perturb(/** @type {number} */ key, /** @type {Source} */ source) {
    return perturbBits(key, this.domainSize, this.thresholds.raise_other, this.thresholds.keep, source);
  }

  law(/** @type {Uint8Array} */ bits) {
    return bitLaw(bits, this.domainSize, this.thresholds.raise_other, this.thresholds.keep, (key) => [Number(key)]);
  }

  words(/** @type {Uint8Array} */ bits) {
    return ["these answers are marked: ", marked(everyKey(this), bits)];
  }
}

/** Optimized unary encoding: the true bit is a fair coin. */
export class OUE extends UnaryEncoding {
  resolve() {
    const [n, d] = expBelow(this.epsilon);
    return { keep: ONE / 2n, raise_other: ceilThreshold([d, n + d]) };
  }
}

/** Symmetric unary encoding, the one-time form of basic RAPPOR. */
export class SUE extends UnaryEncoding {
  resolve() {
    return symmetric(this.epsilon);
  }
}

/** Thresholding with histogram encoding. */
export class THE extends UnaryEncoding {
  static tight = false;
  theta = this.decimal("theta");

  resolve() {
    if (!(0.5 < this.theta && this.theta < 1)) {
      throw new ParameterError("theta", this.theta, { allowed: "a number between 1/2 and 1", fix: "publish the spec again" });
    }
    const [n, d] = writtenAs(this.theta);
    const [own, other] = [expAbove(this.epsilon, [n - d, 2n * d]), expAbove(this.epsilon, [-n, 2n * d])];
    return { keep: floorThreshold([2n * own[1] - own[0], 2n * own[1]]), raise_other: ceilThreshold([other[0], 2n * other[1]]) };
  }
}

/** The thresholds of bits that are each true with the same probability: two inputs differ in two, and each pays half of epsilon. */
export function symmetric(/** @type {number} */ epsilon) {
  const keep = keepThreshold(expBelow(epsilon, [1n, 2n]));
  return { keep, raise_other: ONE - keep };
}

/** @returns {Rational} the worst ratio where two inputs differ in two bits */
export function bitRatio(/** @type {bigint} */ keep, /** @type {bigint} */ raiseOther) {
  return [keep * (ONE - raiseOther), (ONE - keep) * raiseOther];
}

/** `count` bits: the one at `place` is 1 with the threshold `keep`, every other one with `raiseOther`. */
export function perturbBits(
  /** @type {number} */ place,
  /** @type {number} */ count,
  /** @type {bigint} */ raiseOther,
  /** @type {bigint} */ keep,
  /** @type {Source} */ source,
) {
  const bits = source.bernoulliBits(raiseOther, count);
  setBit(bits, place, source.bernoulli(keep)); // drawn anew, never merely set: leaving it 1 where noise put it would cost more than epsilon
  return bits;
}
