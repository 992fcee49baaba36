/** Two randomizations one after the other: what they do together, and how much the second must add to reach a given epsilon. */

import { ceilThreshold, expBelow, floorThreshold, keepThreshold } from "../probability.js";
import { ONE } from "../source.js";

/** @typedef {import("../decimal.js").Rational} Rational */
/** @typedef {import("../source.js").Source} Source */
/** @typedef {readonly [bigint, bigint]} Coin the thresholds with which a bit is reported as 1 if it is 1, and if it is 0 */

const HALF = ONE / 2n;
const SQUARE = ONE * ONE;

// --- bits ---

/** @returns {Coin} of throwing two coins, the second about the outcome of the first; over 2^128 */
export function chained(/** @type {Coin} */ [p, q], /** @type {Coin} */ [keep, rise]) {
  return [p * keep + (ONE - p) * rise, q * keep + (ONE - q) * rise];
}

/** @returns {Rational} the ratio of the odds of a 1: what a bit that turns on and another that turns off cost together */
export function odds(/** @type {Coin} */ [p, q], unit = SQUARE) {
  return [p * (unit - q), (unit - p) * q];
}

/**
 * The smallest threshold of the second step's noise with which both steps together have odds of at most e; undefined if there is none.
 *
 * Bits kept as 1 are reported as 1 with a half if the step is `optimized`, and as often as bits kept as 0 are reported as 0 if not.
 */
export function secondRaise(/** @type {Coin} */ first, /** @type {boolean} */ optimized, /** @type {Rational} */ [n, d]) {
  const keeps = (/** @type {bigint} */ rise) => {
    const [above, below] = odds(chained(first, [optimized ? HALF : ONE - rise, rise]));
    return above * d <= n * below;
  };
  let [low, high] = [1n, HALF]; // the first that keeps, or a half
  while (low < high) {
    const middle = (low + high) >> 1n;
    if (keeps(middle)) high = middle;
    else low = middle + 1n;
  }
  return low > 1n && low < HALF ? low : undefined; // no noise would be too much, or even one part in 2^64 too little
}

/** Each of so many bits thrown again: a 1 stays with the threshold `keep`, a 0 becomes one with `rise`. */
export function bitsAgain(
  /** @type {Uint8Array} */ bits,
  /** @type {number} */ count,
  /** @type {Coin} */ [keep, rise],
  /** @type {Source} */ source,
) {
  if (keep + rise === ONE) return flipped(bits, count, rise, source); // one draw for each bit is enough
  const kept = source.bernoulliBits(keep, count);
  const risen = source.bernoulliBits(rise, count);
  return bits.map((byte, i) => (byte & kept[i]) | (risen[i] & ~byte));
}

/** Bits, each flipped with a threshold. */
export function flipped(
  /** @type {Uint8Array} */ bits,
  /** @type {number} */ count,
  /** @type {bigint} */ flip,
  /** @type {Source} */ source,
) {
  const noise = source.bernoulliBits(flip, count);
  return bits.map((byte, i) => byte ^ noise[i]);
}

/** How often a bit that is true with the threshold `keep` must be flipped again for odds of e; rounded up. */
export function flipAgain(/** @type {bigint} */ keep, /** @type {Rational} */ [n, d]) {
  return ceilThreshold([keep * (n + d) - n * ONE, (n + d) * (2n * keep - ONE)]);
}

// --- symbols ---

/** The thresholds of two randomized responses on `count` symbols; undefined if the second has nothing to do. */
export function twoResponses(/** @type {number} */ count, /** @type {number} */ epsilon, /** @type {number} */ first) {
  const keep = keepThreshold(expBelow(epsilon), 1, count - 1);
  const [n, d] = expBelow(first);
  const [size, others] = [BigInt(count), BigInt(count - 1)];
  const gap = keep * size - ONE; // times (count - 1) 2^64, the p - q of the first; those of both multiply
  if (gap <= 0n) return undefined;
  const below = (n + others * d) * gap;
  const again = floorThreshold([below + (n - d) * others * others * ONE, below * size]);
  return again < ONE ? { keep, keep_again: again } : undefined;
}

/** @returns {Rational} the worst ratio of one randomized response */
export function responseRatio(/** @type {number} */ count, /** @type {bigint} */ keep, unit = ONE) {
  return [keep * BigInt(count - 1), unit - keep];
}

/** @returns {Rational} the worst ratio of two randomized responses one after the other */
export function twoRatio(/** @type {number} */ count, /** @type {{keep: bigint, keep_again: bigint}} */ { keep, keep_again: again }) {
  const others = BigInt(count - 1);
  const [true_, unit] = [keep * again * others + (ONE - keep) * (ONE - again), SQUARE * others];
  return responseRatio(count, true_, unit);
}
