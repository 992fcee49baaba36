/** A collector in memory, behind `fetch`: what it answers, and the ways in which a network spoils it. */

import assert from "node:assert/strict";

import { utf8 } from "../src/bytes.js";
import { writeCanonical } from "../src/canonical.js";
import { MEDIA_TYPE, openBatch, toHex } from "../src/index.js";
import { sha256 } from "../src/platform.js";
import { vectors } from "./replay.js";

export const DAY = 86_400;
export const URL_ = "https://collector.example";
const BASE = JSON.parse(vectors("budget").tasks.daily);
const [QUESTION] = BASE.protocol.questions;

/** A key that signs tasks and rounds. */
export async function makeSigner() {
  const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
  const key = toHex(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)));
  const sign = async (context, text) => toHex(new Uint8Array(await crypto.subtle.sign("Ed25519", privateKey, utf8(context + text))));
  return { key, sign };
}

/** A question about a drink, at another epsilon, behind another encoder or over another domain. */
export function question(changes = {}) {
  return { ...QUESTION, ...changes };
}

/** The spec of a mechanism's vectors with this epsilon, for questions that cost more. */
export function specWith(mechanism, test) {
  return vectors(mechanism)
    .cases.map(({ spec }) => JSON.parse(spec))
    .find(({ parameters }) => test(parameters));
}

export class FakeCollector {
  /** A fault is a response in place of the collector's, or one of "no connection" (nothing arrives) and "reply lost" (all arrives). */
  faults = [];
  tasks = new Map();
  rounds = new Map();
  reports = new Map();
  bodies = [];
  requests = [];
  rejects = null;

  constructor(signer) {
    this.signer = signer;
  }

  /** Publish a task: the usual one, with changes. Its id. */
  async publish(changes = {}) {
    const content = { ...BASE, key: this.signer.key, ...changes };
    for (const name of Object.keys(changes)) if (changes[name] === undefined) delete content[name];
    const text = writeCanonical(content);
    const id = toHex(await sha256(utf8(text)));
    this.tasks.set(id, text);
    return id;
  }

  /** A task of rounds about the usual drinks. */
  async publishRounds(changes = {}) {
    const protocol = { protocol: "PEM", domain: QUESTION.spec.parameters.domain };
    return this.publish({ rounds: true, period: 0, answers: 1, default: undefined, protocol, ...changes });
  }

  /** Open a round that asks one share of the people. */
  openRound(id, number, { first = "0", share = "1/2", scale = 2, questions = [question({ share })], task = id } = {}) {
    const text = writeCanonical({ version: 1, task, number, scale, first, questions, state: "00".repeat(32) });
    this.rounds.set(id, text);
  }

  fetch = async (url, { method, body, headers, redirect, credentials }) => {
    assert.deepEqual([redirect, credentials], ["error", "omit"]);
    const path = url.slice(URL_.length);
    this.requests.push(`${method} ${path}`);
    if (method === "POST") return this.take(path, body, headers);
    const [id, more] = path.replace("/v1/tasks/", "").split("/");
    if (!this.tasks.has(id)) return failure(404, "unknown_task");
    if (!more) return this.signed("task", this.tasks.get(id));
    return this.rounds.has(id) ? this.signed("round", this.rounds.get(id)) : failure(404, "no_round");
  };

  async signed(name, text) {
    return Response.json({ [name]: text, signature: await this.signer.sign(`deniable ${name} 1\n`, text) });
  }

  async take(path, body, headers) {
    assert.deepEqual([path, headers], ["/v1/reports", { "content-type": MEDIA_TYPE }]);
    const fault = this.faults.shift();
    if (fault === "no connection") throw new TypeError("fetch failed");
    if (fault instanceof Response) return fault;
    this.bodies.push(toHex(body));
    const [envelope] = openBatch(body);
    if (this.rejects) return Response.json({ rejected: [{ id: toHex(envelope.id), code: this.rejects }] });
    this.reports.set(toHex(envelope.id), envelope);
    if (fault === "reply lost") throw new DOMException("too late", "TimeoutError");
    return new Response(null, { status: 201 });
  }

  /** How often something was asked for. */
  count(text) {
    return this.requests.filter((request) => request.includes(text)).length;
  }
}

export function failure(status, code, headers = {}) {
  return Response.json({ error: { code, message: "as the code says" } }, { status, headers });
}
