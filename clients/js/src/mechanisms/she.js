import { exactEpsilon, expBelow } from "../probability.js";
import { reduced } from "../decimal.js";
import { ParameterError } from "../errors.js";
import { lawOf, log2 } from "../law.js";
import { ONE } from "../source.js";
import { Spec } from "../spec.js";
import { numbers } from "../wire.js";

const LARGEST_STEPS = 2 ** 13;
const LARGEST_POINT = 2 ** 16 - 1;
const GUARD = 192n;

/**
 * Summation with histogram encoding: the one-hot histogram, every entry with two-sided geometric noise on a grid, all of it sent.
 *
 * The table of weights is too long to travel; it is computed as docs/reference/spec.md says, and two of its entries are the thresholds.
 */
export class SHE extends Spec {
  static largestDomain = 2 ** 16;
  steps = this.integer("steps", 2, LARGEST_STEPS);
  weights = this.#weigh();
  cumulative = this.#accumulate();

  get points() {
    return this.weights.length;
  }

  #weigh() {
    if (this.steps % 2) throw new ParameterError("steps", this.steps, { allowed: "an even integer", fix: "publish the spec again" });
    const [n, d] = exactEpsilon(this.epsilon);
    const scales = (32n * BigInt(this.steps) * d + n - 1n) / n; // rounded up
    const reach = Math.min(Number(scales), Math.floor((LARGEST_POINT - this.steps) / 2));
    const [top, bottom] = expBelow(this.epsilon, [-1n, 2n * BigInt(this.steps)]);
    const step = (top << GUARD) / bottom;
    const center = ((bottom - top) << GUARD) / (bottom + top);
    const tail = (bottom << GUARD) / (bottom + top);
    const over = (/** @type {bigint} */ product) => product >> (2n * GUARD - 64n);
    const powers = [1n << GUARD];
    while (powers.length <= this.steps + reach) powers.push((powers[powers.length - 1] * step) >> GUARD);
    const side = powers.map((power) => over(center * power));
    const weights = [...side.slice(1, reach + 1).reverse(), ...side];
    const [last, middle] = [weights.length - 1, this.steps / 2 + reach];
    weights[0] = over(tail * powers[reach]); // the folded tails
    weights[last] = over(tail * powers[powers.length - 1]);
    const [half, whole] = expBelow(this.epsilon, [1n, 2n]);
    for (let x = 0; x < middle; x++) {
      const most = (half * weights[last - x]) / whole;
      if (weights[x] > most) weights[x] = most;
    }
    weights[middle] += ONE - weights.reduce((sum, weight) => sum + weight, 0n);
    return weights;
  }

  #accumulate() {
    let sum = 0n;
    return BigUint64Array.from(this.weights.slice(0, -1), (weight) => (sum += weight));
  }

  resolve() {
    return { first: this.weights[0], middle: this.weights[(this.points - 1) / 2] };
  }

  get ratio() {
    let [above, below] = [1n, 1n];
    for (let x = 0; x < (this.points - 1) / 2; x++) {
      const [own, mirrored] = [this.weights[x], this.weights[this.points - 1 - x]];
      if (own * below > above * mirrored) [above, below] = [own, mirrored];
    }
    return /** @type {[bigint, bigint]} */ ([above * above, below * below]); // two entries differ
  }

  get layout() {
    return [numbers("noisy", this.points, { count: this.domainSize })];
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    const noisy = Array.from({ length: this.domainSize }, () => source.pick(this.cumulative));
    noisy[key] = this.points - 1 - noisy[key];
    return noisy;
  }

  law(/** @type {number[]} */ noisy) {
    const common = noisy.reduce((sum, point) => sum + log2([this.weights[point], ONE]), 0);
    const point = (/** @type {any} */ key) => noisy[Number(key)];
    return lawOf((key) => reduced([this.weights[this.points - 1 - point(key)], this.weights[point(key)]]), common);
  }

  words(/** @type {number[]} */ noisy) {
    return [`a noisy number for each of the ${noisy.length.toLocaleString("en")} answers`];
  }
}
