import { ceilThreshold, expBelow } from "../probability.js";
import { ONE } from "../source.js";
import { bitColumn } from "../wire.js";
import { everyKey, marked } from "../words.js";
import { bitsAgain, chained, odds, secondRaise } from "./chain.js";
import { Longitudinal } from "./longitudinal.js";
import { perturbBits, symmetric } from "./unary.js";

/** @typedef {import("../source.js").Source} Source */

/** Unary encoding with permanently noisy bits, and each report noisy once more: L-SUE, L-OSUE, L-SOUE, L-OUE. */
export class LongitudinalUnary extends Longitudinal {
  static largestDomain = 2 ** 24;
  /** Which of the two steps, the first (1), the second (2) or both, is OUE's and not SUE's. */
  optimized = this.integer("optimized", 0, 3);

  resolve() {
    const [n, d] = expBelow(this.epsilon);
    const first = this.optimized & 1 ? { keep: ONE / 2n, raise_other: ceilThreshold([d, n + d]) } : symmetric(this.epsilon);
    const rise = secondRaise([first.keep, first.raise_other], (this.optimized & 2) > 0, expBelow(this.firstEpsilon));
    if (rise === undefined) throw this.tooClose();
    return { ...first, keep_again: this.optimized & 2 ? ONE / 2n : ONE - rise, raise_again: rise };
  }

  /** @returns {import("./chain.js").Coin} */
  get first() {
    return [this.thresholds.keep, this.thresholds.raise_other];
  }

  /** @returns {import("./chain.js").Coin} */
  get second() {
    return [this.thresholds.keep_again, this.thresholds.raise_again];
  }

  get ratio() {
    return odds(this.first, ONE);
  }

  get firstRatio() {
    return odds(chained(this.first, this.second));
  }

  get answerLayout() {
    return [bitColumn("bits", this.domainSize)];
  }

  permanentOf(/** @type {number} */ group, /** @type {unknown} */ _personal, /** @type {Source} */ source) {
    return perturbBits(group, this.domainSize, this.thresholds.raise_other, this.thresholds.keep, source);
  }

  instantaneous(/** @type {Uint8Array} */ memo, /** @type {Source} */ source) {
    return bitsAgain(memo, this.domainSize, this.second, source);
  }

  words(/** @type {Uint8Array} */ bits) {
    return ["these answers are marked: ", marked(everyKey(this), bits)];
  }
}
