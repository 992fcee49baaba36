import { getBit, setBit } from "../bits.js";
import { ParameterError } from "../errors.js";
import { HashFamily, publicFunction } from "../hashing.js";
import { bitLaw } from "../law.js";
import { ceilThreshold, expBelow } from "../probability.js";
import { ONE } from "../source.js";
import { Spec } from "../spec.js";
import { bitColumn, numbers } from "../wire.js";
import { flipped } from "./chain.js";
import { LARGEST_TABLE } from "./sketches.js";

/** The Bloom filters of a spec: each cohort has hash functions of its own. */
export class Filters {
  constructor(/** @type {Spec} */ spec, mostBits = 2 ** 16) {
    this.bits = spec.integer("bits", 2, mostBits);
    this.hashes = spec.integer("hashes", 1, 32);
    this.cohorts = spec.integer("cohorts", 1, 2 ** 16);
    this.salt = spec.word("salt");
    this.family = new HashFamily({ keyBits: spec.domain.keyBits, range: this.bits, shared: true });
    if (this.cohorts * (this.bits + 1) > LARGEST_TABLE) {
      throw new ParameterError("cohorts", this.cohorts, { allowed: `a table of at most ${LARGEST_TABLE} counters`, fix: "try 64" });
    }
  }

  /** The bits of a key in a cohort. */
  async of(/** @type {number} */ cohort, /** @type {bigint} */ key) {
    const filter = new Uint8Array(Math.ceil(this.bits / 8));
    for (let i = 0; i < this.hashes; i++) {
      setBit(filter, this.family.symbol(await publicFunction(this.salt, cohort * this.hashes + i), key), 1);
    }
    return filter;
  }
}

/** Randomized response on a Bloom filter: RAPPOR's encoding, sent once. */
export class BloomRR extends Spec {
  static needsListedDomain = false;
  filters = new Filters(this);
  bits = this.filters.bits;
  /** In how many bits two filters differ, at most. */
  differing = BigInt(Math.min(2 * this.filters.hashes, this.bits));

  resolve() {
    const [n, d] = expBelow(this.epsilon, [1n, this.differing]);
    return { flip: ceilThreshold([d, n + d]) };
  }

  get ratio() {
    const { flip } = this.thresholds;
    return /** @type {[bigint, bigint]} */ ([(ONE - flip) ** this.differing, flip ** this.differing]);
  }

  get layout() {
    return [numbers("cohort", this.filters.cohorts, { drawn: true }), bitColumn("bits", this.bits)];
  }

  async perturb(/** @type {bigint} */ key, /** @type {import("../source.js").Source} */ source) {
    const cohort = source.below(this.filters.cohorts);
    return [cohort, flipped(await this.filters.of(cohort, key), this.bits, this.thresholds.flip, source)];
  }

  law(/** @type {[number, Uint8Array]} */ [cohort, bits]) {
    return bitLaw(bits, this.bits, this.thresholds.flip, ONE - this.thresholds.flip, async (key) => {
      const filter = await this.filters.of(cohort, BigInt(key));
      return Array.from({ length: this.bits }, (_, place) => place).filter((place) => getBit(filter, place));
    });
  }
}
