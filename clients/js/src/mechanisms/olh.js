import { HashFamily, LARGEST_RANGE } from "../hashing.js";
import { numbers } from "../wire.js";
import { keepOrReplace, KeepSpec } from "./keep.js";

/** Optimized local hashing: the symbol of the value under a hash function of one's own, by randomized response. */
export class OLH extends KeepSpec {
  static needsListedDomain = false;
  hashRange = this.integer("hash_range", 2, this.largestRange);
  family = new HashFamily({ keyBits: this.domain.keyBits, range: this.hashRange });

  get largestRange() {
    return LARGEST_RANGE;
  }

  /** @returns {[number, number]} */
  get odds() {
    return [1, this.hashRange - 1];
  }

  get layout() {
    return [numbers("seed", 2 ** 64, { count: this.family.seedWords, drawn: true }), numbers("symbol", this.hashRange)];
  }

  perturb(/** @type {bigint} */ key, /** @type {import("../source.js").Source} */ source) {
    const seed = source.words(this.family.seedWords);
    return [seed, keepOrReplace(this.family.symbol(seed, key), this.hashRange, this.thresholds.keep, source)];
  }

  get assignedWords() {
    return this.family.seedWords;
  }

  law(/** @type {[bigint[], number]} */ [seed, symbol]) {
    return this.keptLaw((key) => this.family.symbol(seed, BigInt(key)) === symbol);
  }
}

/** Binary local hashing: OLH with a single bit. */
export class BLH extends OLH {
  get largestRange() {
    return 2;
  }
}
