import { countBits, getBit, placeOf, setBit } from "../bits.js";
import { reduced } from "../decimal.js";
import { lawOf } from "../law.js";
import { floorThreshold } from "../probability.js";
import { ONE } from "../source.js";
import { bitColumn } from "../wire.js";
import { everyKey, marked } from "../words.js";
import { KeepSpec } from "./keep.js";

/** Subset selection: a random set of values that probably holds the true one. */
export class SubsetSelection extends KeepSpec {
  static largestDomain = 2 ** 24;
  size = this.integer("size", 1, this.domainSize - 1);

  /** @returns {[number, number]} */
  get odds() {
    return [this.size, this.domainSize - this.size];
  }

  resolve() {
    return { ...super.resolve(), first_draw: floorThreshold([BigInt(this.size), BigInt(this.domainSize)]) };
  }

  get layout() {
    return [bitColumn("members", this.domainSize, this.size)];
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    const included = Number(source.bernoulli(this.thresholds.keep));
    const [target, others] = [this.size - included, this.domainSize - 1];
    const drawn = source.bernoulliBits(this.thresholds.first_draw, others); // the true value's place is cut out, and put back at the end
    let count = countBits(drawn);
    for (; count < target; count++) setBit(drawn, placeOf(drawn, 0, source.below(others - count)), 1);
    for (; count > target; count--) setBit(drawn, placeOf(drawn, 1, source.below(count)), 0);
    const members = new Uint8Array(Math.ceil(this.domainSize / 8));
    for (let i = 0; i < this.domainSize; i++) setBit(members, i, i === key ? included : getBit(drawn, i < key ? i : i - 1));
    return members;
  }

  law(/** @type {Uint8Array} */ members) {
    const [{ keep }, all] = [this.thresholds, BigInt(this.domainSize)];
    const own = reduced([keep * all, ONE * BigInt(this.size)]);
    const other = reduced([(ONE - keep) * all, ONE * BigInt(this.domainSize - this.size)]);
    return lawOf((key) => (getBit(members, Number(key)) ? own : other), -logBinomial(this.domainSize, this.size));
  }

  words(/** @type {Uint8Array} */ members) {
    return [`a set of ${this.size} answers: `, marked(everyKey(this), members)];
  }
}

function logBinomial(/** @type {number} */ n, /** @type {number} */ k) {
  let sum = 0;
  for (let i = 0; i < Math.min(k, n - k); i++) sum += Math.log2((n - i) / (i + 1));
  return sum;
}
