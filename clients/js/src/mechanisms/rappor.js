import { bigEndian, readBigEndian } from "../bytes.js";
import { ParameterError } from "../errors.js";
import { ONE } from "../source.js";
import { bitColumn, numbers } from "../wire.js";
import { Filters } from "./bloom_rr.js";
import { bitsAgain, chained, flipped } from "./chain.js";
import { Longitudinal } from "./longitudinal.js";

/** @typedef {import("../decimal.js").Rational} Rational */
/** @typedef {import("../source.js").Source} Source */
/** @typedef {import("./chain.js").Coin} Coin */

/**
 * RAPPOR in full: a Bloom filter with permanently noisy bits, and each report noisy once more.
 *
 * The thresholds are the coins: any that keep both epsilons, and use them up.
 */
export class RAPPOR extends Longitudinal {
  static needsListedDomain = false;
  filters = new Filters(this, 4096); // permanent answers are kept under their filters, as decimal numbers

  resolve({ flip = 1n, keep_again: keep = 2n, raise_again: rise = 1n }) {
    if (0n < flip && flip < ONE / 2n && 0n < rise && rise < keep && keep < ONE) return { flip, keep_again: keep, raise_again: rise };
    throw new ParameterError("coin", [flip, keep, rise], { allowed: "thresholds between 0 and 2^64, in order", fix: "publish it again" });
  }

  /** @returns {Coin} with which bits that are set, and others, are kept as 1 */
  get first() {
    return [ONE - this.thresholds.flip, this.thresholds.flip];
  }

  /** @returns {Coin} with which bits that were kept as 1, and others, are reported as 1 */
  get second() {
    return [this.thresholds.keep_again, this.thresholds.raise_again];
  }

  get ratio() {
    return this.#worst(this.first, ONE);
  }

  get firstRatio() {
    return this.#worst(chained(this.first, this.second), ONE * ONE);
  }

  /** @returns {Rational} of two filters: up to h bits that only the one has, up to h that only the other has, and m in all */
  #worst(/** @type {Coin} */ [p, q], /** @type {bigint} */ unit) {
    const { bits, hashes } = this.filters;
    const ratios = Array.from({ length: Math.min(hashes, bits) + 1 }, (_, own) => {
      const [mine, others] = [BigInt(own), BigInt(Math.min(hashes, bits - own))];
      return /** @type {Rational} */ ([p ** mine * (unit - q) ** others, q ** mine * (unit - p) ** others]);
    });
    return ratios.reduce((worst, ratio) => (worst[0] * ratio[1] < ratio[0] * worst[1] ? ratio : worst));
  }

  get classes() {
    return Math.min(super.classes, 2 ** this.filters.bits);
  }

  get personalLayout() {
    return [numbers("cohort", this.filters.cohorts, { drawn: true })];
  }

  get answerLayout() {
    return [bitColumn("bits", this.filters.bits)];
  }

  personal(/** @type {Source} */ source) {
    return source.below(this.filters.cohorts);
  }

  /** The filter itself, as a number: values that it cannot tell apart are one class. */
  async classOf(/** @type {bigint} */ key, /** @type {number} */ personal) {
    return readBigEndian((await this.filters.of(personal, key)).reverse());
  }

  permanentOf(/** @type {bigint} */ group, /** @type {unknown} */ _personal, /** @type {Source} */ source) {
    const { bits } = this.filters;
    return flipped(bigEndian(group, Math.ceil(bits / 8)).reverse(), bits, this.thresholds.flip, source);
  }

  instantaneous(/** @type {Uint8Array} */ memo, /** @type {Source} */ source) {
    return bitsAgain(memo, this.filters.bits, this.second, source);
  }
}
