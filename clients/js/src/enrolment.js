/**
 * A device's tokens: drawn, signed unseen in exchange for a code, kept in the ledger, and put on reports.
 *
 * What was drawn is kept before anything is sent, so that after a crash or a lost answer the very same request is made again, and the issuer
 * gives the same answer. The first answer to a task takes the first token, the second the second: which one is settled by the ledger, in the
 * step that also records the report, and a report that is sent again carries the token that it had.
 */

import { checkIssuer } from "./admission.js";
import { parsed } from "./answer.js";
import { assignedSeed } from "./assigned.js";
import { blind, drawBytes, finalize } from "./blind_rsa.js";
import { concat, fromHex, toHex, utf8 } from "./bytes.js";
import { packEnvelope } from "./envelope.js";
import { ParameterError, ProtocolError, WireError } from "./errors.js";
import { hmacSha256, sha256 } from "./platform.js";

/** @typedef {import("./envelope.js").Envelope} Envelope */
/** @typedef {import("./task.js").Task} Task */
/** @typedef {import("./indexeddb.js").IndexedDBLedger | import("./ledger.js").MemoryLedger} Ledger */
/** @typedef {(place: number) => Uint8Array} Make the bytes of a report, given how many answers the task had before; at once */

/** Under which names the ledger keeps them, before and after they are signed. */
const DRAWN = "drawn tokens";
const TOKENS = "tokens";
const NUMBER_BYTES = 32;
const MODULUS_BYTES = 256;
const TOKEN_BYTES = NUMBER_BYTES + MODULUS_BYTES;
/** A number, what undoes its blinding, and what the issuer gets to see. */
const DRAWN_BYTES = NUMBER_BYTES + 2 * MODULUS_BYTES;
const SECRET_MARK = "ds_";
const SIGNED = utf8("deniable token 1\n");
const SPENT = utf8("deniable spend 1\n");

/**
 * Exchange a code for tokens and keep them; nothing if they are there already.
 *
 * @param {Task} task
 * @param {string} code
 * @param {Ledger} ledger
 * @param {(body: Uint8Array) => Promise<import("./transport.js").Answer>} post
 * @param {import("./source.js").Source} source
 */
export async function enrol(task, code, ledger, post, source) {
  if (task.admission !== "token")
    throw new ParameterError("task", task.name, { allowed: "a task with one-time tokens", fix: "report without enrolling" });
  checkIssuer(task);
  if ((await ledger.recall(task.id, TOKENS)) !== null) return;
  const drawn = cut(await ledger.remember(task.id, DRAWN, () => drawTokens(task, source)), DRAWN_BYTES);
  const blinded = drawn.map((part) => toHex(part.subarray(-MODULUS_BYTES)));
  const answer = await post(utf8(JSON.stringify({ code: code.trim(), blinded })));
  if (answer.status !== 200) {
    const allowed = "a code of this task that is still good";
    throw new ProtocolError("code", `status ${answer.status}`, { allowed, fix: "check the code" });
  }
  const listed = parsed(answer.body)?.signatures;
  const signatures = Array.isArray(listed) ? listed.map(fromHex) : [null];
  if (signatures.includes(null))
    throw new WireError("answer", answer.body, { allowed: "a list of signatures", fix: "check the collector's address" });
  if (signatures.length !== drawn.length)
    throw new WireError("signatures", signatures.length, { allowed: `${drawn.length}`, fix: "do not trust this collector" });
  const tokens = await Promise.all(drawn.map((part, i) => tokenOf(task, part, /** @type {Uint8Array} */ (signatures[i]))));
  await ledger.remember(task.id, TOKENS, () => concat(...tokens));
}

/**
 * What turns this device's reports into bytes that are counted; an error if it lacks what the task asks for.
 *
 * @param {Task} task
 * @param {Ledger} ledger
 * @param {string | null | undefined} secret
 * @returns {Promise<(envelope: Envelope) => Promise<Make>>}
 */
export async function stampFor(task, ledger, secret) {
  if (task.admission === "open") return async (envelope) => () => packEnvelope(envelope);
  if (task.admission === "secret") {
    const shared = readSecret(secret);
    return async (envelope) => {
      const token = await prove(shared, envelope);
      return () => packEnvelope({ ...envelope, token });
    };
  }
  const tokens = await tokensOf(task, ledger);
  return async (envelope) => {
    const ids = await Promise.all(tokens.map((token) => spendId(token.subarray(0, NUMBER_BYTES))));
    return (place) => packEnvelope({ ...envelope, id: ids[place], token: tokens[place] });
  };
}

/**
 * The seed that is assigned to a report, given its mechanism and how many answers the task had before; empty if it draws its own.
 *
 * @param {Task} task
 * @param {Ledger} ledger
 * @returns {Promise<((spec: import("./spec.js").Spec, place: number) => Promise<bigint[]>) | null>} null where every device draws
 */
export async function seedsFor(task, ledger) {
  if (task.seeds !== "assigned") return null;
  const tokens = await tokensOf(task, ledger);
  return async (spec, place) => (place < tokens.length ? assignedSeed(tokens[place], spec.assignedWords) : []); // the ledger refuses the rest
}

/** What the issuer signs for one token. */
export function tokenMessage(/** @type {Uint8Array} */ task, /** @type {Uint8Array} */ number) {
  return concat(SIGNED, task, number);
}

/** The id of the one report that a token can be spent on. */
export async function spendId(/** @type {Uint8Array} */ number) {
  return (await sha256(concat(SPENT, number))).slice(0, 16);
}

/** The token of a report to a task with a shared secret; it covers the whole report. */
export async function prove(/** @type {Uint8Array} */ secret, /** @type {Envelope} */ envelope) {
  return hmacSha256(secret, packEnvelope({ ...envelope, token: new Uint8Array() }));
}

/** The secret that those who take part share, as the operator handed it out; never shown in an error. */
export function readSecret(/** @type {string | null | undefined} */ text) {
  const digits = (text ?? "").trim();
  const found = fromHex((digits.startsWith(SECRET_MARK) ? digits.slice(SECRET_MARK.length) : digits).toLowerCase());
  if (found?.length === 32) return found;
  const received = text == null ? "none" : `${text.length} characters`;
  throw new ParameterError("secret", received, { allowed: `${SECRET_MARK} and 64 digits`, fix: "pass secret as given out" });
}

async function tokensOf(/** @type {Task} */ task, /** @type {Ledger} */ ledger) {
  const kept = await ledger.recall(task.id, TOKENS);
  if (kept !== null) return cut(kept, TOKEN_BYTES);
  throw new ProtocolError("tokens", "none", { allowed: `a device that enrolled for '${task.name}'`, fix: "call enrol(code) first" });
}

async function drawTokens(/** @type {Task} */ task, /** @type {import("./source.js").Source} */ source) {
  const drawn = [];
  for (let i = 0; i < task.answers; i++) {
    const number = drawBytes(source, NUMBER_BYTES);
    const { message, inverse } = await blind(task.issuer, tokenMessage(task.id, number), source);
    drawn.push(number, inverse, message);
  }
  return concat(...drawn);
}

async function tokenOf(/** @type {Task} */ task, /** @type {Uint8Array} */ drawn, /** @type {Uint8Array} */ signature) {
  const number = drawn.subarray(0, NUMBER_BYTES);
  const blinded = { message: drawn.subarray(-MODULUS_BYTES), inverse: drawn.subarray(NUMBER_BYTES, -MODULUS_BYTES) };
  return concat(number, await finalize(task.issuer, tokenMessage(task.id, number), signature, blinded));
}

function cut(/** @type {Uint8Array} */ data, /** @type {number} */ size) {
  return Array.from({ length: data.length / size }, (_, i) => data.slice(size * i, size * (i + 1)));
}
