/**
 * Answers given again and again: a permanent answer, drawn once and kept, and reports that are drawn from it.
 *
 * The **permanent** answer is drawn once for each class of values (in most mechanisms a value is a class of its own) and kept permanently.
 * Every report is an **instantaneous** answer, drawn from the permanent one. However many reports there are, they tell no more than the
 * permanent answer does, `epsilon`; the first of them, alone, tells `firstEpsilon`. What is not hidden: that a value changed, and when.
 *
 * Some mechanisms also draw something **personal** once for all, whatever the value: a hash function, a cohort, a set of buckets.
 */

import { ParameterError } from "../errors.js";
import { logAbove, readEpsilon, TIGHTNESS } from "../probability.js";
import { Spec } from "../spec.js";

/** @typedef {import("../decimal.js").Rational} Rational */
/** @typedef {import("../source.js").Source} Source */
/** @typedef {import("../wire.js").Column} Column */

/** A mechanism in two steps. `randomize` is one report of a device that has nothing yet; one that keeps what it must keep uses a diary. */
export class Longitudinal extends Spec {
  /** What one report tells. */
  firstEpsilon = this.#readFirst();

  #readFirst() {
    const first = readEpsilon(this.parameter("first_epsilon"), "first_epsilon");
    if (first <= this.epsilon) return first;
    throw new ParameterError("first_epsilon", first, { allowed: `at most epsilon = ${this.epsilon}`, fix: "publish the spec again" });
  }

  // --- for subclasses ---

  /** @returns {Column[]} the columns of what is drawn once for all; they come first in most reports */
  get personalLayout() {
    return [];
  }

  /** @returns {Column[]} the columns of an answer, permanent or instantaneous */
  get answerLayout() {
    return [];
  }

  /** @returns {Rational} as `ratio`, which is that of the permanent answer, for one report */
  get firstRatio() {
    return [1n, 1n];
  }

  /** How many classes a device can tell its values apart by, at most: so many permanent answers it can come to keep. */
  get classes() {
    const { size, maxLength } = /** @type {{size: bigint, maxLength?: number}} */ (this.domain);
    return maxLength === undefined ? Number(size) : (256 ** (maxLength + 1) - 1) / 255;
  }

  /** @returns {any} what a device draws once for all its values */
  personal(/** @type {Source} */ _source) {
    return undefined;
  }

  /** @returns {any} the class of a key, at once or later; all values of a class share one permanent answer */
  classOf(/** @type {any} */ key, /** @type {any} */ _personal) {
    return key;
  }

  /** @returns {any} the permanent answer of a class */
  permanentOf(/** @type {any} */ _group, /** @type {any} */ _personal, /** @type {Source} */ _source) {
    return undefined;
  }

  /** @returns {any} the answer of one report, from the permanent one */
  instantaneous(/** @type {any} */ _memo, /** @type {Source} */ _source) {
    return undefined;
  }

  // --- what follows ---

  get whyNoLaw() {
    return "This device draws its reports from an answer that it drew once and keeps, so the chances of one report are not the whole story.";
  }

  /** False: what is kept about one round must not be asked about in the next. */
  get answersAll() {
    return false;
  }

  get memoized() {
    return true;
  }

  paidAnswers(/** @type {number} */ answers, /** @type {number} */ values) {
    return Math.min(answers, values, this.classes);
  }

  get layout() {
    return [...this.personalLayout, ...this.answerLayout];
  }

  /** What is sent: the personal part, where there is one, and the answer. */
  joined(/** @type {any} */ personal, /** @type {any} */ answer) {
    return this.personalLayout.length ? [personal, answer] : answer;
  }

  async perturb(/** @type {any} */ key, /** @type {Source} */ source) {
    const personal = this.personal(source);
    const memo = this.permanentOf(await this.classOf(key, personal), personal, source);
    return this.joined(personal, this.instantaneous(memo, source));
  }

  check() {
    super.check();
    const real = logAbove(this.firstRatio);
    if (real <= this.firstEpsilon && this.firstEpsilon - real <= TIGHTNESS) return;
    throw new ParameterError("first_epsilon", this.firstEpsilon, {
      allowed: `what these probabilities reach: ${real}`,
      fix: "leave the probabilities out: they follow from first_epsilon",
    });
  }

  /** The refusal of a first epsilon that leaves nothing for the second step to do. */
  tooClose() {
    const allowed = `clearly below epsilon = ${this.epsilon}`;
    return new ParameterError("first_epsilon", this.firstEpsilon, { allowed, fix: "try half of epsilon" });
  }
}
