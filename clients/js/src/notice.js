/**
 * Key notices: the short-lived keys that reports are sealed for, each signed by the party that will open the seals.
 *
 * A collector (the analyst) and each shuffler have a lasting Ed25519 identity, which stands in the task, and X25519 keys that come and go.
 * A notice says which key, for which role, from when to when, in seconds since 1970. A device takes the
 * one that is good when the period of its report begins: so all reports of a period are sealed for one key, and no crowd is split
 * by when a device fetched it. The key may have ended since.
 */

import { parsed } from "./answer.js";
import { fromHex, isText, sameBytes, toHex, utf8 } from "./bytes.js";
import { parseCanonical, readNumber, readObject } from "./canonical.js";
import { ProtocolError, WireError } from "./errors.js";
import { sha256 } from "./platform.js";
import { isSigned, KEY_CONTEXT } from "./signature.js";

/** @typedef {"analyst" | "shuffler"} Role who opens a seal */
/** @typedef {Readonly<{role: Role, public: Uint8Array, start: number, end: number, id: Uint8Array}>} KeyNotice */

const VERSION = 1;
const MOST_NOTICES = 32;
const LAST_SECOND = 2 ** 40;

/**
 * The notice, if the identity signed it for this role; WireError if it is forged, damaged or for another role. It may have ended.
 *
 * @param {Uint8Array} data
 * @param {Uint8Array} signature
 * @param {Uint8Array} key
 * @param {Role} role
 * @returns {Promise<KeyNotice>}
 */
async function readSigned(data, signature, key, role) {
  if (!(await isSigned(key, KEY_CONTEXT, data, signature))) {
    const allowed = `a signature by the ${role} that the task names`;
    throw new WireError("signature", toHex(signature), { allowed, fix: "do not seal for it" });
  }
  const content = readObject("notice", parseCanonical(data), ["version", "role", "public", "start", "end"]);
  const [start, end] = [readNumber("start", content.start), readNumber("end", content.end)];
  const found = fromHex(content.public);
  if (content.version !== VERSION || content.role !== role || found?.length !== 32 || !(0 <= start && start < end && end <= LAST_SECOND)) {
    throw new WireError("notice", data, { allowed: `a key of the ${role}, of version ${VERSION}`, fix: "do not seal for it" });
  }
  return Object.freeze({ role, public: found, start: Number(start), end: Number(end), id: (await sha256(found)).slice(0, 8) });
}

/**
 * The key to seal for, from what `GET /v1/keys` answered, in a period that began at `since`; left out: now.
 *
 * It is the one that ends first of those that were good then; if there was none, the one that started first of those that have since.
 * WireError if anything in it is not signed by the identity for this role; ProtocolError if there is no such key.
 *
 * @param {Uint8Array} body
 * @param {Uint8Array} key
 * @param {number} now
 * @param {Role} role
 * @param {number} [since]
 */
export async function readKeys(body, key, now, role, since = now) {
  const listed = parsed(body)?.keys;
  const pairs = Array.isArray(listed) ? listed.map((item) => [item?.notice, fromHex(item?.signature)]) : [[null, null]];
  if (!pairs.every(([notice, signature]) => isText(notice) && signature)) {
    throw new WireError("keys", body, { allowed: "a list of notices and signatures in JSON", fix: "check the address" });
  }
  if (pairs.length > MOST_NOTICES) {
    throw new WireError("keys", pairs.length, { allowed: `at most ${MOST_NOTICES} notices`, fix: "do not trust this address" });
  }
  const notices = await Promise.all(pairs.map(([notice, signature]) => readSigned(utf8(notice), signature, key, role)));
  const good = notices.filter(({ start, end }) => start <= now && since < end);
  if (!good.length) {
    const allowed = `a key of the ${role} that is good now`;
    throw new ProtocolError("keys", `${pairs.length} that are not`, { allowed, fix: "try again later; check the clock" });
  }
  return good.reduce((first, other) => (isBefore(other, first, since) ? other : first));
}

function isBefore(/** @type {KeyNotice} */ a, /** @type {KeyNotice} */ b, /** @type {number} */ since) {
  const [one, other] = [Math.max(a.start, since), Math.max(b.start, since)];
  if (one !== other) return one < other;
  if (a.end !== b.end) return a.end < b.end;
  if (a.start !== b.start) return a.start < b.start;
  return !sameBytes(a.public, b.public) && toHex(a.public) < toHex(b.public);
}
