import { bitLaw } from "../law.js";
import { expBelow, keepThreshold } from "../probability.js";
import { ONE } from "../source.js";
import { Spec } from "../spec.js";
import { bitColumn, numbers } from "../wire.js";
import { marked } from "../words.js";
import { perturbBits } from "./unary.js";

/** @typedef {import("../source.js").Source} Source */

/** DBitFlip: noisy bits about a few values that were drawn at random. */
export class DBitFlip extends Spec {
  static largestDomain = 2 ** 24;
  bits = this.integer("bits", 1, this.domainSize);

  resolve() {
    return { keep: keepThreshold(expBelow(this.epsilon, [1n, this.bits > 1 ? 2n : 1n])) };
  }

  get ratio() {
    const power = this.bits > 1 ? 2n : 1n;
    return /** @type {[bigint, bigint]} */ ([this.thresholds.keep ** power, (ONE - this.thresholds.keep) ** power]);
  }

  get layout() {
    return [numbers("buckets", this.domainSize, { count: this.bits, increasing: true, drawn: true }), bitColumn("bits", this.bits)];
  }

  perturb(/** @type {number} */ key, /** @type {Source} */ source) {
    const { keep } = this.thresholds;
    const chosen = drawBuckets(this.domainSize, this.bits, source);
    const place = chosen.indexOf(key);
    const bits = place < 0 ? source.bernoulliBits(ONE - keep, this.bits) : perturbBits(place, this.bits, ONE - keep, keep, source);
    return [this.bits > 1 ? chosen : chosen[0], bits];
  }

  law(/** @type {[number | number[], Uint8Array]} */ [buckets, bits]) {
    return bitLaw(bits, this.bits, ONE - this.thresholds.keep, this.thresholds.keep, (key) => {
      const place = [buckets].flat().indexOf(Number(key));
      return place < 0 ? [] : [place];
    });
  }

  words(/** @type {[number | number[], Uint8Array]} */ [buckets, bits]) {
    return bucketsInWords([buckets].flat(), bits);
  }
}

/** Distinct values, every set equally likely (Floyd): a value that is in already stands for the newest one that could come. */
export function drawBuckets(/** @type {number} */ size, /** @type {number} */ count, /** @type {Source} */ source) {
  const chosen = new Set();
  for (let newest = size - count; newest < size; newest++) {
    const drawn = source.below(newest + 1);
    chosen.add(chosen.has(drawn) ? newest : drawn);
  }
  return Array.from(chosen).sort((a, b) => a - b);
}

/** @returns {import("../words.js").Words} */
export function bucketsInWords(/** @type {number[]} */ values, /** @type {Uint8Array} */ bits) {
  return ["about ", { values }, ", which were drawn at random, these are marked: ", marked(values, bits)];
}
