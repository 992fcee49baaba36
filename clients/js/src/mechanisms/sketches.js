/** Sketches: a report chooses one of a few public hash functions, named by the spec's salt, and speaks about a cell. */

import { parity } from "../bits.js";
import { ParameterError } from "../errors.js";
import { HashFamily, publicFunction } from "../hashing.js";
import { bitLaw } from "../law.js";
import { Spec } from "../spec.js";
import { bitColumn, numbers } from "../wire.js";
import { keepOrReplace, KeepSpec } from "./keep.js";
import { bitRatio, perturbBits, symmetric } from "./unary.js";

/** @typedef {import("../source.js").Source} Source */

export const LARGEST_TABLE = 2 ** 28;
const MOST_HASHES = 2 ** 20;
const MOST_CELLS = 2 ** 26;

/** The functions of a sketch. */
class Functions {
  constructor(/** @type {Spec} */ spec, /** @type {number} */ cells) {
    this.count = spec.integer("hashes", 1, Math.min(MOST_HASHES, Math.floor(LARGEST_TABLE / cells)));
    this.salt = spec.word("salt");
    this.family = new HashFamily({ keyBits: spec.domain.keyBits, range: cells, shared: true });
    this.column = numbers("function", this.count, { drawn: true });
  }

  /** A function's number, and the cell of a key. */
  async draw(/** @type {bigint} */ key, /** @type {Source} */ source) {
    const number = source.below(this.count);
    return [number, await this.cell(number, key)];
  }

  /** The cell of a key under the function with this number. */
  async cell(/** @type {number} */ number, /** @type {bigint} */ key) {
    return this.family.symbol(await publicFunction(this.salt, number), key);
  }
}

/** Fast local hashing: OLH with public functions. */
export class FLH extends KeepSpec {
  static needsListedDomain = false;
  hashRange = this.integer("hash_range", 2, MOST_CELLS);
  functions = new Functions(this, this.hashRange);

  /** @returns {[number, number]} */
  get odds() {
    return [1, this.hashRange - 1];
  }

  get layout() {
    return [this.functions.column, numbers("symbol", this.hashRange)];
  }

  async perturb(/** @type {bigint} */ key, /** @type {Source} */ source) {
    const [number, symbol] = await this.functions.draw(key, source);
    return [number, keepOrReplace(symbol, this.hashRange, this.thresholds.keep, source)];
  }

  law(/** @type {[number, number]} */ [number, symbol]) {
    return this.keptLaw(async (key) => (await this.functions.cell(number, BigInt(key))) === symbol);
  }
}

/** Count-mean sketch: noisy bits for the cells of a function. */
export class CMS extends Spec {
  static needsListedDomain = false;
  width = this.integer("width", 2, MOST_CELLS);
  functions = new Functions(this, this.width);

  resolve() {
    return symmetric(this.epsilon);
  }

  get ratio() {
    return bitRatio(this.thresholds.keep, this.thresholds.raise_other);
  }

  get layout() {
    return [this.functions.column, bitColumn("bits", this.width)];
  }

  async perturb(/** @type {bigint} */ key, /** @type {Source} */ source) {
    const [number, cell] = await this.functions.draw(key, source);
    return [number, perturbBits(cell, this.width, this.thresholds.raise_other, this.thresholds.keep, source)];
  }

  law(/** @type {[number, Uint8Array]} */ [number, bits]) {
    const { raise_other: raise, keep } = this.thresholds;
    return bitLaw(bits, this.width, raise, keep, async (key) => [await this.functions.cell(number, BigInt(key))]);
  }
}

/** Hadamard count-mean sketch: one noisy bit about one row of the Hadamard matrix. */
export class HCMS extends KeepSpec {
  static needsListedDomain = false;
  width = powerOfTwo(this.integer("width", 2, MOST_CELLS));
  functions = new Functions(this, this.width);

  get layout() {
    return [this.functions.column, numbers("row", this.width, { drawn: true }), numbers("sign", 2)];
  }

  async perturb(/** @type {bigint} */ key, /** @type {Source} */ source) {
    const [number, cell] = await this.functions.draw(key, source);
    const row = source.below(this.width);
    const sign = parity(row & cell);
    return [number, row, source.bernoulli(this.thresholds.keep) ? sign : 1 - sign];
  }

  law(/** @type {[number, number, number]} */ [number, row, sign]) {
    return this.keptLaw(async (key) => parity(row & (await this.functions.cell(number, BigInt(key)))) === sign);
  }
}

function powerOfTwo(/** @type {number} */ width) {
  if (width & (width - 1)) throw new ParameterError("width", width, { allowed: "a power of two", fix: "try 1024" });
  return width;
}
