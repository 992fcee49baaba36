import { DomainError, ParameterError } from "../errors.js";
import { SYSTEM } from "../source.js";
import { OneBit } from "./one_bit.js";

/** Randomized response on low and high; numbers between are refused, and nothing is rounded. */
export class SignRR extends OneBit {
  rounds = false;

  resolve() {
    if (this.steps === 1) return super.resolve();
    throw new ParameterError("steps", this.steps, { allowed: "1: an answer is low or high", fix: "use Duchi for numbers between" });
  }

  async randomize(/** @type {unknown} */ value, /** @type {import("../source.js").Source} */ source = SYSTEM) {
    const [key, denominator] = this.range.position(value);
    if (denominator === 1n) return this.perturb(Number(key), source);
    throw new DomainError("value", value, { allowed: "low or high, and nothing between", fix: "use Duchi for numbers between" });
  }
}
