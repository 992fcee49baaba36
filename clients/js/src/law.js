/**
 * The law of one report: how likely it is under each answer, exactly, from the integers over 2^64 that decide every draw.
 *
 * Every mechanism gives its own (`Spec.law`); this is what they share. The chance of a report is a common factor, 2^common, times a
 * weight for each key, an exact fraction. What a device draws without looking at its answer (a hash function, a row, which answers to
 * speak about) is taken as given: it says nothing.
 */

import { countBits, getBit } from "./bits.js";
import { reduced } from "./decimal.js";
import { ONE } from "./source.js";

/** @typedef {import("./decimal.js").Rational} Rational */
/** @typedef {{common: number, weight: (key: any) => Promise<Rational>}} ReportLaw of numbers, a key may lie between grid points: a Rational */

/** The binary logarithm of a positive fraction, however large its parts are. */
export function log2(/** @type {Rational} */ [numerator, denominator]) {
  const large = (/** @type {bigint} */ number) => {
    const bits = number.toString(2).length;
    return bits > 1000 ? bits - 60 + Math.log2(Number(number >> BigInt(bits - 60))) : Math.log2(Number(number));
  };
  return large(numerator) - large(denominator);
}

/** @returns {ReportLaw} of chances that need no common factor */
export function lawOf(/** @type {(key: any) => Rational | Promise<Rational>} */ weight, common = 0) {
  return { common, weight: async (key) => weight(key) };
}

/** One of so many equal parts of a threshold. */
export function share(/** @type {bigint} */ threshold, parts = 1) {
  return reduced([threshold, ONE * BigInt(parts)]);
}

/**
 * The law of bits that are all drawn alike, but for those of the answer: a one has the threshold `up`, and in the answer's places `own`.
 *
 * @param {Uint8Array} bits
 * @param {number} count
 * @param {bigint} up
 * @param {bigint} own
 * @param {(key: any) => number[] | Promise<number[]>} placesOf
 */
export function bitLaw(bits, count, up, own, placesOf) {
  const ones = countBits(bits);
  const common = ones * log2([up, ONE]) + (count - ones) * log2([ONE - up, ONE]);
  const factor = (/** @type {Rational} */ [n, d], /** @type {number} */ place) =>
    reduced(getBit(bits, place) ? [n * own, d * up] : [n * (ONE - own), d * (ONE - up)]);
  return lawOf(async (key) => (await placesOf(key)).reduce(factor, /** @type {Rational} */ ([1n, 1n])), common);
}
