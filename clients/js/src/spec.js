/**
 * The spec: one mechanism with its parameters, as a collector published it.
 *
 * A subclass reads its parameters as it is made, computes its thresholds, and turns a key into a report. `settle` then refuses the spec
 * unless it says exactly this: all parameters and no others, the thresholds that its epsilon allows, a law that keeps this epsilon.
 */

import { readNumber, readObject } from "./canonical.js";
import { domainFromJson } from "./domain_json.js";
import { ParameterError, WireError } from "./errors.js";
import { sha256 } from "./platform.js";
import { checkResolution, readDecimal, readEpsilon } from "./probability.js";
import { ONE, SYSTEM } from "./source.js";
import { decodeReport, encodeReport } from "./wire.js";
import { hint } from "./words.js";

/** @typedef {import("./source.js").Source} Source */
/** @typedef {import("./decimal.js").Rational} Rational */
/** @typedef {import("./law.js").ReportLaw} ReportLaw */
/** @typedef {import("./words.js").Words} Words */

/** One mechanism with its parameters. */
export class Spec {
  /** Whether the mechanism works on indices. The others hash, and take any domain. */
  static needsListedDomain = true;
  static largestDomain = 2 ** 26;
  /** Whether the law uses up the epsilon it is given. */
  static tight = true;

  /** @type {Record<string, bigint>} the integers over 2^64 that decide every draw */
  thresholds = {};
  /** @type {Uint8Array} the canonical JSON */
  canonical = new Uint8Array();
  /** @type {Record<string, unknown>} */
  #parameters;
  #read = ["domain", "epsilon"];

  constructor(/** @type {string} */ mechanism, /** @type {Record<string, unknown>} */ parameters) {
    this.mechanism = mechanism;
    this.#parameters = parameters;
    /** What one report costs. */
    this.epsilon = readEpsilon(parameters.epsilon);
    this.domain = domainFromJson(parameters.domain);
    this.domainSize = Number(this.domain.size);
    if (this.kind.needsListedDomain && !(this.domain.listed && this.domainSize <= this.kind.largestDomain)) {
      const allowed = `a listed domain of at most ${this.kind.largestDomain} values for ${mechanism}`;
      throw new ParameterError("domain", this.domain.description, { allowed, fix: "use OLH, which takes any domain" });
    }
  }

  get kind() {
    return /** @type {typeof Spec} */ (this.constructor);
  }

  // --- for subclasses ---

  /** An integer parameter between two limits. */
  integer(/** @type {string} */ name, /** @type {number} */ low, /** @type {number} */ high) {
    const value = readNumber(name, this.parameter(name));
    if (typeof value === "number" && low <= value && value <= high) return value;
    throw new ParameterError(name, value, { allowed: `an integer from ${low} to ${high}`, fix: "publish the spec again" });
  }

  /** A parameter of 64 bits. */
  word(/** @type {string} */ name) {
    const value = BigInt(readNumber(name, this.parameter(name)));
    if (0n <= value && value < ONE) return value;
    throw new ParameterError(name, value, { allowed: "an integer from 0 to 2^64 - 1", fix: "publish the spec again" });
  }

  /** A decimal parameter. */
  decimal(/** @type {string} */ name) {
    return readDecimal(name, this.parameter(name));
  }

  /** A parameter as it came, for subclasses that read it themselves. */
  parameter(/** @type {string} */ name) {
    this.#read.push(name);
    return this.#parameters[name];
  }

  /**
   * The thresholds that epsilon allows; RR looks at the ones that came along.
   *
   * @param {Record<string, bigint>} _given
   * @returns {Record<string, bigint>}
   */
  resolve(_given) {
    return {};
  }

  /** @returns {Rational} the largest ratio of the probabilities of one report under two inputs */
  get ratio() {
    return [1n, 1n];
  }

  /** @returns {import("./wire.js").Column[]} the columns of a report */
  get layout() {
    return [];
  }

  /**
   * The report of someone whose value has this key: a number in a listed domain, a BigInt in the others.
   *
   * @param {any} _key
   * @param {Source} _source
   * @returns {any}
   */
  perturb(_key, _source) {
    return undefined;
  }

  /**
   * How likely a report is under each answer; null where the chances of one report do not say how well the answer is hidden. Every
   * mechanism gives its own, or says in `whyNoLaw` why it has none.
   *
   * @returns {ReportLaw | null}
   */
  law(/** @type {any} */ _report) {
    return null;
  }

  /** Why `law` is null, in a sentence for the respondent; empty where it is not. */
  get whyNoLaw() {
    return "";
  }

  /**
   * What a report says, in words. Mechanisms whose reports name no values leave it at a hint, and at the values that it fits.
   *
   * @returns {Words | Promise<Words>}
   */
  words(/** @type {any} */ report) {
    return hint(this, report);
  }

  /** Whether every value of the domain has a report, drawn with fresh noise: any round may then ask with this mechanism. */
  get answersAll() {
    return true;
  }

  /** Whether reports are drawn from a permanent answer, which the device must keep (see `Diary`). */
  get memoized() {
    return false;
  }

  /** How many words of a report, its first, a token can assign; none for mechanisms that draw no seed for each report. */
  get assignedWords() {
    return 0;
  }

  /** Throw if the thresholds do not keep what is promised. */
  check() {
    checkResolution(this.epsilon, this.ratio, this.kind.tight);
  }

  // --- for everyone ---

  /** Check what came along with the parameters; nothing changes after this. */
  settle(/** @type {unknown} */ thresholds, /** @type {Uint8Array} */ canonical) {
    readObject("parameters", this.#parameters, this.#read);
    const names = Object.keys(this.resolve({}));
    const raw = readObject("thresholds", thresholds, names);
    const given = Object.fromEntries(names.map((name) => [name, BigInt(readNumber(name, raw[name]))]));
    this.thresholds = Object.freeze(this.resolve(given));
    if (names.some((name) => given[name] !== this.thresholds[name])) {
      throw new WireError("thresholds", given, { allowed: "the ones for these parameters", fix: "publish the spec again" });
    }
    this.check();
    this.canonical = canonical;
    return Object.freeze(this);
  }

  /**
   * What `perturb` takes for a value; DomainError if the value is not allowed.
   *
   * @returns {Promise<any>}
   */
  async keyOf(/** @type {unknown} */ value) {
    const key = await this.domain.key(value);
    return this.kind.needsListedDomain ? Number(key) : key;
  }

  /**
   * What a report costs behind an encoder that draws no input with a probability above 1 / `sampling`: epsilon, unless a mechanism's law is
   * known to gain by it.
   */
  epsilonAfter(/** @type {number} */ _sampling) {
    return this.epsilon;
  }

  /**
   * For how many of so many answers a person who holds so many different values over time pays epsilon, at most: for all of them, unless a
   * mechanism draws its noise once and reuses it.
   */
  paidAnswers(/** @type {number} */ answers, /** @type {number} */ _values) {
    return answers;
  }

  /** One person's report. */
  async randomize(/** @type {unknown} */ value, /** @type {Source} */ source = SYSTEM) {
    return this.perturb(await this.keyOf(value), source);
  }

  /** One report as bytes. */
  encode(/** @type {any} */ report) {
    return encodeReport(this.layout, report);
  }

  /** One report from bytes; WireError unless they are well formed. */
  decode(/** @type {Uint8Array} */ payload) {
    return decodeReport(this.layout, payload);
  }

  /** SHA-256 of the canonical JSON: the name under which tallies refer to this spec. */
  async digest() {
    return sha256(this.canonical);
  }
}
