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

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    return keepOrReplace(key, this.domainSize, this.thresholds.keep, source);
  }
}
