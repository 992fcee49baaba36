/** Where a person's point lies among public centers: the nearest one, and on which side of the middle one coordinate is. */

import { readInteger, readObject } from "./canonical.js";
import { ParameterError } from "./errors.js";
import { Features, HALF, readClip, readIntegers } from "./features.js";

const MOST_CLUSTERS = 256;
/** How often the range can be halved, and once more for those nearer to the middle than that. */
const MAGNITUDES = 9;

/** Twice the number of the nearest of some centers, plus a bit that is 1 with probability (x_j + limit) / (2 limit). */
export class ClusterSide {
  constructor(/** @type {unknown} */ data) {
    const { features, centers, coordinate, clip } = readObject("encoder", data, ["encoder", "features", "centers", "coordinate", "clip"]);
    this.features = new Features(features);
    if (!Array.isArray(centers) || !centers.length || centers.length > MOST_CLUSTERS) {
      throw new ParameterError("centers", centers, { allowed: `1 to ${MOST_CLUSTERS} points`, fix: "publish it again" });
    }
    this.centers = centers.map((center) => readIntegers("centers", center, this.features.length, HALF));
    this.coordinate = readInteger("coordinate", coordinate, 0, this.features.length - 1);
    /** How far from the middle a coordinate may be, in steps. */
    this.limit = HALF >> readClip(clip);
    this.inputs = 2n * BigInt(this.centers.length);
    /** What is read of a record. */
    this.columns = this.features.columns;
  }

  async encode(/** @type {unknown} */ value, /** @type {import("./source.js").Source} */ source) {
    const point = this.features.point(value);
    const distances = this.centers.map((center) => center.reduce((sum, c, j) => sum + (point[j] - c) ** 2, 0));
    const nearest = distances.indexOf(Math.min(...distances)); // the first of two at the same distance
    const level = Math.max(-this.limit, Math.min(this.limit, point[this.coordinate])) + this.limit;
    return 2 * nearest + Number(source.below(2 * this.limit) < level);
  }
}

/** How often the range can be halved around its middle before a person's point falls out of it, in any coordinate; 8 at most. */
export class Magnitude {
  inputs = BigInt(MAGNITUDES);

  constructor(/** @type {unknown} */ data) {
    this.features = new Features(readObject("encoder", data, ["encoder", "features"]).features);
    /** What is read of a record. */
    this.columns = this.features.columns;
  }

  async encode(/** @type {unknown} */ value) {
    const farthest = Math.max(...this.features.point(value).map(Math.abs));
    return Array.from({ length: MAGNITUDES - 1 }, (_, i) => HALF >> (i + 1)).filter((bound) => farthest <= bound).length;
  }
}
