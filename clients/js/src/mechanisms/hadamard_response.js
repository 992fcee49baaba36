import { parity } from "../bits.js";
import { ParameterError } from "../errors.js";
import { numbers } from "../wire.js";
import { KeepSpec } from "./keep.js";

/** Hadamard response: one symbol of about 2 d, likely among those where the value's row of the Hadamard matrix is positive. */
export class HadamardResponse extends KeepSpec {
  blocks = this.integer("blocks", 1, 2 * this.domainSize);
  /** The symbols of a block: a power of two above the number of its values. */
  order = 2 ** Math.ceil(this.domainSize / this.blocks).toString(2).length;

  resolve() {
    if (this.blocks & (this.blocks - 1)) {
      throw new ParameterError("blocks", this.blocks, {
        allowed: `a power of two up to ${2 * this.domainSize}`,
        fix: "publish the spec again",
      });
    }
    return super.resolve();
  }

  /** @returns {[number, number]} */
  get odds() {
    return [1, 2 * this.blocks - 1];
  }

  get layout() {
    return [numbers("symbol", this.blocks * this.order)];
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    const [start, row] = [(key % this.blocks) * this.order, 1 + Math.floor(key / this.blocks)];
    const half = this.order / 2;
    if (source.bernoulli(this.thresholds.keep)) return start + symbolOf(row, source.below(half), 0);
    const other = source.below(this.blocks * this.order - half);
    if (other < half) return start + symbolOf(row, other, 1);
    const symbol = other - half; // of another block: the own one is skipped
    return symbol < start ? symbol : symbol + this.order;
  }

  law(/** @type {number} */ symbol) {
    const [block, place] = [Math.floor(symbol / this.order), symbol % this.order];
    const fits = (/** @type {number} */ key) => block === key % this.blocks && parity(place & (1 + Math.floor(key / this.blocks))) === 0;
    return this.keptLaw((key) => fits(Number(key)), this.order / 2);
  }
}

/** The symbol of this rank among those that have an even (odd) number of ones in common with the row. */
function symbolOf(/** @type {number} */ row, /** @type {number} */ rank, /** @type {0 | 1} */ odd) {
  const low = row & -row; // this bit is left open, and then set so that the parity is right
  const symbol = (rank & (low - 1)) | ((rank & -low) << 1);
  return parity(symbol & row) === odd ? symbol : symbol | low;
}
