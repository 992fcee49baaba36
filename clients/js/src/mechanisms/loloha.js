import { HashFamily, LARGEST_RANGE } from "../hashing.js";
import { numbers } from "../wire.js";
import { hint } from "../words.js";
import { LongitudinalGRR } from "./longitudinal_grr.js";

/** LOLOHA: one permanent hash function, and longitudinal randomized response on its few symbols. */
export class LOLOHA extends LongitudinalGRR {
  static needsListedDomain = false;
  hashRange = this.integer("hash_range", 2, LARGEST_RANGE);
  family = new HashFamily({ keyBits: this.domain.keyBits, range: this.hashRange });

  get symbols() {
    return this.hashRange;
  }

  get classes() {
    return Math.min(this.hashRange, super.classes);
  }

  get personalLayout() {
    return [numbers("seed", 2 ** 64, { count: this.family.seedWords, drawn: true })];
  }

  personal(/** @type {import("../source.js").Source} */ source) {
    return source.words(this.family.seedWords);
  }

  classOf(/** @type {bigint} */ key, /** @type {bigint[]} */ personal) {
    return this.family.symbol(personal, key);
  }

  words(/** @type {[bigint[], number]} */ report) {
    return hint(this, report); // a symbol is no answer
  }
}
