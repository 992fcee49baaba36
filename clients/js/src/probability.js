/**
 * Exact probabilities from epsilon, rounded toward privacy.
 *
 * The thresholds of a mechanism travel with its spec. A device computes them again, in the arithmetic of Python's
 * `contract/probability.py`, and refuses a spec whose thresholds are not the ones that its epsilon allows.
 */

import { exp, floorDivide, isLess, ln, neighbor, reduced, round, toRational } from "./decimal.js";
import { ParameterError, WireError } from "./errors.js";
import { ONE } from "./source.js";

/** @typedef {import("./decimal.js").Rational} Rational */

const SMALLEST_EPSILON = 1e-8;
const LARGEST_EPSILON = 30;
/** How far the exact epsilon of the integer law may stay below the epsilon asked for. */
export const TIGHTNESS = 1e-9;
/** @type {Rational} */
const WHOLE = [1n, 1n];

/** A decimal as canonical JSON carries it: the shortest one that reads back as the same double, spelled as Python does. */
export function readDecimal(/** @type {string} */ parameter, /** @type {unknown} */ text) {
  const number = typeof text === "string" ? Number(text) : NaN;
  if (Number.isFinite(number) && spell(number) === text) return number;
  throw new WireError(parameter, text, { allowed: "a decimal string", fix: 'write it as in "1.0"' });
}

/** Epsilon from its decimal string. */
export function readEpsilon(/** @type {unknown} */ text, parameter = "epsilon") {
  const number = readDecimal(parameter, text);
  if (number >= SMALLEST_EPSILON && number <= LARGEST_EPSILON) return number;
  throw new ParameterError(parameter, text, {
    allowed: `from ${SMALLEST_EPSILON} to ${LARGEST_EPSILON}`,
    fix: "choose one: common values lie between 0.1 and 4",
  });
}

/** A double as Python writes it: 1.0, 0.0001, 1e-05. Both languages choose the same digits and differ in where the exponent begins. */
export function spell(/** @type {number} */ number) {
  const [digits, exponent] = number.toExponential().split("e");
  const power = Number(exponent);
  if (power < -4 || power >= 16) return `${digits}e${power < 0 ? "-" : "+"}${`${Math.abs(power)}`.padStart(2, "0")}`;
  return Number.isInteger(number) ? `${number}.0` : `${number}`;
}

/**
 * The number that a decimal was written as: 0.1 is a tenth. Ledgers add these.
 *
 * @returns {Rational}
 */
export function writtenAs(/** @type {number | string} */ decimal) {
  const [, sign, whole, part = "", power = "0"] = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:e([-+]?[0-9]+))?$/.exec(`${decimal}`) ?? [];
  if (whole === undefined) throw new ParameterError("decimal", decimal, { allowed: "a finite decimal number", fix: "write it as in 1.0" });
  return reduced(toRational({ coefficient: BigInt(sign + whole + part), exponent: Number(power) - part.length }));
}

/**
 * The real number that a double promises: the decimal that was typed or the binary number that is stored, whichever is smaller.
 *
 * @returns {Rational}
 */
export function exactEpsilon(/** @type {number} */ epsilon) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, epsilon);
  const [power, fraction] = [Number((bits.getBigUint64(0) >> 52n) & 2047n), bits.getBigUint64(0) & ((1n << 52n) - 1n)];
  const stored = /** @type {Rational} */ ([((1n << 52n) | fraction) << 1100n, 1n << BigInt(1075 - power + 1100)]); // a normal number
  const typed = writtenAs(epsilon);
  return isLess(stored, typed) ? stored : typed;
}

/** @returns {Rational} just below e^(share epsilon) */
export function expBelow(/** @type {number} */ epsilon, share = WHOLE) {
  return toRational(neighbor(exp(exponentOf(epsilon, share)), -1));
}

/** @returns {Rational} just above e^(share epsilon) */
export function expAbove(/** @type {number} */ epsilon, share = WHOLE) {
  return toRational(neighbor(exp(exponentOf(epsilon, share)), 1));
}

/** @returns {Rational} */
function exponentOf(/** @type {number} */ epsilon, /** @type {Rational} */ share) {
  const [numerator, denominator] = reduced(share);
  const [n, d] = exactEpsilon(epsilon);
  const [m, e] = toRational(round([n * numerator, d], "floor"));
  return toRational(round([m, e * denominator], "floor"));
}

/** The smallest double that is certainly not below ln(ratio); 0 for ratios up to 1. */
export function logAbove(/** @type {Rational} */ ratio) {
  if (!isLess(WHOLE, ratio)) return 0;
  const bound = neighbor(ln(toRational(round(ratio, "ceiling"))), 1);
  let nearest = Number(`${bound.coefficient}e${bound.exponent}`);
  while (isLess(exactEpsilon(nearest), toRational(bound))) nearest = nextUp(nearest); // both readings of the double must be above
  return nearest;
}

function nextUp(/** @type {number} */ number) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, number);
  bits.setBigUint64(0, bits.getBigUint64(0) + 1n);
  return bits.getFloat64(0);
}

/** The largest threshold that is not above a probability. */
export function floorThreshold(/** @type {Rational} */ [numerator, denominator]) {
  return floorDivide(numerator * ONE, denominator);
}

/** The smallest threshold that is not below a probability. */
export function ceilThreshold(/** @type {Rational} */ [numerator, denominator]) {
  return -floorDivide(-numerator * ONE, denominator);
}

/** Floor of 2^64 w E / (w E + r): the threshold of an event of weight w E, if all others together have the weight r. */
export function keepThreshold(/** @type {Rational} */ [n, d], /** @type {number} */ weight = 1, /** @type {number} */ rest = 1) {
  const own = BigInt(weight) * n;
  return floorThreshold([own, own + BigInt(rest) * d]);
}

/** Throw if a law does not keep epsilon, or if integers over 2^64 cannot express epsilon. */
export function checkResolution(/** @type {number} */ epsilon, /** @type {Rational} */ ratio, /** @type {boolean} */ tight) {
  const effective = logAbove(ratio);
  if (effective > 0 && effective <= epsilon && !(tight && epsilon - effective > TIGHTNESS)) return;
  throw new ParameterError("epsilon", epsilon, {
    allowed: `the epsilon of these probabilities, ${effective}`,
    fix: "let the probabilities be computed from an epsilon that integers over 2^64 can express",
  });
}
