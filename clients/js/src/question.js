/** What people are asked: a question to a share of them, and a round of questions asked at once. */

import { Assigned } from "./assigned.js";
import { toHex } from "./bytes.js";
import { fromPlain, readObject } from "./canonical.js";
import { reduced } from "./decimal.js";
import { encoderFromJson } from "./encoders.js";
import { DomainError, ParameterError, reading, WireError } from "./errors.js";
import { specFromContent } from "./registry.js";
import { SYSTEM } from "./source.js";

/** @typedef {import("./decimal.js").Rational} Rational */
/** @typedef {import("./source.js").Source} Source */

/** The finest scale on which people are split among questions. */
const LARGEST_SCALE = 1n << 32n;

/** What one share of the people is asked. Candidates are checked and forgotten: only the tally needs them. */
export class Question {
  constructor(/** @type {unknown} */ data) {
    const { name, spec, encoder, share, candidates } = readObject("question", data, ["name", "spec", "encoder", "share"], ["candidates"]);
    if (typeof name !== "string" || !name)
      throw new ParameterError("name", name, { allowed: "a string that is not empty", fix: "name it" });
    this.name = name;
    this.spec = specFromContent(spec);
    this.encoder = encoderFromJson(encoder);
    /** What an answer costs, encoder and mechanism together: the mechanism's epsilon, or less behind an encoder that samples. */
    this.epsilon = this.spec.epsilonAfter(this.encoder.sampling ?? 1);
    this.share = readShare(share);
    if (this.share[0] === 0n || this.share[0] > this.share[1]) {
      throw new ParameterError("share", share, { allowed: "above 0, at most 1", fix: 'write it as in "1/3"' });
    }
    if (candidates !== undefined) this.#check(candidates);
  }

  #check(/** @type {unknown} */ candidates) {
    if (!Array.isArray(candidates)) throw new WireError("candidates", candidates, { allowed: "a list of values", fix: "publish it again" });
    const contents = candidates.map((plain) => this.spec.domain.content(fromPlain(plain)));
    if (new Set(contents.map((content) => (content instanceof Uint8Array ? toHex(content) : content))).size < contents.length) {
      throw new DomainError("candidates", candidates, { allowed: "each candidate once", fix: "drop the repetition" });
    }
  }

  /** One person's report, under the seed that was assigned to it, if any. */
  async answer(/** @type {unknown} */ value, /** @type {Source} */ source = SYSTEM, /** @type {bigint[]} */ seed = []) {
    return this.spec.randomize(await this.encoder.encode(value, source), seed.length ? new Assigned(seed, source) : source);
  }
}

/** Questions asked at the same time, of disjoint groups of people: those whose tickets come after the share `first`. */
export class Round {
  constructor(/** @type {unknown} */ questions, /** @type {unknown} */ first) {
    if (!Array.isArray(questions)) throw new WireError("questions", questions, { allowed: "a list", fix: "publish it again" });
    reading("questions", questions, "a valid round", () => {
      this.questions = Object.freeze(questions.map((data) => Object.freeze(new Question(data))));
      const names = this.questions.map(({ name }) => name);
      if (!names.length || new Set(names).size < names.length) {
        throw new ParameterError("questions", names, { allowed: "one or more, with different names", fix: "rename one of them" });
      }
      const shares = [readShare(first), ...this.questions.map(({ share }) => share)];
      const scale = shares.reduce((multiple, [, denominator]) => leastCommonMultiple(multiple, denominator), 1n);
      let sum = 0n;
      /** Where the questions' intervals begin on the round's own scale, and at last where they end. */
      this.edges = shares.map(([numerator, denominator]) => (sum += (numerator * scale) / denominator));
      if (sum > scale)
        throw new ParameterError("shares", questions, { allowed: "a sum of at most 1", fix: "lower the shares: each person answers one question" });
      if (scale > LARGEST_SCALE)
        throw new ParameterError("shares", scale, { allowed: `at most ${LARGEST_SCALE}`, fix: "use rounder shares" });
      /** The smallest scale on which all shares are whole: tickets are drawn below it. */
      this.scale = Number(scale);
    });
    Object.freeze(this);
  }

  /** The question for the holder of a ticket that was drawn below a scale; null for those who are not asked now. */
  questionOf(/** @type {number} */ ticket, /** @type {number} */ scale = this.scale) {
    const starts = this.edges.map((edge) => (edge * BigInt(scale)) / BigInt(this.scale));
    return this.questions.find((_, i) => starts[i] <= BigInt(ticket) && BigInt(ticket) < starts[i + 1]) ?? null;
  }
}

/**
 * A share as canonical JSON carries it: a short fraction, or nothing.
 *
 * @returns {Rational}
 */
export function readShare(/** @type {unknown} */ text) {
  if (typeof text === "string" && /^(0|[1-9][0-9]{0,9}(\/[1-9][0-9]{0,9})?)$/.test(text)) {
    const [numerator, denominator = "1"] = text.split("/");
    return reduced([BigInt(numerator), BigInt(denominator)]);
  }
  throw new WireError("share", text, { allowed: "a fraction of short integers", fix: 'write it as in "1/3"' });
}

/** Whether a share is spelled in lowest terms. */
export function isReduced(/** @type {string} */ text) {
  const [numerator, denominator] = readShare(text);
  return text === (denominator === 1n ? `${numerator}` : `${numerator}/${denominator}`);
}

function leastCommonMultiple(/** @type {bigint} */ a, /** @type {bigint} */ b) {
  return a * reduced([b, a])[0];
}
