import { parity } from "../bits.js";
import { numbers } from "../wire.js";
import { KeepSpec } from "./keep.js";

/** Hadamard randomized response: the sign of the value's column in a random row, by randomized response. */
export class HRR extends KeepSpec {
  /** The number of rows: the smallest power of two that is at least the number of values. */
  order = 2 ** (this.domainSize - 1).toString(2).length;

  get layout() {
    return [numbers("row", this.order, { drawn: true }), numbers("sign", 2)];
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    const row = source.below(this.order);
    const sign = parity(row & key);
    return [row, source.bernoulli(this.thresholds.keep) ? sign : 1 - sign];
  }

  law(/** @type {[number, number]} */ [row, sign]) {
    return this.keptLaw((key) => parity(row & Number(key)) === sign);
  }
}
