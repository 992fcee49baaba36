/**
 * The only way to randomness: six primitives on 64-bit words.
 *
 * How many words each primitive consumes, and in which order, is part of the contract: this file and Python turn the same words
 * into the same report, and `vectors/` proves it. A probability is a BigInt a in 0..2^64, meaning a / 2^64.
 */

import { ParameterError } from "./errors.js";
import { requireSecureContext } from "./platform.js";

/** The integer that stands for probability 1. */
export const ONE = 1n << 64n;
const TOP = 1n << 63n;
const MASK = ONE - 1n;

/** Randomness as 64-bit words. A subclass says where the words come from. */
export class Source {
  /**
   * The next word, uniform on 0..2^64 - 1.
   *
   * @returns {bigint}
   */
  word() {
    throw new ParameterError("source", this.constructor.name, { allowed: "a source with words", fix: "override word()" });
  }

  /** The next words, as they are. */
  words(/** @type {number} */ count) {
    return Array.from({ length: count }, () => this.word());
  }

  /** True with probability threshold / 2^64, exactly. */
  bernoulli(/** @type {bigint} */ threshold) {
    return this.word() < threshold;
  }

  /** True with probability numerator / denominator, exactly: digit by digit, as far as the words agree with the ratio's digits. */
  bernoulliRatio(/** @type {bigint} */ numerator, /** @type {bigint} */ denominator) {
    for (let rest = numerator; ;) {
      const digits = (rest << 64n) / denominator;
      rest = (rest << 64n) % denominator;
      const word = this.word();
      if (word !== digits || !rest) return word < digits;
    }
  }

  /** I with probability (cumulative[i] - cumulative[i - 1]) / 2^64, exactly; the entries rise from above 0 to below 2^64. */
  pick(/** @type {ArrayLike<bigint>} */ cumulative) {
    const word = this.word();
    let [low, high] = [0, cumulative.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (cumulative[middle] <= word) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Uniform on 0..count - 1, exactly (Lemire 2019: multiply, and reject the few words that would bias it). A BigInt for a BigInt.
   *
   * @template {number | bigint} T
   * @param {T} count
   * @returns {T}
   */
  below(count) {
    const size = BigInt(count);
    if (size < 1n || size > ONE) throw new ParameterError("count", count, { allowed: "from 1 to 2^64", fix: "split the draw" });
    const rejected = ONE % size;
    for (;;) {
      const product = this.word() * size;
      if ((product & MASK) < rejected) continue;
      const drawn = product >> 64n;
      return /** @type {T} */ (typeof count === "bigint" ? drawn : Number(drawn));
    }
  }

  /**
   * `count` independent bits, packed, each 1 with probability threshold / 2^64, exactly.
   *
   * Bit i of word j is digit j of lane i's uniform number U. The lane becomes 1 if U < threshold, which is known at the first
   * digit where the two differ: about 7.3 words decide a block of 64 lanes.
   */
  bernoulliBits(/** @type {bigint} */ threshold, /** @type {number} */ count) {
    const blocks = Math.ceil(count / 64);
    const packed = new DataView(new ArrayBuffer(8 * blocks));
    for (let block = 0; block < blocks; block++) {
      let undecided = (1n << BigInt(Math.min(64, count - 64 * block))) - 1n;
      let bits = threshold >= ONE ? undecided : 0n; // probability 1 has no binary digits after the point
      for (let digits = threshold & MASK; undecided && digits; digits = (digits << 1n) & MASK) {
        const word = this.word();
        if (digits & TOP) {
          bits |= undecided & ~word;
          undecided &= word;
        } else undecided &= ~word;
      }
      packed.setBigUint64(8 * block, bits, true);
    }
    return new Uint8Array(packed.buffer).slice(0, Math.ceil(count / 8));
  }
}

/** Words from the browser's own generator, fetched 64 at a time and forgotten as they are used. */
export class SystemSource extends Source {
  #buffer = new BigUint64Array(64);
  #left = 0;

  word() {
    if (!this.#left) {
      requireSecureContext("source");
      crypto.getRandomValues(this.#buffer);
      this.#left = this.#buffer.length;
    }
    const word = this.#buffer[--this.#left];
    this.#buffer[this.#left] = 0n;
    return word;
  }
}

/** The default on a device. */
export const SYSTEM = new SystemSource();
