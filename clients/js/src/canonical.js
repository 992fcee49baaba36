/**
 * Canonical JSON: one byte string for one meaning.
 *
 * Objects with sorted names, arrays, strings, true/false and integers of at most 53 bits; larger integers and decimals travel
 * as strings. No floats, no null, no white space, UTF-8. A device hashes the bytes that it received; writing is only for the
 * check that they are the canonical ones.
 */

import { fromHex, isText, sameBytes, toHex, utf8 } from "./bytes.js";
import { ParameterError, WireError } from "./errors.js";
import { isCanonicalMoment } from "./moments.js";
import { readDecimal, spell } from "./probability.js";

/** The bytes of a document, given as bytes or as the text that they are. */
export function documentBytes(/** @type {unknown} */ data) {
  if (data instanceof Uint8Array) return data.slice();
  if (isText(data)) return utf8(/** @type {string} */ (data));
  throw new WireError("document", data, { allowed: "bytes, or their text", fix: "pass it as it was published" });
}

/** Read canonical JSON; anything else, an equal value in another spelling included, is refused. */
export function parseCanonical(/** @type {Uint8Array} */ data) {
  let value;
  try {
    // A byte order mark is kept, and then refused like any other character that does not belong there.
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data));
    if (sameBytes(utf8(writeCanonical(value)), data)) return value;
  } catch (error) {
    if (error instanceof WireError) throw error;
    throw new WireError("json", data, { allowed: "canonical JSON in UTF-8", fix: `send it unchanged (${error})`, cause: error });
  }
  throw new WireError("json", data, { allowed: "sorted names, no white space", fix: "send the bytes as they were published" });
}

/**
 * The canonical text of a JSON value; WireError if it has none.
 *
 * @returns {string}
 */
export function writeCanonical(/** @type {unknown} */ value) {
  if (typeof value === "boolean" || Number.isSafeInteger(value) || isText(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const names = Object.keys(value).sort(byCodePoint);
    return `{${names.map((name) => `${writeCanonical(name)}:${writeCanonical(/** @type {any} */ (value)[name])}`).join(",")}}`;
  }
  throw new WireError("json", value, { allowed: "no null, no floats, integers below 2^53, whole characters", fix: "write it as a string" });
}

/** The order of code points; JavaScript's own is that of UTF-16, which differs beyond U+FFFF. */
function byCodePoint(/** @type {string} */ a, /** @type {string} */ b) {
  const [x, y] = [Array.from(a), Array.from(b)];
  const i = x.findIndex((letter, place) => letter !== y[place]);
  if (i < 0) return x.length - y.length;
  return i < y.length ? Number(x[i].codePointAt(0)) - Number(y[i].codePointAt(0)) : 1;
}

/**
 * The integer that JSON carries as a number below 2^53 and as a decimal string from there on; so does JavaScript, with a
 * BigInt for the string.
 *
 * @returns {number | bigint}
 */
export function readNumber(/** @type {string} */ parameter, /** @type {unknown} */ value) {
  if (Number.isSafeInteger(value)) return /** @type {number} */ (value);
  if (typeof value === "string" && /^-?[1-9][0-9]{15,400}$/.test(value)) {
    const number = BigInt(value);
    if (!isSafe(number)) return number;
  }
  throw new WireError(parameter, value, { allowed: "an integer, as a decimal string from 2^53 on", fix: "write it canonically" });
}

/**
 * An integer between two limits; ParameterError if there is none.
 *
 * @param {string} name
 * @param {unknown} value
 * @param {number} low
 * @param {number} high
 */
export function readInteger(name, value, low, high) {
  if (Number.isInteger(value) && low <= Number(value) && Number(value) <= high) return Number(value);
  throw new ParameterError(name, value, { allowed: `an integer from ${low} to ${high}`, fix: "publish it again" });
}

/**
 * A JSON object with exactly the names it should have.
 *
 * @param {string} parameter
 * @param {unknown} value
 * @param {string[]} required
 * @param {string[]} [optional]
 * @returns {Record<string, any>}
 */
export function readObject(parameter, value, required, optional = []) {
  const names = isObject(value) ? Object.keys(/** @type {object} */ (value)) : null;
  if (
    names &&
    required.every((name) => names.includes(name)) &&
    names.every((name) => required.includes(name) || optional.includes(name))
  ) {
    return /** @type {Record<string, any>} */ (value);
  }
  throw new WireError(parameter, value, {
    allowed: `an object with ${[...required, ...optional]}`,
    fix: "check the names and the version",
  });
}

export function isObject(/** @type {unknown} */ value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as canonical JSON carries it: text as it is, integers tagged from 2^53 on, bytes in hex, other numbers as text. */
export function toPlain(/** @type {string | number | bigint | Uint8Array} */ value) {
  if (value instanceof Uint8Array) return { bytes: toHex(value) };
  if (typeof value === "bigint") return isSafe(value) ? Number(value) : { integer: `${value}` };
  if (typeof value === "number" && !Number.isInteger(value)) return { float: spell(value) };
  return value;
}

/**
 * The value behind what Python's `to_plain` writes: a string, a number, a BigInt from 2^53 on, bytes, or a time as its text; WireError if
 * there is none.
 *
 * @returns {string | number | bigint | Uint8Array}
 */
export function fromPlain(/** @type {any} */ plain) {
  if (!isObject(plain)) return typeof plain === "string" ? plain : readNumber("value", plain);
  const [name, ...more] = Object.keys(plain);
  if (name === "integer" && !more.length && typeof plain.integer === "string") return readNumber("value", plain.integer);
  if (name === "float" && !more.length) return readDecimal("value", plain.float);
  if (name === "time" && !more.length && isCanonicalMoment(plain.time)) return plain.time;
  const bytes = fromHex(readObject("value", plain, ["bytes"]).bytes);
  if (bytes) return bytes;
  throw new WireError("value", plain, { allowed: "bytes in hex, a float or a time as text", fix: "write it as Python's to_plain does" });
}

function isSafe(/** @type {bigint} */ number) {
  return Number.isSafeInteger(Number(number));
}
