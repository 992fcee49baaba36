import { DomainError, ParameterError } from "../errors.js";
import { Numbers } from "../numbers.js";
import { expBelow } from "../probability.js";
import { ONE } from "../source.js";
import { numbers } from "../wire.js";
import { flipAgain } from "./chain.js";
import { Longitudinal } from "./longitudinal.js";
import { oneBitThresholds } from "./one_bit.js";

/** @typedef {import("../decimal.js").Rational} Rational */
/** @typedef {import("../source.js").Source} Source */

/** Up to here every whole number is a double, in arrays and in a browser. */
const LARGEST = 1n << 53n;

/**
 * Microsoft's counters: a one-bit mean with alpha-point rounding, permanent memoization and output perturbation.
 *
 * The device draws alpha below the width of a cell once and keeps it; a counter becomes the grid point below it, or the one above if adding
 * alpha reaches that. One noisy bit is kept for each grid point, and flipped now and then. Alpha never leaves the device.
 */
export class OneBitMeanPM extends Longitudinal {
  range = this.#readRange();
  steps = this.range.steps;
  /** The width of a cell of the grid. */
  cell = this.range.width[0] / BigInt(this.steps);

  #readRange() {
    const range = this.domain;
    const whole = range instanceof Numbers && !range.times && range.start[1] === 1n && range.width[1] === 1n;
    if (whole && range.width[0] % BigInt(range.steps) === 0n) {
      const [start, width] = [range.start[0], range.width[0]];
      if (start >= -LARGEST && start + width <= LARGEST && width <= LARGEST) return range;
    }
    const allowed = "whole numbers up to 2^53, with a width that the steps divide";
    throw new ParameterError("domain", range.description, { allowed, fix: "publish the spec again" });
  }

  resolve() {
    const thresholds = oneBitThresholds(this.epsilon, this.steps);
    const still = this.firstEpsilon === this.epsilon;
    return { ...thresholds, flip_again: still ? 0n : flipAgain(ONE - thresholds.first, expBelow(this.firstEpsilon)) };
  }

  get ratio() {
    return /** @type {Rational} */ ([ONE - this.thresholds.first, this.thresholds.first]);
  }

  get firstRatio() {
    const { first, flip_again: again } = this.thresholds;
    const one = again * (ONE - first) + (ONE - again) * first;
    return /** @type {Rational} */ ([ONE * ONE - one, one]);
  }

  get classes() {
    return this.steps + 1;
  }

  get personalLayout() {
    return [numbers("alpha", this.cell)];
  }

  get answerLayout() {
    return [numbers("bit", 2)];
  }

  get layout() {
    return this.answerLayout; // alpha stays on the device
  }

  joined(/** @type {unknown} */ _personal, /** @type {number} */ answer) {
    return answer;
  }

  /** How far the counter is above low. */
  async keyOf(/** @type {unknown} */ value) {
    const [numerator, denominator] = this.range.position(value);
    const place = numerator * this.cell;
    if (place % denominator === 0n) return place / denominator;
    throw new DomainError("value", value, { allowed: "a whole number", fix: "count in smaller units" });
  }

  personal(/** @type {Source} */ source) {
    const alpha = source.below(this.cell);
    return this.cell > 2 ** 32 ? alpha : Number(alpha);
  }

  classOf(/** @type {bigint} */ key, /** @type {number | bigint} */ personal) {
    return (key + BigInt(personal)) / this.cell;
  }

  permanentOf(/** @type {bigint} */ group, /** @type {unknown} */ _personal, /** @type {Source} */ source) {
    return Number(source.bernoulli(this.thresholds.first + group * this.thresholds.step));
  }

  instantaneous(/** @type {number} */ memo, /** @type {Source} */ source) {
    return memo ^ source.bernoulliBits(this.thresholds.flip_again, 1)[0];
  }

  words(/** @type {number} */ bit) {
    return [`the bit ${bit}`];
  }
}
