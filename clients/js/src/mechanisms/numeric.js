/** What all mechanisms for numbers share: a value is rounded to the grid at random, without bias; mechanisms see grid points. */

import { ParameterError } from "../errors.js";
import { Numbers, roundAtRandom } from "../numbers.js";
import { SYSTEM } from "../source.js";
import { Spec } from "../spec.js";

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

  async randomize(/** @type {unknown} */ value, /** @type {Source} */ source = SYSTEM) {
    return this.perturb(roundAtRandom(this.range.position(value), source), source);
  }
}
