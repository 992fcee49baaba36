import { ParameterError } from "../errors.js";
import { exactEpsilon, expBelow } from "../probability.js";
import { ONE } from "../source.js";
import { numbers } from "../wire.js";
import { gridPoint } from "../words.js";
import { NumericSpec } from "./numeric.js";

const LARGEST_POINT = 2 ** 16 - 1;
/** How far the noise goes. */
const SCALES = 24n;
const GUARD = 192n;

/**
 * Laplace noise on a grid, with a floor beneath it.
 *
 * The table of weights is too long to travel; it is computed as docs/reference/spec.md says, and two sums of it are the thresholds.
 */
export class DiscreteLaplace extends NumericSpec {
  static tight = false;
  reach = this.#reach();
  weights = this.#weigh();
  cumulative = this.#accumulate();

  get points() {
    return this.steps + 2 * this.reach + 1;
  }

  #reach() {
    const [n, d] = exactEpsilon(this.epsilon);
    const reach = Number((SCALES * BigInt(this.steps) * d + n - 1n) / n); // rounded up
    if (this.steps + 2 * reach > LARGEST_POINT)
      throw new ParameterError("steps", this.steps, { allowed: "few enough for noise of 16 bits", fix: "publish the spec again" });
    return reach;
  }

  #weigh() {
    const [top, bottom] = expBelow(this.epsilon, [-1n, BigInt(this.steps)]);
    const [n, d] = expBelow(this.epsilon);
    const ratio = (top << GUARD) / bottom;
    const side = [1n << GUARD];
    while (side.length <= this.reach) side.push((side[side.length - 1] * ratio) >> GUARD);
    const below = (side[Math.max(0, this.reach - this.steps + 1)] * d) / (n - d) + 1n;
    const whole = 2n * side.reduce((sum, power) => sum + power, 0n) - side[0] + below * BigInt(this.points);
    const scaled = side.map((power) => (power << 64n) / whole);
    return [...scaled.slice(1).reverse(), ...scaled];
  }

  #accumulate() {
    let sum = 0n;
    return BigUint64Array.from(this.weights, (weight) => (sum += weight));
  }

  resolve() {
    return { center: this.weights[this.reach], noise: this.cumulative[this.cumulative.length - 1] };
  }

  get ratio() {
    const points = BigInt(this.points);
    const floor = ONE - this.cumulative[this.cumulative.length - 1];
    let worst = [1n, 1n];
    for (let z = 0; z <= this.reach; z++) {
      const near = this.weights[this.reach + z] * points + floor;
      const far = (this.weights[this.reach + z + this.steps] ?? 0n) * points + floor;
      if (near * worst[1] > worst[0] * far) worst = [near, far];
    }
    return /** @type {[bigint, bigint]} */ (worst);
  }

  get layout() {
    return [numbers("point", this.points)];
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    const noise = source.pick(this.cumulative);
    return noise <= 2 * this.reach ? key + noise : source.below(this.points);
  }

  /** @returns {import("../decimal.js").Rational} */
  chance(/** @type {number} */ point, /** @type {bigint} */ key) {
    const points = BigInt(this.points);
    const floor = ONE - this.cumulative[this.cumulative.length - 1];
    return [(this.weights[point - Number(key)] ?? 0n) * points + floor, ONE * points];
  }

  words(/** @type {number} */ point) {
    return [gridPoint(point, this.points)];
  }
}
