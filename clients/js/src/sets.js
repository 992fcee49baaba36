/**
 * Encoders of sets: they ask about one item, about the number of items, or about the whole set.
 *
 * The candidates of an encoder are sets themselves, as keys in rising order, and come in rising order; single items are sets of one.
 * A person who holds all of a candidate's items holds the candidate.
 */

import { readInteger, readObject } from "./canonical.js";
import { domainFromJson } from "./domain_json.js";
import { ParameterError, WireError } from "./errors.js";
import { Subsets } from "./subsets.js";

/** @typedef {import("./source.js").Source} Source */

const LONGEST_PADDING = 1 << 16;
const MOST_CANDIDATES = 1 << 16;
/** The most items whose sets are told apart one by one. */
const LARGEST_CODE = 24n;

/** One of the candidates that a person holds, drawn at random, after their list was padded to `length` with different dummies. */
export class PadAndSample {
  constructor(/** @type {unknown} */ data) {
    const { domain, length, candidates } = readObject("encoder", data, ["encoder", "domain", "length"], ["candidates"]);
    this.domain = readSubsets(domain);
    this.length = readInteger("length", length, 1, LONGEST_PADDING);
    this.candidates = candidates === undefined ? undefined : readCandidates(candidates, this.domain, 0);
    /** How many inputs are not dummies. */
    this.counted = this.candidates ? this.candidates.length : Number(this.domain.items.size);
    this.inputs = BigInt(this.counted + this.length);
  }

  /** No input is drawn with a probability above 1 / this, whatever the set. */
  get sampling() {
    return this.length;
  }

  async encode(/** @type {unknown} */ value, /** @type {Source} */ source) {
    const keys = this.domain.keys(value);
    const held = this.candidates ? heldAmong(keys, this.candidates) : keys;
    const drawn = source.below(Math.max(held.length, this.length));
    return drawn < held.length ? held[drawn] : this.counted + drawn - held.length;
  }
}

/** Whether what a person would draw lies beyond the first `length` of their candidates: how much a list of that length leaves out. */
export class Overflow {
  inputs = 2n;

  constructor(/** @type {unknown} */ data) {
    const { domain, length, candidates } = readObject("encoder", data, ["encoder", "domain", "length", "candidates"]);
    this.domain = readSubsets(domain);
    this.length = readInteger("length", length, 1, LONGEST_PADDING);
    this.candidates = readCandidates(candidates, this.domain, 1);
  }

  async encode(/** @type {unknown} */ value, /** @type {Source} */ source) {
    const held = heldAmong(this.domain.keys(value), this.candidates);
    return Number(source.below(Math.max(held.length, this.length)) >= this.length);
  }
}

/** How many of the candidates a person holds: 0 to all of them. */
export class HeldCount {
  constructor(/** @type {unknown} */ data) {
    const { domain, candidates } = readObject("encoder", data, ["encoder", "domain", "candidates"]);
    this.domain = readSubsets(domain);
    this.candidates = readCandidates(candidates, this.domain, 1);
    this.inputs = BigInt(this.candidates.length + 1);
  }

  async encode(/** @type {unknown} */ value) {
    return heldAmong(this.domain.keys(value), this.candidates).length;
  }
}

/** The whole set as one number: the sum of 2^key over its items. */
export class SetCode {
  constructor(/** @type {unknown} */ data) {
    this.domain = readSubsets(readObject("encoder", data, ["encoder", "domain"]).domain);
    if (this.domain.items.size > LARGEST_CODE) {
      throw new ParameterError("domain", this.domain.description, { allowed: `at most ${LARGEST_CODE} items`, fix: "ask about items" });
    }
    this.inputs = 1n << this.domain.items.size;
  }

  async encode(/** @type {unknown} */ value) {
    return this.domain.keys(value).reduce((code, key) => code + 2 ** key, 0);
  }
}

/** The positions of the candidates of which all items are held. */
function heldAmong(/** @type {number[]} */ keys, /** @type {number[][]} */ candidates) {
  const held = new Set(keys);
  return [...candidates.keys()].filter((position) => candidates[position].every((key) => held.has(key)));
}

function readSubsets(/** @type {unknown} */ data) {
  const domain = domainFromJson(data);
  if (domain instanceof Subsets) return domain;
  throw new ParameterError("domain", data, { allowed: "subsets of the items of a listed domain", fix: "publish it again" });
}

/** @returns {number[][]} */
function readCandidates(/** @type {unknown} */ data, /** @type {Subsets} */ { items }, /** @type {number} */ least) {
  const rising = (/** @type {unknown} */ keys) => {
    const between = (/** @type {any} */ key, /** @type {number} */ low) => Number.isInteger(key) && low < key && key < items.size;
    return Array.isArray(keys) && keys.length > 0 && keys.every((key, i) => between(key, keys[i - 1] ?? -1));
  };
  const listed = Array.isArray(data) && least <= data.length && data.length <= MOST_CANDIDATES && data.every(rising);
  if (listed && data.every((keys, i) => !i || isBefore(data[i - 1], keys))) return data;
  throw new WireError("candidates", data, {
    allowed: `${least} to ${MOST_CANDIDATES} sets of keys below ${items.size}, all in rising order`,
    fix: "sort them and drop repetitions",
  });
}

/** Whether a list comes before another one, as words do in a dictionary. */
function isBefore(/** @type {number[]} */ a, /** @type {number[]} */ b) {
  const i = b.findIndex((key, place) => key !== a[place]);
  return i >= 0 && (i >= a.length || a[i] < b[i]);
}
