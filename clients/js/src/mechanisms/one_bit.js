/** One bit about a number: it is 1 the more often, the larger the number is, and exactly in proportion. */

import { expBelow } from "../probability.js";
import { ONE } from "../source.js";
import { numbers } from "../wire.js";
import { NumericSpec } from "./numeric.js";

/** @typedef {import("../source.js").Source} Source */
/** @typedef {import("../decimal.js").Rational} Rational */

/** One bit about a number: 1 with the threshold first + key step, so that both answers have the same worst ratio. */
export class OneBit extends NumericSpec {
  /** @returns {Record<string, bigint>} */
  resolve() {
    return oneBitThresholds(this.epsilon, this.steps);
  }

  get ratio() {
    return /** @type {Rational} */ ([ONE - this.thresholds.first, this.thresholds.first]);
  }

  get layout() {
    return [numbers("bit", 2)];
  }

  perturb(/** @type {number} */ key, /** @type {Source} */ source) {
    return Number(source.bernoulli(this.thresholds.first + BigInt(key) * this.thresholds.step));
  }

  /** @returns {Rational} */
  chance(/** @type {number} */ bit, /** @type {bigint} */ key) {
    const one = this.thresholds.first + key * this.thresholds.step;
    return [bit ? one : ONE - one, ONE];
  }

  words(/** @type {number} */ bit) {
    return [`the bit ${bit}`];
  }
}

/** Microsoft's one-bit mean. */
export class OneBitMean extends OneBit {}

/** Duchi, Jordan and Wainwright's mechanism for one number: the same law. */
export class Duchi extends OneBit {}

/** The threshold at low, and by how much it grows with each grid point: the largest integer that keeps epsilon. */
export function oneBitThresholds(/** @type {number} */ epsilon, /** @type {number} */ count) {
  const [n, d] = expBelow(epsilon);
  const steps = BigInt(count);
  const most = (ONE * (n - d)) / ((n + d) * steps);
  const step = most - ((most * steps) % 2n); // so that both ends are equally far from a fair coin
  return { first: (ONE - steps * step) / 2n, step };
}
