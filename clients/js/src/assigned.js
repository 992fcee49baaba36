/**
 * Assigned hash functions, which nobody chooses: the seed of a report follows from the one-time token that it carries.
 *
 * A device that draws its own seed can search for one that puts everything it wants to promote on one symbol. Nobody can know the signature
 * on a token before its issuer has signed, and the issuer signs blindly. So the seed is the first words, little-endian, of
 * SHA-256("deniable seed 1\n", token). Privacy does not depend on it: epsilon holds for every seed, no matter who chose it.
 */

import { concat, readWord, utf8 } from "./bytes.js";
import { sha256 } from "./platform.js";
import { Source } from "./source.js";

const LABEL = utf8("deniable seed 1\n");

/** The seed that follows from a token: up to four words. */
export async function assignedSeed(/** @type {Uint8Array} */ token, /** @type {number} */ count) {
  const digest = await sha256(concat(LABEL, token));
  return Array.from({ length: count }, (_, i) => readWord(digest, 8 * i));
}

/** Words that were assigned, and after them another source's: what a mechanism draws first is what it was given. */
export class Assigned extends Source {
  #words;
  #then;

  constructor(/** @type {bigint[]} */ words, /** @type {Source} */ then) {
    super();
    this.#words = [...words];
    this.#then = then;
  }

  word() {
    return this.#words.shift() ?? this.#then.word();
  }
}
