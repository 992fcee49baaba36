/** What all mechanisms for numbers share: a value is rounded to the grid at random, without bias; mechanisms see grid points. */

import { reduced } from "../decimal.js";
import { ParameterError } from "../errors.js";
import { lawOf } from "../law.js";
import { Numbers, roundAtRandom } from "../numbers.js";
import { SYSTEM } from "../source.js";
import { Spec } from "../spec.js";

/** @typedef {import("../decimal.js").Rational} Rational */
/** @typedef {import("../source.js").Source} Source */

/** A mechanism that randomizes a number. */
export class NumericSpec extends Spec {
  /** Whether values between grid points are allowed, and rounded. */
  rounds = true;

  constructor(/** @type {string} */ mechanism, /** @type {Record<string, unknown>} */ parameters) {
    super(mechanism, parameters);
    if (!(this.domain instanceof Numbers))
      throw new ParameterError("domain", this.domain.description, { allowed: "numbers", fix: "publish the spec again" });
    this.range = this.domain;
    this.steps = this.range.steps;
  }

  get answersAll() {
    return this.rounds;
  }

  /**
   * The chance of a report at a grid point; every mechanism gives its own.
   *
   * @param {number} _report
   * @param {bigint} _key
   * @returns {Rational}
   */
  chance(_report, _key) {
    return [0n, 1n];
  }

  /** A number between two grid points goes to one of them at random, so that its chances lie between theirs. */
  law(/** @type {number} */ report) {
    return lawOf((place) => {
      const [n, d] = /** @type {Rational} */ (Array.isArray(place) ? place : [BigInt(place), 1n]);
      const below = this.chance(report, n / d);
      if (n % d === 0n) return reduced(below);
      const above = this.chance(report, n / d + 1n);
      return reduced([(d - (n % d)) * below[0] * above[1] + (n % d) * above[0] * below[1], d * below[1] * above[1]]);
    });
  }

  async randomize(/** @type {unknown} */ value, /** @type {Source} */ source = SYSTEM) {
    return this.perturb(roundAtRandom(this.range.position(value), source), source);
  }
}
