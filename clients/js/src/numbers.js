/**
 * Numbers and points in time in a declared range, and the grid that stands for them on the wire.
 *
 * The grid has `steps` equal steps from low to high; its points are the keys 0..steps. A value between two points goes to one of them at
 * random, to the nearer one more often, so that on average it is exactly what it was. All of this is exact: a number is the rational that
 * it stores, and the draw has exactly that rational's probability.
 */

import { readNumber, readObject } from "./canonical.js";
import { floorDivide, isLess, reduced } from "./decimal.js";
import { Domain } from "./domain.js";
import { ParameterError, WireError } from "./errors.js";
import { isCanonicalMoment, readMoment } from "./moments.js";
import { minus, over, stored, times, whole } from "./rational.js";

/** @typedef {import("./decimal.js").Rational} Rational */
/** @typedef {import("./source.js").Source} Source */

const LARGEST_STEPS = 2 ** 16;
/** The characters of a bound, and the bits of the largest exact numerator or denominator. */
const LONGEST = 2200;
/** @type {Rational} beyond it, or closer together than its inverse, squares of distances would not fit a double */
const LARGEST = [1n << 500n, 1n];
/** @type {Rational} */
const ZERO = [0n, 1n];

/** Numbers from low to high, both included; or points in time: Dates and texts in ISO 8601. */
export class Numbers extends Domain {
  /** Whether these are the numbers from 0 to 1, of which false and true are the ends. */
  #unit;

  constructor(/** @type {unknown} */ data) {
    super();
    const fields = readObject("domain", data, ["kind", "low", "high", "steps"], ["clip"]);
    const [low, high] = [readBound(fields.low), readBound(fields.high)];
    /** Whether the values are points in time, and if so, whether with a time zone. */
    this.aware = low.aware;
    this.start = low.number;
    this.width = minus(high.number, low.number);
    const near = this.aware === undefined && isLess(this.width, over(whole(1), LARGEST));
    if (low.aware !== high.aware || !isLess(ZERO, this.width) || near) {
      const allowed = "two finite numbers up to 2^500, or two times (both with a time zone or both without), low < high";
      throw new ParameterError("low, high", [fields.low, fields.high], { allowed, fix: "publish it again" });
    }
    this.steps = Number(readNumber("steps", fields.steps));
    if (this.steps < 1 || this.steps > LARGEST_STEPS)
      throw new ParameterError("steps", this.steps, { allowed: `an integer from 1 to ${LARGEST_STEPS}`, fix: "publish it again" });
    if ("clip" in fields && fields.clip !== true)
      throw new WireError("clip", fields.clip, { allowed: "true or nothing", fix: "publish it again" });
    /** Whether what is out of range counts as the nearest end. */
    this.clip = "clip" in fields;
    this.size = BigInt(this.steps) + 1n;
    this.#unit = fields.low === "0" && fields.high === "1";
    const kind = this.aware === undefined ? "finite numbers" : `points in time ${this.aware ? "with" : "without"} a time zone`;
    this.description = `${kind}${this.clip ? ", clipped to the range" : ""} from ${fields.low} to ${fields.high}`;
  }

  get times() {
    return this.aware !== undefined;
  }

  /** @returns {bigint | undefined} the nearest grid point, the upper one of two; mechanisms draw between the two instead */
  find(/** @type {unknown} */ value) {
    const place = this.#place(value);
    return place && floorDivide(2n * place[0] + place[1], 2n * place[1]);
  }

  /** Where a value lies on the grid, from 0 to `steps`; DomainError if it is not allowed. */
  position(/** @type {unknown} */ value) {
    const place = this.#place(value);
    if (place) return place;
    throw this.refuse(value);
  }

  /** @returns {Rational | undefined} */
  #place(/** @type {unknown} */ value) {
    const number = this.#number(value);
    if (!number) return undefined;
    const share = over(minus(number, this.start), this.width);
    if (isLess(share, ZERO)) return this.clip ? ZERO : undefined;
    if (isLess(whole(1), share)) return this.clip ? whole(this.steps) : undefined;
    return times(share, whole(this.steps));
  }

  /** @returns {Rational | undefined} a value as an exact number, whether it is in range or not */
  #number(/** @type {unknown} */ value) {
    if (this.times) {
      const moment = readMoment(value);
      return moment?.aware === this.aware ? reduced(/** @type {Rational} */ (moment?.seconds)) : undefined;
    }
    if (typeof value === "bigint") return isShort(value) ? whole(value) : undefined;
    if (typeof value === "number") return Number.isFinite(value) ? stored(value) : undefined;
    return typeof value === "boolean" && this.#unit ? whole(Number(value)) : undefined;
  }
}

/** One of the two integers around a number from 0 on, so that the expectation is the number. Consumes `bernoulliRatio`'s words, always. */
export function roundAtRandom(/** @type {Rational} */ [numerator, denominator], /** @type {Source} */ source) {
  return Number(numerator / denominator) + Number(source.bernoulliRatio(numerator % denominator, denominator));
}

/** @returns {{number: Rational, aware?: boolean}} */
function readBound(/** @type {unknown} */ text) {
  const short = typeof text === "string" && text.length <= LONGEST;
  if (short && text.includes("T")) {
    const moment = isCanonicalMoment(text) ? readMoment(text) : undefined;
    if (moment && (!moment.aware || text.endsWith("+00:00"))) return { number: reduced(moment.seconds), aware: moment.aware };
  } else if (short && /^(0|-?[1-9][0-9]*)(\/[1-9][0-9]*)?$/.test(text)) {
    const [numerator, denominator = 1n] = text.split("/").map(BigInt);
    const number = reduced([numerator, denominator]);
    const spelled = number[1] === 1n ? `${number[0]}` : number.join("/");
    const small = isLess([number[0] < 0n ? -number[0] : number[0], number[1]], LARGEST);
    if (spelled === text && small && number.every(isShort)) return { number };
  }
  throw new WireError("domain", text, {
    allowed: "a fraction such as '-1' or '1/2', or a time in ISO 8601, as Python writes it",
    fix: "publish it again",
  });
}

function isShort(/** @type {bigint} */ number) {
  return (number < 0n ? -number : number) >> BigInt(LONGEST) === 0n;
}
