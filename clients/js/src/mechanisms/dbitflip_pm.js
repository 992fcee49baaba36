import { expBelow, keepThreshold } from "../probability.js";
import { ONE } from "../source.js";
import { bitColumn, numbers } from "../wire.js";
import { flipAgain, flipped } from "./chain.js";
import { bucketsInWords, drawBuckets } from "./dbitflip.js";
import { Longitudinal } from "./longitudinal.js";
import { perturbBits } from "./unary.js";

/** @typedef {import("../decimal.js").Rational} Rational */
/** @typedef {import("../source.js").Source} Source */

/** DBitFlip with permanent memoization: noisy bits about a few values, drawn once, sent again as they are or with a little more noise. */
export class DBitFlipPM extends Longitudinal {
  static largestDomain = 2 ** 24;
  bits = this.integer("bits", 1, this.domainSize);
  /** In how many bits two inputs differ. */
  differing = this.bits > 1 ? 2n : 1n;

  resolve() {
    const share = /** @type {Rational} */ ([1n, this.differing]);
    const keep = keepThreshold(expBelow(this.epsilon, share));
    return { keep, flip_again: this.firstEpsilon === this.epsilon ? 0n : flipAgain(keep, expBelow(this.firstEpsilon, share)) };
  }

  get ratio() {
    return this.#ratio(this.thresholds.keep, ONE);
  }

  get firstRatio() {
    const { keep, flip_again: again } = this.thresholds;
    return this.#ratio(keep * (ONE - again) + (ONE - keep) * again, ONE * ONE);
  }

  /** @returns {Rational} */
  #ratio(/** @type {bigint} */ right, /** @type {bigint} */ unit) {
    return [right ** this.differing, (unit - right) ** this.differing];
  }

  get classes() {
    return Math.min(this.bits + 1, this.domainSize);
  }

  get personalLayout() {
    return [numbers("buckets", this.domainSize, { count: this.bits, increasing: true, drawn: true })];
  }

  get answerLayout() {
    return [bitColumn("bits", this.bits)];
  }

  personal(/** @type {Source} */ source) {
    const chosen = drawBuckets(this.domainSize, this.bits, source);
    return this.bits > 1 ? chosen : chosen[0];
  }

  /** The place of the value among the buckets; one more for all that were not drawn. */
  classOf(/** @type {number} */ key, /** @type {number | number[]} */ personal) {
    const place = [personal].flat().indexOf(key);
    return place < 0 ? this.bits : place;
  }

  permanentOf(/** @type {number} */ group, /** @type {unknown} */ _personal, /** @type {Source} */ source) {
    const { keep } = this.thresholds;
    if (group === this.bits) return source.bernoulliBits(ONE - keep, this.bits);
    return perturbBits(group, this.bits, ONE - keep, keep, source);
  }

  instantaneous(/** @type {Uint8Array} */ memo, /** @type {Source} */ source) {
    return flipped(memo, this.bits, this.thresholds.flip_again, source);
  }

  words(/** @type {[number | number[], Uint8Array]} */ [buckets, bits]) {
    return bucketsInWords([buckets].flat(), bits);
  }
}
