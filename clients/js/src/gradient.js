/** How a person would move a public logistic model: one coordinate of the gradient of their own loss, clipped, in exact integers. */

import { readInteger, readObject } from "./canonical.js";
import { exp, floorDivide, toRational } from "./decimal.js";
import { domainFromJson } from "./domain_json.js";
import { ParameterError } from "./errors.js";
import { Features, HALF, readClip, readIntegers } from "./features.js";
import { attributeOf } from "./records.js";

const LARGEST_WEIGHT = 1 << 20;
const ONE_PROBABILITY = 1 << 15;
/** A margin counts 2^-21; the table has an entry for each 1/16, from 0 to 10. */
const CELL = 2 ** 17;
const LAST = 160;
/** @type {number[]} filled when it is first needed */
const TABLE = [];

/** The entries 2^15 / (1 + e^(-i / 16)), rounded: from sixty digits of e^x, and integers after that, so that no float decides. */
function table() {
  for (let i = TABLE.length; i <= LAST; i++) {
    const [numerator, denominator] = i ? toRational(exp([BigInt(i), 16n])) : [1n, 1n];
    const sum = numerator + denominator;
    TABLE.push(Number(floorDivide(2n * BigInt(ONE_PROBABILITY) * numerator + sum, 2n * sum)));
  }
  return TABLE;
}

/** 1 / (1 + e^-z), on a line between the entries of the table; over 2^15, for a margin z over 2^21. */
export function sigmoid(/** @type {number} */ margin) {
  if (margin < 0) return ONE_PROBABILITY - sigmoid(-margin);
  const cell = Math.floor(margin / CELL);
  if (cell >= LAST) return ONE_PROBABILITY;
  const [low, high] = table().slice(cell, cell + 2);
  return low + Math.floor(((high - low) * (margin % CELL)) / CELL);
}

/**
 * One coordinate of the gradient of a person's logistic loss, (sigmoid(weights · x) - y) x_j, in units of 2^-26.
 *
 * Margins are below 2^40 and gradients at most 2^26: JavaScript's numbers hold them exactly.
 */
export class Gradient {
  constructor(/** @type {unknown} */ data) {
    const names = ["encoder", "features", "label", "classes", "weights", "coordinate", "clip"];
    const { features, label, classes, weights, coordinate, clip } = readObject("encoder", data, names);
    this.features = new Features(features);
    this.classes = domainFromJson(classes);
    this.label = label;
    if (typeof label !== "string" || !label || this.features.columns.some(({ name }) => name === label)) {
      throw new ParameterError("label", label, { allowed: "the name of a column that is no feature", fix: "publish it again" });
    }
    if (!this.classes.listed || this.classes.size !== 2n) {
      throw new ParameterError("classes", classes, { allowed: "a domain of two values", fix: "publish it again" });
    }
    this.weights = readIntegers("weights", weights, this.features.length + 1, LARGEST_WEIGHT);
    this.coordinate = readInteger("coordinate", coordinate, 0, this.features.length);
    /** The largest input; the smallest is its opposite. */
    this.limit = (ONE_PROBABILITY * HALF) >> readClip(clip);
    /** What is read of a record. */
    this.columns = [...this.features.columns, { name: label, domain: this.classes }];
  }

  async encode(/** @type {unknown} */ value) {
    const point = [HALF, ...this.features.point(value)];
    const label = Number(this.classes.content(attributeOf(value, this.label)));
    const margin = point.reduce((sum, number, j) => sum + this.weights[j] * number, 0);
    const gradient = (sigmoid(margin) - label * ONE_PROBABILITY) * point[this.coordinate];
    return Math.max(-this.limit, Math.min(this.limit, gradient)) + 0; // no zero below zero
  }
}
