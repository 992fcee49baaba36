/** Windows on a lattice: a cell of the window at the input is e^epsilon times as likely as any other cell. */

import { expBelow, keepThreshold } from "../probability.js";
import { ONE } from "../source.js";
import { numbers } from "../wire.js";
import { gridPoint } from "../words.js";
import { NumericSpec } from "./numeric.js";

/** @typedef {import("../source.js").Source} Source */
/** @typedef {import("../decimal.js").Rational} Rational */

/** The piecewise mechanism, on a lattice. */
export class Piecewise extends NumericSpec {
  window = this.integer("window", 1, this.steps);

  resolve() {
    return { keep: keepThreshold(expBelow(this.epsilon), this.window, this.steps) };
  }

  get ratio() {
    return windowRatio(this.steps, this.window, this.thresholds.keep);
  }

  get layout() {
    return [numbers("point", this.steps + this.window)];
  }

  perturb(/** @type {number} */ key, /** @type {Source} */ source) {
    return drawCell(key, this.steps, this.window, this.thresholds.keep, source);
  }

  chance(/** @type {number} */ point, /** @type {bigint} */ key) {
    return cellChance(point, key, this.steps, this.window, this.thresholds.keep);
  }

  words(/** @type {number} */ point) {
    return [gridPoint(point, this.steps + this.window)];
  }
}

/** The square wave mechanism: the same law, whose collector learns how the values are distributed. */
export class SquareWave extends Piecewise {}

/** @returns {Rational} of a cell in the window and one outside */
export function windowRatio(/** @type {number} */ steps, /** @type {number} */ window, /** @type {bigint} */ keep) {
  return [keep * BigInt(steps), (ONE - keep) * BigInt(window)];
}

/** A cell of the window that starts at the key, with the threshold `keep`, or one of the `steps` cells outside. */
export function drawCell(
  /** @type {number} */ key,
  /** @type {number} */ steps,
  /** @type {number} */ window,
  /** @type {bigint} */ keep,
  /** @type {Source} */ source,
) {
  if (source.bernoulli(keep)) return key + source.below(window);
  const other = source.below(steps);
  return other + (other >= key ? window : 0);
}

/** @returns {Rational} the chance of `drawCell` to give this cell */
export function cellChance(
  /** @type {number} */ cell,
  /** @type {bigint} */ key,
  /** @type {number} */ steps,
  /** @type {number} */ window,
  /** @type {bigint} */ keep,
) {
  const inside = key <= cell && cell < key + BigInt(window);
  return inside ? [keep, ONE * BigInt(window)] : [ONE - keep, ONE * BigInt(steps)];
}
