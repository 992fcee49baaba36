/** The hash families: strings to 64-bit keys, keys to symbols. The specification is docs/reference/hashing.md. */

import { concat, readWord, utf8, wordBytes } from "./bytes.js";
import { hmacSha256, sha256 } from "./platform.js";

const KEY_LABEL = utf8("deniable/key/1");
const FUNCTION_LABEL = utf8("deniable/hash/1");
const MIXER = 0xd6e8feb86659fd93n;
const LOW = 0xffffffffn;
export const LARGEST_RANGE = 2 ** 31;

/** The 64-bit key of a byte string. */
export async function stringKey(/** @type {Uint8Array} */ content) {
  return readWord(await hmacSha256(KEY_LABEL, content));
}

/** The seed of a shared function, for anyone to derive. */
export async function publicFunction(/** @type {number | bigint} */ salt, /** @type {number | bigint} */ index) {
  const digest = await sha256(concat(FUNCTION_LABEL, wordBytes(BigInt(salt)), wordBytes(BigInt(index))));
  return [0, 8, 16].map((offset) => readWord(digest, offset));
}

/** Seeded hashing of keys to 0..range - 1, by (pair-)multiply-shift. */
export class HashFamily {
  /** @param {{keyBits: number, range: number, shared?: boolean}} family */
  constructor({ keyBits, range, shared = false }) {
    this.short = keyBits <= 32;
    this.range = BigInt(range);
    this.shared = shared;
  }

  /** How many words make a seed. */
  get seedWords() {
    return this.short && !this.shared ? 2 : 3;
  }

  /** The symbol of a key under a seed. */
  symbol(/** @type {bigint[]} */ seed, /** @type {bigint} */ key) {
    return Number(((this.#spread(seed, key) >> 32n) * this.range) >> 32n);
  }

  #spread(/** @type {bigint[]} */ [a, c, b], /** @type {bigint} */ key) {
    if (b === undefined) return word(a * key + c);
    if (this.short) return word((a * key + c) * key + b);
    const mixed = this.shared ? mix(key) : key;
    return word((a + (mixed >> 32n)) * (c + (mixed & LOW)) + b);
  }
}

/** A long key without its pattern. */
function mix(/** @type {bigint} */ key) {
  for (let i = 0; i < 2; i++) key = word((key ^ (key >> 32n)) * MIXER);
  return key ^ (key >> 32n);
}

function word(/** @type {bigint} */ number) {
  return BigInt.asUintN(64, number);
}
