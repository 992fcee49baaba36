/** The board: what a collector has published, fetched once, and believed only under its signature. */

import { checkIssuer } from "./admission.js";
import { errorCode, parsed } from "./answer.js";
import { checkAnswerable } from "./answerable.js";
import { readId } from "./budget.js";
import { fromHex, isText, sameBytes, toHex, utf8 } from "./bytes.js";
import { isObject } from "./canonical.js";
import { ProtocolError, WireError } from "./errors.js";
import { readKeys } from "./notice.js";
import { requireSecureContext, sha256 } from "./platform.js";
import { spell } from "./probability.js";
import { OpenedRound } from "./round.js";
import { isSigned, ROUND_CONTEXT, TASK_CONTEXT } from "./signature.js";
import { SYSTEM } from "./source.js";
import { Task } from "./task.js";
import { persist, sleepFor, Transport } from "./transport.js";

/** @typedef {import("./question.js").Round} Round */
/** @typedef {import("./sealing.js").Keys} Keys */
/** @typedef {import("./transport.js").Answer} Answer */
/** @typedef {Readonly<{keys: Keys, since: number, fetched: number}>} KeptKeys */
/** @typedef {Readonly<{period: number, round: Round, scale: number}>} Asked */
/** @typedef {{fetch?: typeof globalThis.fetch, sleep?: import("./transport.js").Sleep, source?: import("./source.js").Source}} Network */

/** Seconds that keys are kept. */
const KEPT = 86_400;

/**
 * A collector's tasks and rounds, shared by any number of reporters.
 *
 * A task never changes and is fetched once. The current round is fetched every time, unless `keepRounds`: then it is kept until `refresh`,
 * for simulations whose devices all live in one page. The keys of shufflers and collector are kept for a period, at most a day, because a
 * key may be withdrawn.
 */
export class Board {
  #transport;
  #fetch;
  #means;
  #keepRounds;
  /** @type {Map<string, Promise<Task>>} */
  #tasks = new Map();
  /** @type {Map<string, Round>} */
  #surveys = new Map();
  /** @type {Map<string, Promise<OpenedRound | null>>} */
  #rounds = new Map();
  /** @type {Map<string, Promise<KeptKeys>>} */
  #keys = new Map();
  /** @type {Map<string, Transport>} */
  #relays = new Map();

  constructor(
    /** @type {string} */ collector,
    /** @type {Network & {keepRounds?: boolean}} */ { fetch, sleep = sleepFor, source = SYSTEM, keepRounds = false } = {},
  ) {
    requireSecureContext("collector");
    this.#transport = new Transport(collector, fetch);
    this.#fetch = fetch;
    this.#means = { sleep, source };
    this.#keepRounds = keepRounds;
  }

  /** The task with this id; WireError if the collector hands out another one, ProtocolError if it has none that a device may answer. */
  async task(/** @type {Uint8Array | string} */ id) {
    return once(this.#tasks, toHex(readId(id)), () => this.#fetchTask(readId(id)));
  }

  /**
   * What a task asks at a time; null before its start, after its end, and while no round is open.
   *
   * @returns {Promise<Asked | null>}
   */
  async asked(/** @type {Task} */ task, /** @type {number} */ now) {
    if (now < task.start || now >= task.end) return null;
    if (task.rounds) {
      const fetched = () => this.#fetchRound(task);
      const opened = await (this.#keepRounds ? once(this.#rounds, toHex(task.id), fetched) : fetched());
      return opened && { period: opened.number, round: opened.round, scale: opened.scale };
    }
    const period = /** @type {number} */ (task.periodAt(now));
    const round = this.#surveys.get(toHex(task.id)) ?? checkQuestions(task, task.survey());
    this.#surveys.set(toHex(task.id), round);
    return { period, round, scale: round.scale };
  }

  /**
   * The keys that a report to a task of shuffle trust is sealed for at a time: the same for all reports of a period. Fetched once for each
   * period, and again after a day.
   *
   * @returns {Promise<Keys>}
   */
  async keys(/** @type {Task} */ task, /** @type {number} */ now) {
    const name = toHex(task.id);
    const since = task.start + (task.periodAt(now) ?? 0) * task.period;
    const latest = () => once(this.#keys, name, async () => ({ keys: await this.#fetchKeys(task, now, since), since, fetched: now }));
    const pending = latest();
    const found = this.#keys.get(name);
    const kept = await pending;
    if (kept.since === since && kept.fetched <= now && now < kept.fetched + KEPT) return kept.keys;
    if (this.#keys.get(name) === found) this.#keys.delete(name); // or else somebody has fetched them meanwhile
    return (await latest()).keys;
  }

  /** Forget the rounds and keys that were kept. */
  refresh() {
    this.#rounds.clear();
    this.#keys.clear();
  }

  /**
   * Post something to the collector, or to the shuffler with an address, patiently; `before` is asked to agree to every attempt.
   *
   * @param {string} path
   * @param {{body: Uint8Array, type: string}} content
   * @param {() => Promise<void>} [before]
   * @param {string | null} [relay]
   */
  async post(path, content, before = async () => {}, relay = null) {
    const transport = relay === null ? this.#transport : this.#relay(relay);
    const attempt = async () => {
      await before();
      return transport.request("POST", path, content);
    };
    return persist(attempt, this.#means);
  }

  #relay(/** @type {string} */ url) {
    const transport = this.#relays.get(url) ?? new Transport(url, this.#fetch);
    this.#relays.set(url, transport);
    return transport;
  }

  async #get(/** @type {string} */ path, transport = this.#transport) {
    return persist(() => transport.request("GET", path), this.#means);
  }

  async #fetchKeys(/** @type {Task} */ task, /** @type {number} */ now, /** @type {number} */ since) {
    const listed = async (/** @type {Transport} */ transport) => {
      const answer = await this.#get("/v1/keys", transport);
      if (answer.status === 200) return answer.body;
      throw new ProtocolError("keys", `status ${answer.status}`, { allowed: "a list of keys to seal for", fix: "try again later" });
    };
    const relays = task.mixing?.shufflers ?? [];
    const analyst = await readKeys(await listed(this.#transport), task.key, now, "analyst", since);
    const shufflers = relays.map(async ({ url, key }) => readKeys(await listed(this.#relay(url)), key, now, "shuffler", since));
    return { analyst, shufflers: await Promise.all(shufflers) };
  }

  async #fetchTask(/** @type {Uint8Array} */ id) {
    const answer = await this.#get(`/v1/tasks/${toHex(id)}`);
    if (answer.status !== 200) throw noAnswer("task", answer, "check the id and the collector's address");
    const [data, signature] = readSigned("task", answer.body);
    if (!sameBytes(await sha256(data), id)) {
      throw new WireError("task", data, { allowed: `the task with id ${toHex(id)}`, fix: "do not answer it: this is another task" });
    }
    const task = await Task.fromJson(data);
    if (!(await isSigned(task.key, TASK_CONTEXT, data, signature))) throw badSignature(signature);
    checkIssuer(task);
    return task;
  }

  async #fetchRound(/** @type {Task} */ task) {
    const answer = await this.#get(`/v1/tasks/${toHex(task.id)}/round`);
    if (answer.status === 404 && errorCode(answer) === "no_round") return null;
    if (answer.status !== 200) throw noAnswer("round", answer, "try again later");
    const [data, signature] = readSigned("round", answer.body);
    if (!(await isSigned(task.key, ROUND_CONTEXT, data, signature))) throw badSignature(signature);
    const opened = OpenedRound.fromJson(data);
    if (!sameBytes(opened.task, task.id)) {
      const allowed = `a round of task ${toHex(task.id)}`;
      throw new WireError("round", toHex(opened.task), { allowed, fix: "do not trust this collector" });
    }
    checkQuestions(task, opened.round);
    checkAnswerable(task, opened.round);
    return opened;
  }
}

/** The questions, if each keeps what the task promises: randomized on the device, at an epsilon of no more than the task's. */
function checkQuestions(/** @type {Task} */ task, /** @type {Round} */ round) {
  for (const { name, epsilon } of /** @type {readonly import("./question.js").Question[]} */ (round.questions)) {
    if (epsilon <= task.epsilon) continue;
    throw new ProtocolError(`question '${name}'`, `epsilon ${spell(epsilon)}, delta 0.0, local model`, {
      allowed: `at most epsilon ${spell(task.epsilon)}, delta 0, local model`,
      fix: "do not answer it: the task promises more",
    });
  }
  return round;
}

/**
 * What is fetched under a key, by the first caller; after a failure it may be tried again.
 *
 * @template T
 * @param {Map<string, Promise<T>>} map
 * @param {string} key
 * @param {() => Promise<T>} fetched
 * @returns {Promise<T>}
 */
async function once(map, key, fetched) {
  const known = map.get(key) ?? fetched();
  map.set(key, known);
  try {
    return await known;
  } catch (error) {
    if (map.get(key) === known) map.delete(key);
    throw error;
  }
}

/**
 * The canonical bytes and the signature in an answer.
 *
 * @returns {[Uint8Array, Uint8Array]}
 */
function readSigned(/** @type {string} */ name, /** @type {Uint8Array} */ body) {
  const content = parsed(body);
  const signature = fromHex(content?.signature);
  if (isObject(content) && isText(content[name]) && signature) return [utf8(content[name]), signature];
  throw new WireError(name, body, { allowed: `${name} and signature in JSON`, fix: "check the collector's address" });
}

function badSignature(/** @type {Uint8Array} */ signature) {
  return new WireError("signature", toHex(signature), {
    allowed: "a signature by the task's own key",
    fix: "do not trust this collector",
  });
}

function noAnswer(/** @type {string} */ name, /** @type {Answer} */ { status }, /** @type {string} */ fix) {
  return new ProtocolError(name, `status ${status}`, { allowed: `a collector that knows the ${name}`, fix });
}
