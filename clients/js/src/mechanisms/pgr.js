import { ParameterError } from "../errors.js";
import { numbers } from "../wire.js";
import { KeepSpec } from "./keep.js";
import { inverse, isPrime } from "./primes.js";

const LARGEST_GEOMETRY = 2 ** 28;

/** Projective geometry response: one point of a finite geometry, probably orthogonal to the value's own. */
export class PGR extends KeepSpec {
  order = this.integer("order", 2, LARGEST_GEOMETRY - 1);
  dimension = this.integer("dimension", 2, 29);
  points = this.#count(this.dimension);
  orthogonal = this.#count(this.dimension - 1);
  modulus = BigInt(this.order);

  /** How many lines through the origin there are in a space of so many coordinates modulo the order. */
  #count(/** @type {number} */ dimension) {
    let points = 0;
    for (let i = 0; i < dimension; i++) points = points * this.order + 1;
    return points;
  }

  resolve() {
    if (!isPrime(this.order) || this.points < this.domainSize || this.points > LARGEST_GEOMETRY) {
      const allowed = `a prime order, and ${this.domainSize} to ${LARGEST_GEOMETRY} points`;
      throw new ParameterError("order, dimension", [this.order, this.dimension], { allowed, fix: "publish the spec again" });
    }
    return super.resolve();
  }

  /** @returns {[number, number]} */
  get odds() {
    return [this.orthogonal, this.points - this.orthogonal];
  }

  get layout() {
    return [numbers("point", this.points)];
  }

  /** The point with this index, scaled so that its first coordinate that is not 0 is 1; see docs/theory/pgr.md for the order of points. */
  coordinates(/** @type {number} */ index) {
    const backwards = [];
    for (let rest = index; rest; rest = Math.floor((rest - 1) / this.order)) backwards.push(BigInt((rest - 1) % this.order));
    backwards.push(1n);
    return [...Array(this.dimension - backwards.length).fill(0n), ...backwards.reverse()];
  }

  /** The index of the point with these coordinates, however they are scaled. */
  index(/** @type {bigint[]} */ coordinates) {
    const first = coordinates.findIndex(Boolean);
    const scale = inverse(coordinates[first], this.modulus);
    return Number(coordinates.slice(first + 1).reduce((index, x) => this.modulus * index + 1n + ((x * scale) % this.modulus), 0n));
  }

  perturb(/** @type {number} */ key, /** @type {import("../source.js").Source} */ source) {
    const kept = source.bernoulli(this.thresholds.keep);
    const drawn = kept ? source.below(this.orthogonal) : this.orthogonal + source.below(this.points - this.orthogonal);
    const [product, ...point] = this.coordinates(drawn); // what the product with the value's point is to be, and all coordinates but one
    const value = this.coordinates(key).reverse(); // its last coordinate that is not 0 is 1: that one brings any product about
    const place = value.findLastIndex(Boolean);
    point.splice(place, 0, 0n);
    const sum = point.reduce((total, x, i) => total + x * value[i], 0n) % this.modulus;
    point[place] = (product + this.modulus - sum) % this.modulus;
    return this.index(point);
  }

  law(/** @type {number} */ index) {
    const point = this.coordinates(index).reverse();
    const product = (/** @type {number} */ key) => this.coordinates(key).reduce((sum, x, i) => sum + x * point[i], 0n);
    return this.keptLaw((key) => product(Number(key)) % this.modulus === 0n);
  }
}
