import { setBit } from "../bits.js";
import { ParameterError } from "../errors.js";
import { HashFamily, publicFunction } from "../hashing.js";
import { ceilThreshold, expBelow } from "../probability.js";
import { ONE } from "../source.js";
import { Spec } from "../spec.js";
import { bitColumn, numbers } from "../wire.js";
import { LARGEST_TABLE } from "./sketches.js";

/** Randomized response on a Bloom filter: RAPPOR's encoding, sent once. */
export class BloomRR extends Spec {
  static needsListedDomain = false;
  bits = this.integer("bits", 2, 2 ** 16);
  hashes = this.integer("hashes", 1, 32);
  cohorts = this.integer("cohorts", 1, 2 ** 16);
  salt = this.word("salt");
  family = new HashFamily({ keyBits: this.domain.keyBits, range: this.bits, shared: true });
  /** In how many bits two filters differ, at most. */
  differing = BigInt(Math.min(2 * this.hashes, this.bits));

  resolve() {
    if (this.cohorts * (this.bits + 1) > LARGEST_TABLE) {
      throw new ParameterError("cohorts", this.cohorts, { allowed: `a table of at most ${LARGEST_TABLE} counters`, fix: "64 is usual" });
    }
    const [n, d] = expBelow(this.epsilon, [1n, this.differing]);
    return { flip: ceilThreshold([d, n + d]) };
  }

  get ratio() {
    const { flip } = this.thresholds;
    return /** @type {[bigint, bigint]} */ ([(ONE - flip) ** this.differing, flip ** this.differing]);
  }

  get layout() {
    return [numbers("cohort", this.cohorts), bitColumn("bits", this.bits)];
  }

  async perturb(/** @type {bigint} */ key, /** @type {import("../source.js").Source} */ source) {
    const cohort = source.below(this.cohorts);
    const noise = source.bernoulliBits(this.thresholds.flip, this.bits);
    const filter = new Uint8Array(noise.length);
    for (let i = 0; i < this.hashes; i++) {
      setBit(filter, this.family.symbol(await publicFunction(this.salt, cohort * this.hashes + i), key), 1);
    }
    return [cohort, noise.map((byte, i) => byte ^ filter[i])];
  }
}
