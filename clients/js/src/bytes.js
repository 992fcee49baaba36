/** Bytes, and the numbers and texts that they stand for. Integers are little-endian unless a name says otherwise. */

const UTF8 = new TextEncoder();

/** Whether a text has a form in UTF-8: half of a surrogate pair has none. */
export function isText(/** @type {unknown} */ value) {
  return typeof value === "string" && !/\p{Surrogate}/u.test(value);
}

export function utf8(/** @type {string} */ text) {
  return UTF8.encode(text);
}

export function toHex(/** @type {Uint8Array} */ bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes behind lower-case hexadecimal digits; null for any other text. */
export function fromHex(/** @type {unknown} */ text) {
  if (typeof text !== "string" || !/^([0-9a-f]{2})*$/.test(text)) return null;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function concat(/** @type {Uint8Array[]} */ ...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

export function sameBytes(/** @type {Uint8Array} */ a, /** @type {Uint8Array} */ b) {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** The 64-bit integer at an offset. */
export function readWord(/** @type {Uint8Array} */ bytes, offset = 0) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigUint64(offset, true);
}

/** A 64-bit integer as 8 bytes. */
export function wordBytes(/** @type {bigint} */ word) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, word, true);
  return bytes;
}

/** The integer whose most significant byte comes first. */
export function readBigEndian(/** @type {Uint8Array} */ bytes) {
  return bytes.length ? BigInt(`0x${toHex(bytes)}`) : 0n;
}

/** An integer as so many bytes, the most significant first. */
export function bigEndian(/** @type {bigint} */ number, /** @type {number} */ length) {
  return /** @type {Uint8Array} */ (fromHex(number.toString(16).padStart(2 * length, "0")));
}
