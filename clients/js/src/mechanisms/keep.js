/** What most mechanisms share: one threshold, that of keeping to the truth. */

import { lawOf, share } from "../law.js";
import { expBelow, keepThreshold } from "../probability.js";
import { ONE } from "../source.js";
import { Spec } from "../spec.js";

/** @typedef {import("../source.js").Source} Source */

/** A mechanism that tells the truth with a threshold: its weight is w e^epsilon where all other outcomes together have the weight r. */
export class KeepSpec extends Spec {
  /** @returns {[number, number]} w and r */
  get odds() {
    return [1, 1];
  }

  /** @returns {Record<string, bigint>} */
  resolve() {
    return { keep: keepThreshold(expBelow(this.epsilon), ...this.odds) };
  }

  get ratio() {
    const [weight, rest] = this.odds;
    return /** @type {[bigint, bigint]} */ ([this.thresholds.keep * BigInt(rest), (ONE - this.thresholds.keep) * BigInt(weight)]);
  }

  /**
   * The law of a report by the answers that it fits: each of the w (times `each`) reports that fit an answer has an equal part of the
   * threshold, and each of the r (times `each`) others an equal part of the rest.
   *
   * @param {(key: any) => boolean | Promise<boolean>} fits
   */
  keptLaw(fits, each = 1) {
    const [[own, others], { keep }] = [this.odds, this.thresholds];
    return lawOf(async (key) => ((await fits(key)) ? share(keep, own * each) : share(ONE - keep, others * each)));
  }
}

/** The symbol, with the threshold `keep`, or another of the `count` symbols, each equally likely. */
export function keepOrReplace(
  /** @type {number} */ symbol,
  /** @type {number} */ count,
  /** @type {bigint} */ keep,
  /** @type {Source} */ source,
) {
  if (source.bernoulli(keep)) return symbol;
  const other = source.below(count - 1);
  return other < symbol ? other : other + 1;
}
