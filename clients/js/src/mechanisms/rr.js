import { ParameterError } from "../errors.js";
import { lawOf, share } from "../law.js";
import { ONE } from "../source.js";
import { Spec } from "../spec.js";
import { numbers } from "../wire.js";

/** Randomized response: say "yes" with one probability if it is true, and with another if it is not. The thresholds are the coin. */
export class RR extends Spec {
  static largestDomain = 2;

  resolve({ yes_if_true: yes = 1n, yes_if_false: no = 1n }) {
    if ([yes, no].some((side) => side <= 0n || side >= ONE)) {
      throw new ParameterError("coin", [yes, no], { allowed: "thresholds between 0 and 2^64", fix: "leave it out: it follows from epsilon" });
    }
    return { yes_if_true: yes, yes_if_false: no }; // any coin: `ratio` must keep epsilon
  }

  get ratio() {
    const { yes_if_true: yes, yes_if_false: no } = this.thresholds;
    const [said, denied] = [
      [yes, no],
      [ONE - no, ONE - yes],
    ];
    return /** @type {[bigint, bigint]} */ (said[0] * denied[1] > denied[0] * said[1] ? said : denied);
  }

  get layout() {
    return [numbers("bit", 2)];
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    return Number(source.bernoulli(key ? this.thresholds.yes_if_true : this.thresholds.yes_if_false));
  }

  law(/** @type {number} */ bit) {
    return lawOf((key) => {
      const yes = Number(key) ? this.thresholds.yes_if_true : this.thresholds.yes_if_false;
      return share(bit ? yes : ONE - yes);
    });
  }

  words(/** @type {number} */ bit) {
    return ["the answer: ", { values: [bit] }];
  }
}
