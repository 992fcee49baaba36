/**
 * The envelope: one report on its way from a device to a collector.
 *
 *     offset    size   field (integers are little-endian)
 *     0         4      length of what follows
 *     4         1      version, 1
 *     5         1      0
 *     6         2      T, length of the token
 *     8         2      question: its place in the round
 *     10        2      stratum
 *     12        4      period, or round of a task of several rounds
 *     16        32     task id
 *     48        16     report id; a resend carries the same one
 *     64        T      token, where the task asks for one
 *     64 + T    ...    payload: the report as its spec encodes it
 */

import { concat } from "./bytes.js";
import { WireError } from "./errors.js";

/** What a batch of envelopes is called in HTTP. */
export const MEDIA_TYPE = "application/vnd.deniable.reports.v1";
const VERSION = 1;
const HEADER = 64;

/**
 * @typedef {{
 *   task: Uint8Array, period: number, question: number, stratum: number, id: Uint8Array, payload: Uint8Array, token?: Uint8Array
 * }} Envelope
 */

/** An envelope as bytes. */
export function packEnvelope(/** @type {Envelope} */ { task, period, question, stratum, id, payload, token = new Uint8Array() }) {
  const fits = (/** @type {unknown} */ number, /** @type {number} */ limit) =>
    Number.isInteger(number) && Number(number) >= 0 && Number(number) < limit;
  const small = [question, stratum, token.length].every((number) => fits(number, 2 ** 16));
  if (task.length !== 32 || id.length !== 16 || !small || !fits(period, 2 ** 32)) {
    const allowed = "a task id of 32 bytes, a report id of 16, numbers that fit";
    throw new WireError("envelope", { task, period, question, stratum, id }, { allowed, fix: "correct it; nothing was packed" });
  }
  const header = new Uint8Array(HEADER);
  const view = new DataView(header.buffer);
  view.setUint32(0, HEADER - 4 + token.length + payload.length, true);
  view.setUint8(4, VERSION);
  [token.length, question, stratum].forEach((number, i) => view.setUint16(6 + 2 * i, number, true));
  view.setUint32(12, period, true);
  header.set(task, 16);
  header.set(id, 48);
  return concat(header, token, payload);
}

/**
 * The envelopes of a batch; WireError if their lengths do not add up, if there are more than so many, or one is of another version.
 *
 * @returns {Required<Envelope>[]}
 */
export function openBatch(/** @type {Uint8Array} */ data, { most = 2 ** 20 } = {}) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const envelopes = [];
  for (let start = 0, stop = 0; start < data.length; start = stop) {
    if (data.length - start < HEADER) throw refusal(start, `${data.length - start} bytes are left`, `${HEADER} or more`);
    const [token, question, stratum] = [6, 8, 10].map((offset) => view.getUint16(start + offset, true));
    const body = start + HEADER + token;
    stop = start + 4 + view.getUint32(start, true);
    if (view.getUint8(start + 4) !== VERSION || view.getUint8(start + 5)) throw refusal(start, "another version", `version ${VERSION}.0`);
    if (stop < body || stop > data.length) throw refusal(start, "another length", "a length that fits its header and the batch");
    if (envelopes.length === most) throw refusal(start, "one more", `at most ${most} reports in a batch`);
    const part = (/** @type {number} */ from, /** @type {number} */ to) => data.slice(from, to);
    envelopes.push({
      task: part(start + 16, start + 48),
      period: view.getUint32(start + 12, true),
      question,
      stratum,
      id: part(start + 48, start + HEADER),
      payload: part(body, stop),
      token: part(start + HEADER, body),
    });
  }
  return envelopes;
}

function refusal(/** @type {number} */ start, /** @type {string} */ received, /** @type {string} */ allowed) {
  return new WireError(`envelope at byte ${start}`, received, { allowed, fix: "send the batch whole; nothing of it was counted" });
}
