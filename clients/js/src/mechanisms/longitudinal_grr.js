import { numbers } from "../wire.js";
import { responseRatio, twoRatio, twoResponses } from "./chain.js";
import { keepOrReplace } from "./keep.js";
import { Longitudinal } from "./longitudinal.js";

/** @typedef {import("../source.js").Source} Source */

/** Generalized randomized response, twice: once permanently, and once for each report. */
export class LongitudinalGRR extends Longitudinal {
  /** The number of symbols. */
  get symbols() {
    return this.domainSize;
  }

  resolve() {
    const found = twoResponses(this.symbols, this.epsilon, this.firstEpsilon);
    if (found) return found;
    throw this.tooClose();
  }

  get ratio() {
    return responseRatio(this.symbols, this.thresholds.keep);
  }

  get firstRatio() {
    return twoRatio(this.symbols, /** @type {{keep: bigint, keep_again: bigint}} */ (this.thresholds));
  }

  get answerLayout() {
    return [numbers("symbol", this.symbols)];
  }

  permanentOf(/** @type {number} */ group, /** @type {unknown} */ _personal, /** @type {Source} */ source) {
    return keepOrReplace(group, this.symbols, this.thresholds.keep, source);
  }

  instantaneous(/** @type {number} */ memo, /** @type {Source} */ source) {
    return keepOrReplace(memo, this.symbols, this.thresholds.keep_again, source);
  }

  /** @returns {import("../words.js").Words | Promise<import("../words.js").Words>} */
  words(/** @type {any} */ symbol) {
    return ["the answer: ", { values: [symbol] }];
  }
}
