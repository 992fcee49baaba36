import { logAbove } from "../probability.js";
import { numbers } from "../wire.js";
import { keepOrReplace, KeepSpec } from "./keep.js";

/** Generalized randomized response: the truth, or any other answer. */
export class GRR extends KeepSpec {
  /** @returns {[number, number]} */
  get odds() {
    return [1, this.domainSize - 1];
  }

  get layout() {
    return [numbers("symbol", this.domainSize)];
  }

  /** The log of 1 + (p / q - 1) / sampling: a report has the probability q + (p - q) P(the input is it), P from 0 to 1 / sampling. */
  epsilonAfter(/** @type {number} */ sampling) {
    const [kept, replaced] = this.ratio;
    const others = replaced * BigInt(sampling - 1);
    return sampling > 1 ? logAbove([kept + others, replaced + others]) : this.epsilon;
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    return keepOrReplace(key, this.domainSize, this.thresholds.keep, source);
  }

  law(/** @type {number} */ symbol) {
    return this.keptLaw((key) => Number(key) === symbol);
  }

  words(/** @type {number} */ symbol) {
    return ["the answer: ", { values: [symbol] }];
  }
}
