/**
 * Rounds that everyone can answer: whether a report arrives at all must not say what its sender holds.
 *
 * A round comes later than the task that a person agreed to. Were it answerable by some values only, a device that holds another one would
 * stay silent, and its silence would be the answer, without noise and free of charge. So a device looks at the round before it looks at the
 * value: only what takes every value of the task's own domain is answered, by anybody. Rounds draw fresh noise: a permanent answer that was
 * paid for in one round would answer the next one's different question about the same classes free of charge.
 */

import { isObject } from "./canonical.js";
import { Cell } from "./cells.js";
import { ClusterSide, Magnitude } from "./clusters.js";
import { isLess, plus } from "./decimal.js";
import { Bytes, Integers, Text } from "./domain.js";
import { domainFromJson } from "./domain_json.js";
import { Attribute, Fragment, Identity, Prefix, Segments } from "./encoders.js";
import { ProtocolError, reading } from "./errors.js";
import { Gradient } from "./gradient.js";
import { Interval, Parity } from "./lines.js";
import { Numbers } from "./numbers.js";
import { whole } from "./rational.js";
import { Record } from "./records.js";
import { HeldCount, Overflow, PadAndSample, SetCode } from "./sets.js";

/** @typedef {import("./domain.js").Domain} Domain */
/** @typedef {import("./encoders.js").Encoder} Encoder */

const LONGEST_NUMBER = 64;
/** Encoders that read some columns of a record. */
const OF_RECORDS = [Cell, Gradient, ClusterSide, Magnitude];
/** Encoders that read a value of their one domain. */
const OF_VALUES = [Prefix, Fragment, Segments, PadAndSample, Overflow, HeldCount, SetCode, Interval, Parity];

/**
 * What an answer to a task of rounds may be; WireError if its protocol does not say.
 *
 * A protocol has a `domain`; or the `columns` of a table, or the `features` of a model and perhaps a `label`: then it is a record.
 */
export function taskDomain(/** @type {{readonly protocol: any}} */ { protocol }) {
  const parts = isObject(protocol) ? protocol : {};
  const said = ["domain", "columns", "features"].filter((name) => Object.hasOwn(parts, name)).join();
  return reading("domain", protocol, "a valid domain", () => {
    if (said === "columns") return new Record(parts.columns);
    if (said === "features") {
      const labelled = Array.isArray(parts.features) && Object.hasOwn(parts, "label");
      return new Record(labelled ? [...parts.features, { name: parts.label, domain: parts.classes }] : parts.features);
    }
    return domainFromJson(said === "domain" ? parts.domain : undefined);
  });
}

/** Throw a ProtocolError unless every question of a round has an answer for every value of the task's own domain. */
export function checkAnswerable(/** @type {import("./task.js").Task} */ task, /** @type {import("./question.js").Round} */ round) {
  const domain = taskDomain(task);
  for (const question of /** @type {readonly import("./question.js").Question[]} */ (round.questions)) {
    if (takesAll(question, domain)) continue;
    const { encoder, spec } = question;
    throw new ProtocolError(
      `question '${question.name}'`,
      `${encoder.constructor.name} before ${spec.mechanism} over ${spec.domain.description}`,
      {
        allowed: `a question that every value of the task can answer: ${domain.description}`,
        fix: "do not answer it: answering at all would show what the respondent holds",
      },
    );
  }
}

/** Whether a question can be answered by every value of a domain. */
export function takesAll(/** @type {import("./question.js").Question} */ { encoder, spec }, /** @type {Domain | Record} */ domain) {
  // What is kept about one round must not be asked about in the next; and some numbers have no answer.
  if (!spec.answersAll) return false;
  if (encoder instanceof Identity) return spec.domain.canonical === domain.canonical;
  if (encoder instanceof Attribute) return domain instanceof Record && domain.holds(encoder.name, spec.domain);
  return reads(encoder, domain) && takesInputs(spec.domain, encoder);
}

/** Whether an encoder has an input for every value of a domain. */
function reads(/** @type {any} */ encoder, /** @type {Domain | Record} */ domain) {
  if (OF_RECORDS.some((kind) => encoder instanceof kind)) {
    const { columns } = /** @type {{columns: import("./records.js").Column[]}} */ (encoder);
    return domain instanceof Record && columns.every((column) => domain.holds(column.name, column.domain));
  }
  return OF_VALUES.some((kind) => encoder instanceof kind) && encoder.domain.canonical === domain.canonical;
}

/** Whether all inputs that an encoder has lie in the domain of a mechanism. */
function takesInputs(/** @type {Domain} */ asked, /** @type {any} */ encoder) {
  if (encoder instanceof Gradient) return spans(asked, -BigInt(encoder.limit), BigInt(encoder.limit));
  if ((encoder instanceof Prefix || encoder instanceof Segments) && encoder.candidates) {
    const others = BigInt(encoder.candidates.size); // one more for the others, where there are any
    return spans(asked, 0n, others < encoder.inputs ? others : encoder.inputs - 1n);
  }
  if (encoder instanceof Prefix && encoder.length > LONGEST_NUMBER) {
    // Text, though a kind of Bytes, takes no bytes.
    return asked instanceof Bytes && !(asked instanceof Text) && Math.ceil(encoder.length / 8) <= asked.maxLength;
  }
  return spans(asked, 0n, encoder.inputs - 1n);
}

/** Whether the integers from low to high all lie in a domain. */
function spans(/** @type {Domain} */ asked, /** @type {bigint} */ low, /** @type {bigint} */ high) {
  if (asked instanceof Numbers && !asked.times) {
    return !isLess(whole(low), asked.start) && !isLess(plus(asked.start, asked.width), whole(high));
  }
  return asked instanceof Integers && asked.low <= low && high <= asked.high;
}
