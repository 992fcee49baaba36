/**
 * Features: a few numbers of a record as exact integers, the same on every device.
 *
 * Each feature has a declared range, and a grid of 4,096 steps on it; a value counts as its nearest grid point, found in exact rationals.
 * In the middle of the range it is 0, at the ends -2,048 and 2,048. All that models make of these are integers far below 2^53, which
 * JavaScript's numbers hold exactly.
 */

import { readInteger } from "./canonical.js";
import { ParameterError } from "./errors.js";
import { Numbers } from "./numbers.js";
import { attributeOf, readColumns } from "./records.js";

/** The end of a range, in steps from its middle. */
export const HALF = 1 << 11;
const MOST_FEATURES = 256;
const MOST_HALVINGS = 8;

/** The named numbers of a record that a model reads, each with its range. */
export class Features {
  constructor(/** @type {unknown} */ data) {
    this.columns = readColumns(data);
    const fits = this.columns.every(({ domain }) => domain instanceof Numbers && !domain.times && domain.steps === 2 * HALF);
    if (!fits || this.columns.length > MOST_FEATURES) {
      const allowed = `1 to ${MOST_FEATURES} names with numbers on a grid of ${2 * HALF} steps`;
      throw new ParameterError("features", data, { allowed, fix: "publish it again" });
    }
  }

  get length() {
    return this.columns.length;
  }

  /** One person's features, in steps from the middle of each range. */
  point(/** @type {unknown} */ value) {
    return this.columns.map(({ name, domain }) => Number(domain.content(attributeOf(value, name))) - HALF);
  }
}

/** How often a range is halved. */
export function readClip(/** @type {unknown} */ clip) {
  return readInteger("clip", clip, 0, MOST_HALVINGS);
}

/**
 * A list of so many integers of limited size.
 *
 * @param {string} name
 * @param {unknown} values
 * @param {number} count
 * @param {number} largest
 * @returns {number[]}
 */
export function readIntegers(name, values, count, largest) {
  if (Array.isArray(values) && values.length === count) return values.map((value) => readInteger(name, value, -largest, largest));
  throw new ParameterError(name, values, { allowed: `${count} integers`, fix: "publish it again" });
}
