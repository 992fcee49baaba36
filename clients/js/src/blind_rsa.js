/**
 * Blind RSA signatures (RFC 9474), the client's half: get a signature on a message that the signer never sees.
 *
 * The message is encoded as for RSA-PSS and multiplied by r^e for a random r. The signer raises the product to its secret d; dividing by r
 * leaves the signature of the message, an ordinary one. The variant is RSABSSA-SHA384-PSS-Deterministic. Keys are moduli as bytes, most
 * significant first; the exponent is 65537. BigInts do not take constant time: r is used once, on the device that drew it.
 *
 * Nothing connects the signature with what was signed, however a malicious signer chose the modulus (docs/theory/tokens.md): the encoded
 * message and r are coprime to it, and `finalize` accepts an answer only if its e-th power is what the signer was shown. It also refuses a
 * blinded message that is not coprime to the modulus, which a release before this rule may have left in a ledger.
 */

import { bigEndian, concat, readBigEndian, toHex } from "./bytes.js";
import { WireError } from "./errors.js";
import { sha384, verifies } from "./platform.js";

const EXPONENT = 65537n;
const HASH_BYTES = 48;
const SALT_BYTES = 48;
/** Devices refuse a modulus with a prime factor below this. Looking for one takes about 10 milliseconds. */
export const SMALLEST_FACTOR = 2 ** 16;

/** @typedef {import("./source.js").Source} Source */
/** @typedef {{message: Uint8Array, inverse: Uint8Array}} Blinded what the signer gets, and what turns its answer into a signature */

/**
 * Hide a message from the signer with this key.
 *
 * Draws 6 words for the salt until the encoded message is coprime to the modulus, then as many for r as the key is long, until one fits.
 */
export async function blind(/** @type {Uint8Array} */ modulus, /** @type {Uint8Array} */ message, /** @type {Source} */ source) {
  const n = readBigEndian(modulus);
  let salt = drawBytes(source, SALT_BYTES);
  while (inverseOf(await encoded(message, salt, n), n) === null) salt = drawBytes(source, SALT_BYTES);
  for (;;) {
    const r = readBigEndian(drawBytes(source, modulus.length));
    if (0n < r && r < n && inverseOf(r, n) !== null) return blindWith(modulus, message, salt, r);
  }
}

/**
 * Hide a message with a salt and a factor that were drawn before; `blind` draws those that hide it.
 *
 * @param {Uint8Array} modulus
 * @param {Uint8Array} message
 * @param {Uint8Array} salt
 * @param {bigint} r
 * @returns {Promise<Blinded>}
 */
export async function blindWith(modulus, message, salt, r) {
  const n = readBigEndian(modulus);
  const product = ((await encoded(message, salt, n)) * power(r, EXPONENT, n)) % n;
  return { message: bigEndian(product, modulus.length), inverse: bigEndian(/** @type {bigint} */ (inverseOf(r, n)), modulus.length) };
}

/**
 * The signature of the message, given the signer's answer; WireError unless the answer signs exactly what was blinded, and that is coprime
 * to the modulus.
 *
 * @param {Uint8Array} modulus
 * @param {Uint8Array} message
 * @param {Uint8Array} answer
 * @param {Blinded} blinded
 */
export async function finalize(modulus, message, answer, blinded) {
  const [n, number, shown] = [modulus, answer, blinded.message].map(readBigEndian);
  if (inverseOf(shown, n) === null) {
    const [allowed, fix] = ["a message coprime to it", "do not trust this collector: its key can reveal which report is yours"];
    throw new WireError("blinded message", "a factor in common with the issuer's modulus", { allowed, fix });
  }
  const signature = bigEndian((number * readBigEndian(blinded.inverse)) % n, modulus.length);
  const signed = answer.length === modulus.length && power(number, EXPONENT, n) === shown;
  if (signed && (await verify(modulus, message, signature))) return signature;
  throw new WireError("signature", toHex(answer), { allowed: "a signature by the task's issuer", fix: "do not trust this collector" });
}

/** Whether this is an RSA-PSS signature of the message: SHA-384, MGF1, a salt of 48 bytes. */
export async function verify(/** @type {Uint8Array} */ modulus, /** @type {Uint8Array} */ message, /** @type {Uint8Array} */ signature) {
  if (signature.length !== modulus.length || readBigEndian(signature) >= readBigEndian(modulus)) return false;
  const digits = btoa(String.fromCharCode(...modulus))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=/g, "");
  const algorithm = { name: "RSA-PSS", hash: "SHA-384", saltLength: SALT_BYTES };
  return verifies("jwk", { kty: "RSA", n: digits, e: "AQAB", alg: "PS384" }, algorithm, message, signature);
}

/** The smallest factor of the modulus below `SMALLEST_FACTOR`; null if it has none. */
export function smallFactor(/** @type {Uint8Array} */ modulus) {
  const n = readBigEndian(modulus);
  for (let factor = 2; factor < SMALLEST_FACTOR; factor += factor === 2 ? 1 : 2) if (n % BigInt(factor) === 0n) return factor;
  return null;
}

async function encoded(/** @type {Uint8Array} */ message, /** @type {Uint8Array} */ salt, /** @type {bigint} */ n) {
  return readBigEndian(await encode(message, salt, n.toString(2).length));
}

/** EMSA-PSS (RFC 8017, section 9.1.1) for a key of so many bits. */
async function encode(/** @type {Uint8Array} */ message, /** @type {Uint8Array} */ salt, /** @type {number} */ bits) {
  const size = Math.ceil((bits - 1) / 8); // one bit less than the key has
  const digest = await sha384(concat(new Uint8Array(8), await sha384(message), salt));
  const block = new Uint8Array(size - HASH_BYTES - 1);
  block.set(concat(Uint8Array.of(1), salt), block.length - salt.length - 1);
  const mask = await maskOf(digest, block.length);
  const masked = block.map((byte, i) => byte ^ mask[i]);
  masked[0] &= 0xff >> (8 * size - (bits - 1));
  return concat(masked, digest, Uint8Array.of(0xbc));
}

/** MGF1 with SHA-384. */
async function maskOf(/** @type {Uint8Array} */ seed, /** @type {number} */ size) {
  const blocks = Array.from({ length: Math.ceil(size / HASH_BYTES) }, (_, i) => sha384(concat(seed, bigEndian(BigInt(i), 4))));
  return concat(...(await Promise.all(blocks))).subarray(0, size);
}

/** So many bytes, a multiple of 8, from words that are written most significant byte first. */
export function drawBytes(/** @type {Source} */ source, /** @type {number} */ count) {
  return concat(...source.words(count / 8).map((word) => bigEndian(word, 8)));
}

function power(/** @type {bigint} */ base, /** @type {bigint} */ exponent, /** @type {bigint} */ n) {
  let [result, square] = [1n, base % n];
  for (let rest = exponent; rest; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % n;
    square = (square * square) % n;
  }
  return result;
}

/** The inverse modulo n, by Euclid's algorithm; null if there is none. */
function inverseOf(/** @type {bigint} */ number, /** @type {bigint} */ n) {
  let [a, b, x, y] = [number, n, 1n, 0n]; // a = x number, b = y number, modulo n
  while (b) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return a === 1n ? ((x % n) + n) % n : null;
}
