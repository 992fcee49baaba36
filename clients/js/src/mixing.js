/**
 * Mixing: through whom the reports of a task of shuffle trust go, and what is claimed about a shuffled batch.
 *
 * The claim needs one honest shuffler, a collector that is somebody else, and honest people. The task's own epsilon is local: it holds
 * no matter who is dishonest, and it is what a device's ledger pays.
 */

import { fromHex, sameBytes } from "./bytes.js";
import { isObject, readObject } from "./canonical.js";
import { ParameterError, reading, WireError } from "./errors.js";
import { readDecimal, readEpsilon } from "./probability.js";

/** @typedef {Readonly<{url: string, key: Uint8Array}>} Relay a shuffler: where it is reached, and the Ed25519 key by which it is known */
/**
 * @typedef {Readonly<{
 *   epsilon: number, delta: number, minimum: number, shufflers: readonly Relay[], size: number, honest: string,
 *   threshold: Readonly<{minimum: number, sigma: string}> | null
 * }>} Mixing
 */

const MOST_SHUFFLERS = 8;
const MOST_REPORTS = 2 ** 17;
const LARGEST_MINIMUM = 2 ** 16 - 1;
const LEAST_LATE = 5;
const SMALLEST_SIZE = 64;
const LARGEST_SIZE = 2 ** 16;
const URL_ = /^https?:\/\/[A-Za-z0-9.:[\]_-]{1,200}(\/[A-Za-z0-9._~-]+)*$/;
const DECIMAL = /^(0|[1-9][0-9]{0,5})(\.[0-9]{0,5}[1-9])?$/;
const NAMES = ["epsilon", "delta", "minimum", "shufflers", "size", "honest"];

/**
 * The mixing of a task; null where it has none.
 *
 * @param {Record<string, any>} content
 * @returns {Mixing | null}
 */
export function readMixing(content) {
  if (!("mixing" in content)) return null;
  const data = readObject("mixing", content.mixing, NAMES, ["threshold"]);
  return reading("mixing", data, "a valid mixing", () => {
    const delta = readDecimal("delta", data.delta);
    if (!(delta > 0 && delta < 1)) throw new ParameterError("delta", delta, { allowed: "a number between 0 and 1", fix: "write it as in 1e-06" });
    return Object.freeze({
      epsilon: readEpsilon(data.epsilon),
      delta,
      minimum: whole("minimum", data.minimum, 2, LARGEST_MINIMUM),
      shufflers: readRelays(data.shufflers),
      size: whole("size", data.size, SMALLEST_SIZE, LARGEST_SIZE),
      honest: readShare(data.honest),
      threshold: "threshold" in data ? readThreshold(data.threshold) : null,
    });
  });
}

/** Throw if a task's trust and mixing do not fit, or if something sent in the clear would split the crowd. */
export function checkMixing(/** @type {import("./task.js").Task} */ task) {
  const { model, mixing, protocol, key } = task;
  if (!["local", "shuffle"].includes(model) || (model === "shuffle") !== Boolean(mixing)) {
    throw new ParameterError("model", model, { allowed: '"local", or "shuffle" with a mixing', fix: "publish it again" });
  }
  if (!mixing) return;
  const single = isObject(protocol) && Array.isArray(protocol.questions) && protocol.questions.length === 1;
  const plain = !task.rounds && single && !task.strata.length && task.answersPerPeriod === 1 && task.seeds === "own";
  if (task.admission === "secret") {
    const allowed = "no shared secret: a collector that gives each person another one knows whose a report is";
    throw new ParameterError("admission", task.admission, { allowed, fix: 'use "token", or "open"' });
  }
  if (task.late < LEAST_LATE) {
    const allowed = `${LEAST_LATE} seconds or more under shuffle trust: the last batch of a period comes after it`;
    throw new ParameterError("late", task.late, { allowed, fix: "publish it again" });
  }
  if (!plain || mixing.shufflers.some((relay) => sameBytes(relay.key, key))) {
    const allowed = "one question, one answer in a period, no strata, own seeds, shufflers that are not the collector";
    throw new ParameterError("mixing", task.name, { allowed, fix: "publish it again: anything sent in the clear splits the crowd" });
  }
}

/** @returns {readonly Relay[]} */
function readRelays(/** @type {any} */ listed) {
  const relays = (Array.isArray(listed) ? listed : []).map((item) => {
    const { url, key } = readObject("shuffler", item, ["url", "key"]);
    return Object.freeze({ url, key: fromHex(key) ?? new Uint8Array() });
  });
  const sound = relays.every(({ url, key }) => typeof url === "string" && URL_.test(url) && key.length === 32);
  const distinct = new Set(relays.map(({ key }) => `${key}`)).size === relays.length;
  if (sound && distinct && relays.length >= 1 && relays.length <= MOST_SHUFFLERS) return Object.freeze(relays);
  throw new ParameterError("shufflers", listed, {
    allowed: `1 to ${MOST_SHUFFLERS} shufflers with addresses and different Ed25519 keys`,
    fix: "publish it again",
  });
}

function readThreshold(/** @type {unknown} */ data) {
  const { minimum, sigma } = readObject("threshold", data, ["minimum", "sigma"]);
  if (typeof sigma === "string" && DECIMAL.test(sigma) && sigma !== "0") {
    return Object.freeze({ minimum: whole("threshold minimum", minimum, 1, MOST_REPORTS), sigma });
  }
  throw new ParameterError("threshold sigma", sigma, { allowed: "a decimal above 0 as text", fix: 'write it as in "2.5"' });
}

/** An exact fraction in text, in lowest terms, above 0 and at most 1. */
function readShare(/** @type {unknown} */ honest) {
  const [, over, under = "1"] = (typeof honest === "string" && /^([1-9][0-9]{0,4000})(?:\/([1-9][0-9]{0,4000}))?$/.exec(honest)) || [];
  if (over !== undefined) {
    let [a, b] = [BigInt(over), BigInt(under)];
    const lowest = a <= b && (under !== "1" || honest === over);
    while (b) [a, b] = [b, a % b];
    if (lowest && a === 1n) return /** @type {string} */ (honest);
  }
  throw new WireError("honest", honest, { allowed: 'a fraction in lowest terms above 0, at most "1"', fix: 'write it as in "9/10"' });
}

function whole(/** @type {string} */ name, /** @type {unknown} */ value, /** @type {number} */ low, /** @type {number} */ high) {
  if (Number.isInteger(value) && Number(value) >= low && Number(value) <= high) return /** @type {number} */ (value);
  throw new ParameterError(name, value, { allowed: `an integer from ${low} to ${high}`, fix: "publish it again" });
}
