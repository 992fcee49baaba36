import { expBelow, floorThreshold, keepThreshold } from "../probability.js";
import { ONE } from "../source.js";
import { numbers } from "../wire.js";
import { gridPoint } from "../words.js";
import { OneBit } from "./one_bit.js";
import { cellChance, drawCell, windowRatio } from "./windows.js";

/** @typedef {import("../source.js").Source} Source */
/** @typedef {import("../decimal.js").Rational} Rational */

/** The hybrid mechanism: a cell of the piecewise mechanism, or a single bit, at random. */
export class Hybrid extends OneBit {
  window = this.integer("window", 1, this.steps);

  resolve() {
    const keep = keepThreshold(expBelow(this.epsilon), this.window, this.steps);
    return { mix: this.#mix(), keep, ...super.resolve() };
  }

  /** The share of cells with which the variance is the same everywhere; none where a bit is better in the middle. */
  #mix() {
    const [n, d] = expBelow(this.epsilon);
    const [steps, window] = [BigInt(this.steps), BigInt(this.window)];
    const [cells, more, whole] = [steps + window, n - d, n * window + d * steps];
    const first = (window * (window - 1n)) / 2n;
    const mean = d * ((cells * (cells - 1n)) / 2n) + more * first;
    const slope = more * window;
    const square = d * (((cells - 1n) * cells * (2n * cells - 1n)) / 6n) + more * (((window - 1n) * window * (2n * window - 1n)) / 6n);
    const cell = whole * (4n * square + 4n * more * first * steps + slope * steps * steps) - (2n * mean + slope * steps) ** 2n;
    return cell * more * more < (steps * (n + d) * slope) ** 2n ? floorThreshold([slope, whole]) : 0n;
  }

  get ratio() {
    const { mix, keep, first } = this.thresholds;
    const [bit, cell] = [[ONE - first, first], windowRatio(this.steps, this.window, keep)];
    return /** @type {Rational} */ (mix && cell[0] * bit[1] > bit[0] * cell[1] ? cell : bit);
  }

  /** The number of cells, none where they are never drawn; the two reports behind them are the bit. */
  get cells() {
    return this.thresholds.mix ? this.steps + this.window : 0;
  }

  get layout() {
    return [numbers("point", this.cells + 2)];
  }

  perturb(/** @type {number} */ key, /** @type {Source} */ source) {
    if (source.bernoulli(this.thresholds.mix)) return drawCell(key, this.steps, this.window, this.thresholds.keep, source);
    return this.cells + super.perturb(key, source);
  }

  /** @returns {Rational} */
  chance(/** @type {number} */ point, /** @type {bigint} */ key) {
    const { mix, keep } = this.thresholds;
    const drawn = point < this.cells;
    const [n, d] = drawn ? cellChance(point, key, this.steps, this.window, keep) : super.chance(point - this.cells, key);
    return [n * (drawn ? mix : ONE - mix), d * ONE];
  }

  words(/** @type {number} */ point) {
    return point < this.cells ? [gridPoint(point, this.cells)] : super.words(point - this.cells);
  }
}
