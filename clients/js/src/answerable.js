/**
 * Rounds that everyone can answer: whether a report arrives at all must not say what its sender holds.
 *
 * A round comes later than the task that a person agreed to. Were it answerable by some values only, a device that holds another one would
 * stay silent, and its silence would be the answer, without noise and free of charge. So a device looks at the round before it looks at the
 * value: only what takes every value of the task's own domain is answered, by anybody. Rounds count, with fresh noise: a permanent answer
 * that was paid for in one round would answer the next one's different question about the same classes free of charge.
 */

import { isObject } from "./canonical.js";
import { Bytes, Integers, Text } from "./domain.js";
import { domainFromJson } from "./domain_json.js";
import { Fragment, Identity, Prefix, Segments } from "./encoders.js";
import { ProtocolError, reading } from "./errors.js";
import { Interval, Parity } from "./lines.js";
import { Longitudinal } from "./mechanisms/longitudinal.js";
import { NumericSpec } from "./mechanisms/numeric.js";

/** @typedef {import("./domain.js").Domain} Domain */

const LONGEST_NUMBER = 64;

/** What an answer to a task of rounds may be; WireError if its protocol does not say. */
export function taskDomain(/** @type {import("./task.js").Task} */ { protocol }) {
  const domain = isObject(protocol) ? protocol.domain : undefined;
  return reading("domain", domain, "a valid domain", () => domainFromJson(domain));
}

/** ProtocolError unless every question of a round has an answer for every value of the task's own domain. */
export function checkAnswerable(/** @type {import("./task.js").Task} */ task, /** @type {import("./question.js").Round} */ round) {
  const domain = taskDomain(task);
  for (const question of /** @type {readonly import("./question.js").Question[]} */ (round.questions)) {
    if (takesAll(question, domain)) continue;
    const { encoder, spec } = question;
    throw new ProtocolError(
      `question '${question.name}'`,
      `${encoder.constructor.name} before ${spec.mechanism} over ${spec.domain.description}`,
      {
        allowed: `what every value of the task can be asked: ${domain.description}`,
        fix: "who answers would show what they hold; do not answer it",
      },
    );
  }
}

/** Whether a question can be answered by every value of a domain. */
export function takesAll(/** @type {import("./question.js").Question} */ { encoder, spec }, /** @type {Domain} */ domain) {
  const asked = spec.domain;
  // Some numbers have no answer; and what is kept about one round must not be asked about in the next.
  if (spec instanceof NumericSpec || spec instanceof Longitudinal) return false;
  if (encoder instanceof Identity) return asked.canonical === domain.canonical;
  if (encoder instanceof Interval || encoder instanceof Parity) {
    return encoder.domain.canonical === domain.canonical && countsTo(asked, encoder.inputs);
  }
  const cuts = encoder instanceof Prefix || encoder instanceof Fragment || encoder instanceof Segments;
  if (!cuts || encoder.domain.canonical !== domain.canonical) return false;
  if (encoder instanceof Fragment) return countsTo(asked, encoder.inputs);
  if (encoder.candidates) {
    const others = BigInt(encoder.candidates.size + 1); // one more for the others, where there are any
    return countsTo(asked, others < encoder.inputs ? others : encoder.inputs);
  }
  if (encoder instanceof Prefix && encoder.length > LONGEST_NUMBER) {
    // Text, though a kind of Bytes, takes no bytes.
    return asked instanceof Bytes && !(asked instanceof Text) && Math.ceil(encoder.length / 8) <= asked.maxLength;
  }
  return countsTo(asked, encoder.inputs);
}

/** Whether the numbers below so many all lie in a domain. */
function countsTo(/** @type {Domain} */ asked, /** @type {bigint} */ inputs) {
  return asked instanceof Integers && asked.low <= 0n && inputs - 1n <= asked.high;
}
