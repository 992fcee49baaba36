/**
 * Rational numbers, and sixty decimal digits of exponentials and logarithms.
 *
 * Thresholds must be the very integers that Python computes in its `decimal` module at sixty digits. So this is that arithmetic: a
 * rational is rounded to sixty significant digits in a stated direction; e^x and ln x are correctly rounded, from series in integers
 * over 2^512, where the last hundred digits decide.
 */

const DIGITS = 60;
const BITS = 512n;
const UNIT = 1n << BITS;

/** @typedef {readonly [bigint, bigint]} Rational numerator and denominator, the latter above 0 */
/** @typedef {{coefficient: bigint, exponent: number}} Decimal coefficient times ten to the exponent */

/** @returns {Rational} */
export function reduced(/** @type {Rational} */ [numerator, denominator]) {
  let [a, b] = [numerator < 0n ? -numerator : numerator, denominator];
  while (b) [a, b] = [b, a % b];
  return [numerator / a, denominator / a];
}

export function isLess(/** @type {Rational} */ a, /** @type {Rational} */ b) {
  return a[0] * b[1] < b[0] * a[1];
}

/** @returns {Rational} */
export function plus(/** @type {Rational} */ a, /** @type {Rational} */ b) {
  return reduced([a[0] * b[1] + b[0] * a[1], a[1] * b[1]]);
}

export function floorDivide(/** @type {bigint} */ a, /** @type {bigint} */ b) {
  return a / b - (a % b < 0n ? 1n : 0n);
}

/** @returns {Rational} */
export function toRational(/** @type {Decimal} */ { coefficient, exponent }) {
  return exponent < 0 ? [coefficient, 10n ** BigInt(-exponent)] : [coefficient * 10n ** BigInt(exponent), 1n];
}

/**
 * A rational as sixty significant digits; fewer only for 0.
 *
 * @param {Rational} rational
 * @param {"floor" | "ceiling" | "half even"} direction
 * @returns {Decimal}
 */
export function round([numerator, denominator], direction) {
  if (!numerator) return { coefficient: 0n, exponent: 0 };
  const size = numerator < 0n ? -numerator : numerator;
  let exponent = `${size}`.length - `${denominator}`.length - DIGITS;
  const scaled = () =>
    exponent < 0 ? [numerator * 10n ** BigInt(-exponent), denominator] : [numerator, denominator * 10n ** BigInt(exponent)];
  let [above, below] = scaled();
  if ((above < 0n ? -above : above) >= below * 10n ** BigInt(DIGITS)) {
    exponent += 1;
    [above, below] = scaled();
  }
  const floor = floorDivide(above, below);
  const rest = above - floor * below;
  const up = { floor: false, ceiling: rest > 0n, "half even": 2n * rest > below || (2n * rest === below && floor % 2n !== 0n) }[direction];
  return { coefficient: floor + (up ? 1n : 0n), exponent };
}

/** The number just below or above a positive one, in its last digit. */
export function neighbor(/** @type {Decimal} */ { coefficient, exponent }, /** @type {-1 | 1} */ direction) {
  const first = 10n ** BigInt(DIGITS - 1);
  if (direction < 0 && coefficient === first) return { coefficient: 10n * first - 1n, exponent: exponent - 1 };
  return { coefficient: coefficient + BigInt(direction), exponent };
}

/** E to the power of a rational of magnitude below 2^8, correctly rounded. */
export function exp(/** @type {Rational} */ [numerator, denominator]) {
  const halvings = 12n;
  const x = (numerator * UNIT) / (denominator << halvings); // small, so that the series is short; then squared up again
  let [sum, term] = [UNIT, UNIT];
  for (let i = 1n; term; i++) {
    term = (term * x) / (i * UNIT);
    sum += term;
  }
  for (let i = 0n; i < halvings; i++) sum = (sum * sum) >> BITS;
  return round([sum, UNIT], "half even");
}

/** The natural logarithm of a rational above 1, correctly rounded. */
export function ln(/** @type {Rational} */ [numerator, denominator]) {
  let twos = 0n;
  while (numerator >= denominator << (twos + 1n)) twos++; // what is left lies between 1 and 2
  const [n, d] = [numerator, denominator << twos];
  return round([twos * twiceArtanh(1n, 3n) + twiceArtanh(n - d, n + d), UNIT], "half even");
}

/** Ln((1 + z) / (1 - z)) for z = numerator / denominator, at most 1/3, over 2^512. */
function twiceArtanh(/** @type {bigint} */ numerator, /** @type {bigint} */ denominator) {
  const z = (numerator * UNIT) / denominator;
  const square = (z * z) >> BITS;
  let [sum, power] = [0n, z];
  for (let i = 1n; power; i += 2n) {
    sum += power / i;
    power = (power * square) >> BITS;
  }
  return 2n * sum;
}
