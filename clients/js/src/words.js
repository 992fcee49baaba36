/**
 * A report in words, as far as it can be said: people should recognize what leaves their device.
 *
 * Words are a list of texts and of values, which are given by their keys and which a page shows by their names. Every mechanism says its
 * own (`Spec.words`); this is what they share.
 */

import { countBits, getBit } from "./bits.js";

/** @typedef {{values: number[], none?: string}} Values some values of the domain, and what to say if there are none */
/** @typedef {(string | Values)[]} Words */

/** Up to so many values are compared to find those that a report fits. */
const MOST_FITTING = 256n;

/** The values that are marked, of those that were asked about. */
export function marked(/** @type {number[]} */ asked, /** @type {Uint8Array} */ bits) {
  const values = asked.filter((_, place) => getBit(bits, place));
  return { values, none: `none of the ${asked.length.toLocaleString("en")}` };
}

/** All values of a domain that is listed, by their keys. */
export function everyKey(/** @type {{domainSize: number}} */ { domainSize }) {
  return Array.from({ length: domainSize }, (_, key) => key);
}

/** A point of a grid or a lattice, counted from 1. */
export function gridPoint(/** @type {number} */ point, /** @type {number} */ count) {
  return `the grid point ${(point + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
}

/** What a report is made of, column by column. */
export function columnsInWords(/** @type {import("./wire.js").Column[]} */ layout, /** @type {any} */ report) {
  const fields = layout.length === 1 ? [report] : report;
  const parts = layout.map((column, i) => {
    if ("bits" in column) return `${countBits(fields[i])} of ${column.bits} bits set`;
    const random = column.limit === 2 ** 64 || column.count > 1;
    return random ? `a ${column.name} drawn at random` : `${column.name} ${fields[i]} of ${column.limit}`;
  });
  return `${parts.slice(0, -1).join(", ")}${parts.length > 1 ? " and " : ""}${parts.at(-1)}`;
}

/**
 * The words where a report only hints at an answer: its columns, and the values that make it likeliest, where they can be compared.
 *
 * @returns {Promise<Words>}
 */
export async function hint(/** @type {import("./spec.js").Spec} */ spec, /** @type {any} */ report) {
  const first = `a hint: ${columnsInWords(spec.layout, report)}`;
  const law = spec.law(report);
  if (!law || !spec.domain.listed || spec.domain.size > MOST_FITTING) return [first];
  const weights = await Promise.all(everyKey(spec).map((key) => law.weight(key)));
  const best = weights.reduce((most, weight) => (weight[0] * most[1] > most[0] * weight[1] ? weight : most));
  const values = everyKey(spec).filter((key) => weights[key][0] * best[1] === best[0] * weights[key][1]);
  return [`${first}. It fits: `, { values }];
}
