/**
 * Seals: a report in one locked box for the collector, in one more for each shuffler on its way. Python's `contract/sealed` has the layout.
 *
 * A box is version, key id, task id and period, then the locked part, which is bound to them and to the role of its opener. Inside the box for
 * the analyst is the envelope, then zeros up to the task's size. Inside the box for a shuffler are the route (a digest of the keys of all
 * boxes further in), for the last shuffler the token and the crowd where the task has them, and the next box. All seals of a task have one
 * length: it tells nothing about an answer.
 */

import { concat, sameBytes, toHex, utf8 } from "./bytes.js";
import { MEDIA_TYPE, openBatch, packEnvelope } from "./envelope.js";
import { ParameterError } from "./errors.js";
import { hpkeSeal } from "./hpke.js";
import { sha256 } from "./platform.js";

/** @typedef {import("./envelope.js").Envelope} Envelope */
/** @typedef {import("./notice.js").KeyNotice} KeyNotice */
/** @typedef {import("./task.js").Task} Task */
/** @typedef {Readonly<{analyst: KeyNotice, shufflers: readonly KeyNotice[]}>} Keys what a report is sealed for */
/** @typedef {() => Promise<CryptoKeyPair | undefined>} Ephemeral the next ephemeral key, for vectors */

/** What seals are called in HTTP: for each, 4 bytes with its length, then the seal. */
export const SEALS_TYPE = "application/vnd.deniable.seals.v1";
const VERSION = 1;
const INFO = utf8("deniable sealed 1\n");
const CROWD = utf8("deniable crowd 1\n");
const ROLES = ["analyst", "shuffler"];
const NOTHING = new Uint8Array();
/** Under which name the ledger keeps the address of the shuffler that reports are sent to. */
const RELAY = "first shuffler";

/**
 * An envelope sealed for the analyst, and that for each shuffler, the last one first: what the first shuffler gets.
 *
 * @param {Task} task
 * @param {Envelope} envelope
 * @param {Keys} keys
 * @param {Ephemeral} ephemeral
 */
export async function sealReport(task, envelope, { analyst, shufflers }, ephemeral = async () => undefined) {
  const { size, shufflers: relays, threshold } = /** @type {import("./mixing.js").Mixing} */ (task.mixing);
  const packed = packEnvelope(envelope);
  if (!sameBytes(envelope.task, task.id) || packed.length > size || shufflers.length !== relays.length) {
    const allowed = `at most ${size} bytes for task ${toHex(task.id)}, and keys of ${relays.length} shufflers`;
    throw new ParameterError("envelope", `${packed.length} bytes`, { allowed, fix: "pass an envelope of this task; nothing was sealed" });
  }
  const padded = new Uint8Array(size);
  padded.set(packed);
  let sealed = await seal(analyst, envelope, padded, await ephemeral());
  const route = [analyst.public]; // whole keys: two with one id can be found
  for (const [place, notice] of [...shufflers.entries()].reverse()) {
    const last = place === shufflers.length - 1; // a party before an honest shuffler must not see what the collector sees, too
    const token = (last && task.admission === "token" && envelope.token) || NOTHING;
    const crowd = last && threshold ? await crowdOf(envelope) : NOTHING;
    const through = await sha256(concat(...route));
    const content = concat(through, littleEndian(token.length, 2), token, Uint8Array.of(crowd.length), crowd, sealed);
    sealed = await seal(notice, envelope, content, await ephemeral());
    route.unshift(notice.public);
  }
  return sealed;
}

/** The crowd of a report: those who send the same randomized answer. Made from nothing that the collector will not see. */
async function crowdOf(/** @type {Envelope} */ { task, question, payload }) {
  return sha256(concat(CROWD, task, littleEndian(question, 2), payload));
}

/**
 * @param {KeyNotice} notice
 * @param {Envelope} envelope
 * @param {Uint8Array} content
 * @param {CryptoKeyPair} [ephemeral]
 */
async function seal(notice, { task, period }, content, ephemeral) {
  const header = concat(Uint8Array.of(VERSION), notice.id, task, littleEndian(period, 4));
  const info = concat(INFO, Uint8Array.of(ROLES.indexOf(notice.role)), header);
  return concat(header, await hpkeSeal(notice.public, info, content, { ephemeral }));
}

/**
 * What turns the bytes of an envelope into those that are kept and sent; null where they are sent as they are. It fetches the keys to seal
 * for: nothing was spent if that fails.
 *
 * @param {Task} task
 * @param {import("./board.js").Board} board
 * @param {import("./enrolment.js").Ledger} ledger
 * @param {number} now
 */
export async function sealerFor(task, board, ledger, now) {
  if (!task.mixing) return null;
  const [keys, { url }] = [await board.keys(task, now), task.mixing.shufflers[0]];
  await ledger.remember(task.id, RELAY, () => utf8(url));
  return async (/** @type {Uint8Array} */ packed) => sealReport(task, openBatch(packed)[0], keys);
}

/** Whether the reports of a task that are kept are seals. */
export async function isSealed(/** @type {Uint8Array} */ task, /** @type {import("./enrolment.js").Ledger} */ ledger) {
  return (await ledger.recall(task, RELAY)) !== null;
}

/**
 * The request that brings a kept report, the same bytes every time, and the id by which its answer names the report. The address of the
 * shuffler was kept next to the report, so that a resend needs nobody else's answer; it is null where reports go to the collector.
 *
 * @param {Uint8Array} task
 * @param {Uint8Array} report
 * @param {import("./enrolment.js").Ledger} ledger
 */
export async function addressed(task, report, ledger) {
  const relay = await ledger.recall(task, RELAY);
  if (relay === null) return { relay, path: "/v1/reports", body: report, type: MEDIA_TYPE, id: openBatch(report)[0].id };
  const [body, id] = [concat(littleEndian(report.length, 4), report), (await sha256(report)).slice(0, 16)];
  return { relay: new TextDecoder().decode(relay), path: "/v1/seals", body, type: SEALS_TYPE, id };
}

function littleEndian(/** @type {number} */ number, /** @type {number} */ length) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number, true);
  return bytes.subarray(0, length);
}
