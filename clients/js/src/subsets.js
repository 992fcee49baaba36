/** Sets of items: what people hold when they hold more than one thing, or nothing. */

import { bigEndian, concat } from "./bytes.js";
import { Domain } from "./domain.js";
import { ParameterError } from "./errors.js";

/** The most items that sets are made of: each is counted. */
const MOST_ITEMS = 1n << 26n;
const ITEM_BYTES = 4;

/** The sets of items of a listed domain, the empty one included: an array or a Set that names each item once. */
export class Subsets extends Domain {
  listed = false;

  constructor(/** @type {Domain} */ items) {
    super();
    if (!items.listed || items.size > MOST_ITEMS) {
      throw new ParameterError("items", items.description, { allowed: `a listed domain of at most ${MOST_ITEMS} items`, fix: "list them" });
    }
    this.items = items;
    this.description = `sets that name each item once: ${items.description}`;
  }

  /** The keys of a set's items, in rising order; DomainError if it is not a set of them. */
  keys(/** @type {unknown} */ value) {
    const keys = this.#keys(value);
    if (keys) return keys;
    throw this.refuse(value);
  }

  /** The bytes that stand for a set: the keys of its items, four bytes each. */
  find(/** @type {unknown} */ value) {
    const keys = this.#keys(value);
    return keys && concat(...keys.map((key) => bigEndian(BigInt(key), ITEM_BYTES)));
  }

  /** @returns {number[] | undefined} */
  #keys(/** @type {unknown} */ value) {
    if (!Array.isArray(value) && !(value instanceof Set)) return undefined;
    const keys = Array.from(value, (item) => Number(this.items.find(item) ?? NaN)).sort((a, b) => a - b);
    return keys.every((key, i) => Number.isInteger(key) && key !== keys[i - 1]) ? keys : undefined;
  }
}
