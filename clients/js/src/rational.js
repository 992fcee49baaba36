/** Arithmetic of rational numbers, exact: what `decimal` does not need itself. */

import { plus, reduced } from "./decimal.js";

/** @typedef {import("./decimal.js").Rational} Rational */

/** @returns {Rational} */
export function whole(/** @type {number | bigint} */ number) {
  return [BigInt(number), 1n];
}

/** @returns {Rational} */
export function minus(/** @type {Rational} */ a, /** @type {Rational} */ b) {
  return plus(a, [-b[0], b[1]]);
}

/** @returns {Rational} the product of all */
export function times(/** @type {Rational[]} */ ...factors) {
  return reduced(factors.reduce(([n, d], factor) => [n * factor[0], d * factor[1]], /** @type {Rational} */ ([1n, 1n])));
}

/** @returns {Rational} a / b, for a b that is not 0 */
export function over(/** @type {Rational} */ a, /** @type {Rational} */ b) {
  return b[0] < 0n ? times(a, [-b[1], -b[0]]) : times(a, [b[1], b[0]]);
}

/** @returns {Rational} the number that a finite double stores, exactly */
export function stored(/** @type {number} */ double) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, double);
  const [word, fraction] = [bits.getBigUint64(0), bits.getBigUint64(0) & ((1n << 52n) - 1n)];
  const power = (word >> 52n) & 2047n;
  const size = power ? (1n << 52n) | fraction : fraction; // the smallest numbers have no leading one
  const exponent = (power || 1n) - 1075n;
  const signed = word >> 63n ? -size : size;
  return exponent < 0n ? reduced([signed, 1n << -exponent]) : [signed << exponent, 1n];
}
