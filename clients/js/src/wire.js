/**
 * Byte layouts: one report.
 *
 * A report is its columns one after the other. A number below L takes the fewest of 1, 2, 4 or 8 bytes; bits are packed. Decoding is
 * strict: anything but the one canonical form is a WireError. Numbers are JavaScript numbers, BigInts where they take 8 bytes; bits are a
 * Uint8Array; a report of one column is its field, a report of several is the array of its fields.
 */

import { countBits } from "./bits.js";
import { concat, readWord, wordBytes } from "./bytes.js";
import { WireError } from "./errors.js";

/** @typedef {{name: string, limit: number | bigint, count: number, increasing: boolean, drawn: boolean}} NumberColumn */
/** @typedef {{name: string, bits: number, ones: number | undefined}} BitColumn */
/** @typedef {NumberColumn | BitColumn} Column */

/** @returns {NumberColumn} `drawn` if a device draws it uniformly without looking at the answer: a seed, a cohort, a row */
export function numbers(
  /** @type {string} */ name,
  /** @type {number | bigint} */ limit,
  { count = 1, increasing = false, drawn = false } = {},
) {
  return { name, limit, count, increasing, drawn };
}

/** @returns {BitColumn} */
export function bitColumn(/** @type {string} */ name, /** @type {number} */ bits, /** @type {number | undefined} */ ones = undefined) {
  return { name, bits, ones };
}

/** The bytes of one report. */
export function encodeReport(/** @type {Column[]} */ layout, /** @type {any} */ report) {
  const fields = layout.length === 1 ? [report] : report;
  if (!Array.isArray(fields) || fields.length !== layout.length) {
    throw new WireError("report", report, {
      allowed: `an array of ${layout.map(({ name }) => name)}`,
      fix: "pass what randomize returned",
    });
  }
  return concat(...layout.map((column, i) => encodeField(column, fields[i])));
}

function encodeField(/** @type {Column} */ column, /** @type {any} */ field) {
  const refused = () => new WireError(column.name, field, { allowed: describe(column), fix: "pass what randomize returned" });
  if ("bits" in column) {
    if (!(field instanceof Uint8Array) || field.length !== widthOf(column) || !areBits(column, field)) throw refused();
    return field.slice();
  }
  const items = column.count > 1 ? field : [field];
  if (!Array.isArray(items) || !areNumbers(column, items)) throw refused();
  const [whole, width] = [new Uint8Array(widthOf(column)), widthOf(column) / column.count];
  items.forEach((item, i) => whole.set(wordBytes(BigInt(item)).subarray(0, width), width * i));
  return whole;
}

/** The report behind its bytes; WireError unless they are its one canonical form. */
export function decodeReport(/** @type {Column[]} */ layout, /** @type {Uint8Array} */ payload) {
  const expected = layout.reduce((sum, column) => sum + widthOf(column), 0);
  if (!(payload instanceof Uint8Array) || payload.length !== expected) {
    throw new WireError("report", payload, { allowed: `exactly ${expected} bytes`, fix: "send it whole" });
  }
  let start = 0;
  const fields = layout.map((column) => {
    const raw = payload.slice(start, (start += widthOf(column)));
    const field = "bits" in column ? raw : readNumbers(column, raw);
    if ("bits" in column ? areBits(column, raw) : areNumbers(column, /** @type {any[]} */ (field))) {
      return !("bits" in column) && column.count === 1 ? field[0] : field;
    }
    throw new WireError(column.name, field, { allowed: describe(column), fix: "drop the report: it is damaged or forged" });
  });
  return layout.length === 1 ? fields[0] : fields;
}

function readNumbers(/** @type {NumberColumn} */ column, /** @type {Uint8Array} */ raw) {
  const width = raw.length / column.count;
  return Array.from({ length: column.count }, (_, i) => {
    const item = readWord(concat(raw.subarray(width * i, width * (i + 1)), new Uint8Array(8 - width)));
    return width === 8 ? item : Number(item);
  });
}

/** The bytes of a column in one report. */
function widthOf(/** @type {Column} */ column) {
  if ("bits" in column) return Math.ceil(column.bits / 8);
  return column.count * (column.limit <= 2 ** 8 ? 1 : column.limit <= 2 ** 16 ? 2 : column.limit <= 2 ** 32 ? 4 : 8);
}

function areBits(/** @type {BitColumn} */ { bits, ones }, /** @type {Uint8Array} */ field) {
  const unused = bits % 8 ? field[field.length - 1] >>> (bits % 8) : 0;
  return unused === 0 && (ones === undefined || countBits(field) === ones);
}

function areNumbers(/** @type {NumberColumn} */ { limit, count, increasing }, /** @type {any[]} */ items) {
  const fits = (/** @type {any} */ item) =>
    (limit > 2 ** 32 ? typeof item === "bigint" : Number.isInteger(item)) && item >= 0 && item < limit;
  return items.length === count && items.every(fits) && (!increasing || items.every((item, i) => i === 0 || items[i - 1] < item));
}

function describe(/** @type {Column} */ column) {
  if ("bits" in column)
    return `${column.bits} bits, higher ones zero${column.ones === undefined ? "" : `, exactly ${column.ones} of them set`}`;
  const several = column.count > 1 ? `, ${column.count} of them${column.increasing ? ", each larger than the one before" : ""}` : "";
  return `integers below ${column.limit}${several}`;
}
