import { numbers } from "../wire.js";
import { KeepSpec } from "./keep.js";
import { inverse, nextPrime } from "./primes.js";

/** Random wheel spinner: subset selection where the set is an arithmetic progression, named by two numbers. */
export class RWS extends KeepSpec {
  static largestDomain = 4_294_967_291; // the largest prime below 2^32
  modulus = nextPrime(this.domainSize);
  size = this.integer("size", 1, this.modulus - 1);

  /** @returns {[number, number]} */
  get odds() {
    return [this.size, this.modulus - this.size];
  }

  get layout() {
    return [numbers("step", this.modulus - 1, { drawn: true }), numbers("shift", this.modulus)];
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    const step = source.below(this.modulus - 1);
    const place = source.bernoulli(this.thresholds.keep) ? source.below(this.size) : this.size + source.below(this.modulus - this.size);
    const modulus = BigInt(this.modulus); // a product of two places has up to 64 bits
    return [step, Number((BigInt(key) + modulus - ((BigInt(step + 1) * BigInt(place)) % modulus)) % modulus)];
  }

  law(/** @type {[number, number]} */ [step, shift]) {
    const modulus = BigInt(this.modulus);
    const back = inverse(BigInt(step) + 1n, modulus);
    const place = (/** @type {bigint} */ key) => ((key + modulus - BigInt(shift)) * back) % modulus;
    return this.keptLaw((key) => place(BigInt(key)) < BigInt(this.size));
  }
}
