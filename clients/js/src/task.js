/**
 * The task: what a collector asks, of whom, how often and under which promise, as bytes that never change.
 *
 * A task's id is the SHA-256 of its canonical JSON. A device pins the id, so it need not trust the sender of the bytes. The collector's
 * public key is part of the task, so the rounds that this key signs later are pinned as well. Times are seconds since 1970, UTC.
 */

import { checkTokens, readAdmission, readIssuer, readSeeds } from "./admission.js";
import { fromHex } from "./bytes.js";
import { documentBytes, fromPlain, isObject, parseCanonical, readObject } from "./canonical.js";
import { DomainError, ParameterError, reading, WireError } from "./errors.js";
import { checkMixing, readMixing } from "./mixing.js";
import { sha256 } from "./platform.js";
import { readEpsilon } from "./probability.js";
import { Round } from "./question.js";

const VERSION = 1;
const MOST_STRATA = 2 ** 16;
const LONGEST_TEXT = 4096;
const LAST_SECOND = 2 ** 40;
const LEAST = { start: 0, end: 1, period: 0, answers_per_period: 1, answers: 1, minimum_batch: 1, late: 0, retention: 0 };
const OTHERS = ["version", "name", "question", "owner", "statement", "protocol", "epsilon", "key", "rounds", "strata", "model"];
const OPTIONAL = ["default", "admission", "issuer", "seeds", "mixing"];

/** A question put to people's devices, and the rules of its collection. */
export class Task {
  /** The task behind its canonical JSON, bytes or text; WireError if there is none. */
  static async fromJson(/** @type {Uint8Array | string} */ data) {
    const bytes = documentBytes(data);
    const content = readObject("task", parseCanonical(bytes), [...OTHERS, ...Object.keys(LEAST)], OPTIONAL);
    const id = await sha256(bytes);
    return reading("task", bytes, "a valid task", () => new Task(content, bytes, id));
  }

  constructor(/** @type {Record<string, any>} */ content, /** @type {Uint8Array} */ canonical, /** @type {Uint8Array} */ id) {
    if (content.version !== VERSION)
      throw new WireError("version", content.version, { allowed: `version ${VERSION}`, fix: "upgrade deniable" });
    this.canonical = canonical;
    /** SHA-256 of the canonical JSON: what devices pin and reports name. */
    this.id = id;
    this.name = text("name", content.name, /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/);
    this.question = text("question", content.question);
    this.owner = text("owner", content.owner);
    this.statement = text("statement", content.statement);
    this.protocol = content.protocol;
    /** What one answer costs a person at most. */
    this.epsilon = readEpsilon(content.epsilon);
    /** The collector's Ed25519 public key. */
    this.key = fromHex(content.key) ?? new Uint8Array();
    if (this.key.length !== 32)
      throw new ParameterError("key", content.key, { allowed: "an Ed25519 public key of 32 bytes", fix: "publish it again" });
    const whole = (/** @type {keyof typeof LEAST} */ name) => {
      const value = content[name];
      if (Number.isInteger(value) && value >= LEAST[name] && value <= LAST_SECOND) return /** @type {number} */ (value);
      throw new ParameterError(name, value, {
        allowed: `an integer from ${LEAST[name]} to 2^40`,
        fix: "give times in whole seconds since 1970",
      });
    };
    this.start = whole("start");
    this.end = whole("end");
    this.period = whole("period");
    this.answersPerPeriod = whole("answers_per_period");
    this.answers = whole("answers");
    this.minimumBatch = whole("minimum_batch");
    this.late = whole("late");
    this.retention = whole("retention");
    /** Whether periods are rounds, which the collector opens and signs. */
    this.rounds = content.rounds;
    if (typeof this.rounds !== "boolean") {
      throw new ParameterError("rounds", this.rounds, { allowed: "true or false", fix: "publish it again" });
    }
    if (this.end <= this.start || (this.period === 0 && !this.rounds) || this.period > this.end - this.start) {
      const allowed = "start < end, and a period of at most the time in between";
      throw new ParameterError("start, end, period", [this.start, this.end, this.period], { allowed, fix: "end it later" });
    }
    this.strata = readStrata(content.strata);
    /** What a device without an answer sends; undefined if it sends nothing. */
    this.default = "default" in content ? fromPlain(content.default) : undefined;
    /** Who is counted: "open", "secret" or "token". */
    this.admission = readAdmission(content);
    /** The RSA modulus by which one-time tokens are signed. */
    this.issuer = readIssuer(content);
    /** Who chooses the hash function of a report that brings its own: "own", the device, or "assigned", its token. */
    this.seeds = readSeeds(content);
    checkTokens(this);
    /** Who is trusted: "local", nobody, or "shuffle": then `mixing` says who shuffles. `epsilon` holds in any case. */
    this.model = content.model;
    this.mixing = readMixing(content);
    checkMixing(this);
    Object.freeze(this);
  }

  // --- when ---

  /** The period at a time by the clock; null outside the task's time. Not for tasks of several rounds, whose collector says. */
  periodAt(/** @type {number} */ time) {
    if (this.rounds)
      throw new ParameterError("task", this.name, { allowed: "a task of one round", fix: "ask the collector for the current round" });
    return this.start <= time && time < this.end ? Math.floor(Math.trunc(time - this.start) / this.period) : null;
  }

  /** The number of periods of a task of one round; the last may be short. */
  get periodCount() {
    return Math.ceil((this.end - this.start) / this.period);
  }

  /** When a period of a task of one round begins and ends. */
  periodSpan(/** @type {number} */ period) {
    const start = this.start + period * this.period;
    return [start, Math.min(start + this.period, this.end)];
  }

  // --- who ---

  /** The number of combinations of labels. */
  get stratumCount() {
    return this.strata.reduce((product, [, labels]) => product * labels.length, 1);
  }

  /** The number of a combination of labels, one for each of the task's strata; the first of them is the most significant. */
  stratum(/** @type {Record<string, string>} */ labels) {
    const names = this.strata.map(([name]) => name);
    if (Object.keys(labels).length !== names.length || !names.every((name) => Object.hasOwn(labels, name))) {
      throw new DomainError("strata", Object.keys(labels), {
        allowed: `one label for each of ${names}`,
        fix: "name them all, and no others",
      });
    }
    return this.strata.reduce((number, [name, allowed]) => {
      const place = allowed.indexOf(labels[name]);
      if (place < 0) throw new DomainError(`strata ${name}`, labels[name], { allowed: `one of ${allowed}`, fix: "choose one of them; nothing was sent" });
      return number * allowed.length + place;
    }, 0);
  }

  /** The combination of labels behind its number. */
  stratumLabels(/** @type {number} */ number) {
    let rest = number;
    const pairs = [...this.strata].reverse().map(([name, labels]) => {
      const label = labels[rest % labels.length];
      rest = Math.floor(rest / labels.length);
      return [name, label];
    });
    return Object.fromEntries(pairs.reverse());
  }

  // --- what ---

  /** The questions of a task of one round, which devices know without asking. */
  survey() {
    if (this.rounds || !isObject(this.protocol) || this.protocol.protocol !== "Survey") {
      throw new WireError("protocol", this.protocol, { allowed: "a Survey", fix: "ask the collector for the current round" });
    }
    return new Round(readObject("protocol", this.protocol, ["protocol", "questions"]).questions, "0");
  }
}

function text(/** @type {string} */ name, /** @type {unknown} */ value, shape = /^/) {
  const length = typeof value === "string" ? Array.from(value).length : 0;
  if (typeof value === "string" && length > 0 && length <= LONGEST_TEXT && shape.test(value)) return value;
  throw new ParameterError(name, value, { allowed: `text of 1 to ${LONGEST_TEXT} characters, ${shape}`, fix: "write it for the people who will read it" });
}

/** @returns {[string, string[]][]} */
function readStrata(/** @type {any} */ strata) {
  const named = (/** @type {unknown} */ label) => typeof label === "string" && label !== "";
  const distinct = (/** @type {any[]} */ labels) => labels.every(named) && new Set(labels).size === labels.length;
  const pair = (/** @type {any} */ item) =>
    Array.isArray(item) && item.length === 2 && Array.isArray(item[1]) && item[1].length > 1 && distinct(item[1]);
  const whole = Array.isArray(strata) && strata.every(pair) && distinct([...strata.map(([name]) => name), " "]);
  if (whole && strata.reduce((product, [, labels]) => product * labels.length, 1) <= MOST_STRATA) return strata;
  const allowed = `names with two or more different labels each, ${MOST_STRATA} combinations in all`;
  throw new ParameterError("strata", strata, { allowed, fix: 'write it as in [["platform", ["phone", "web"]]]' });
}
