/** The reporter: a person's answer, randomized on the device, paid for in its ledger, and sent. */

import { errorCode, parsed } from "./answer.js";
import { taskDomain } from "./answerable.js";
import { Board } from "./board.js";
import { noConsent, readId } from "./budget.js";
import { sameBytes, toHex } from "./bytes.js";
import { drawBytes } from "./blind_rsa.js";
import { Diary, Outdated } from "./diary.js";
import { enrol, seedsFor, stampFor } from "./enrolment.js";
import { PENDING, REFUSED, SENT } from "./entry.js";
import { openBatch } from "./envelope.js";
import { DomainError, ProtocolError, TransportError, WireError } from "./errors.js";
import { requireSecureContext } from "./platform.js";
import { addressed, isSealed, sealerFor } from "./sealing.js";
import { SYSTEM } from "./source.js";
import { isTemporary } from "./transport.js";

/** @typedef {import("./board.js").Asked} Asked */
/** @typedef {import("./enrolment.js").Ledger} Ledger */
/** @typedef {import("./entry.js").Entry} Entry */
/** @typedef {Readonly<import("./question.js").Question>} Question */
/** @typedef {import("./task.js").Task} Task */
/** @typedef {import("./transport.js").Answer} Answer */
/** @typedef {Readonly<Pick<Entry, "state" | "code" | "period" | "epsilon" | "number">>} Receipt */

const CODE = /^[a-z][a-z0-9_]{0,39}$/;

/** One device's part in one task of one collector. */
export class Reporter {
  #board;
  #secret;
  #clock;
  #source;
  /** @type {Map<number, Uint8Array>} the envelopes inside the seals that this reporter made */
  #drawn = new Map();

  /**
   * @param {string | Board} collector its address, or a board that many reporters share
   * @param {import("./board.js").Network & {
   *   task: Uint8Array | string, ledger: Ledger, strata?: Record<string, string>, secret?: string | null, clock?: () => number
   * }} options
   */
  constructor(collector, { task, ledger, strata = {}, secret = null, clock = () => Date.now() / 1000, fetch, sleep, source = SYSTEM }) {
    requireSecureContext("reporter");
    this.taskId = readId(task);
    this.ledger = ledger;
    this.strata = { ...strata };
    this.#secret = secret;
    this.#board = collector instanceof Board ? collector : new Board(collector, { fetch, sleep, source });
    this.#clock = clock;
    this.#source = source;
  }

  /** The task, fetched and verified: what to show to a person before asking for consent. */
  async task() {
    return this.#board.task(this.taskId);
  }

  /**
   * Redeem a code for the one-time tokens of this task, which the ledger keeps; nothing if it has them already.
   *
   * Do this some time before the first report: anyone who sees both arrive together can guess that they belong together. After a network
   * error you can call it again with the same code. ProtocolError if the collector does not take the code.
   */
  async enrol(/** @type {string} */ code) {
    await this.#requireConsent();
    const path = `/v1/tasks/${toHex(this.taskId)}/tokens`;
    const post = (/** @type {Uint8Array} */ body) => this.#board.post(path, { body, type: "application/json" });
    await enrol(await this.task(), code, this.ledger, post, this.#source);
  }

  /**
   * Randomize an answer, pay for it and send it. Null, and nothing spent, if nothing is asked of this device now.
   *
   * That is before the task's start, after its end, while no round is open, and in rounds that ask others. A value of null is no answer:
   * the task's default is sent in its place, randomized like any other, or nothing if it has none. BudgetExceeded if the person did not
   * agree or a cap is reached. With `send: false` the report waits in the ledger for `flush`.
   *
   * @returns {Promise<Receipt | null>}
   */
  async report(/** @type {any} */ value, { send = true } = {}) {
    await this.#requireConsent();
    const [task, now] = [await this.task(), this.#clock()];
    const answer = value ?? task.default ?? null;
    if (answer === null) return null;
    if (task.rounds) taskDomain(task).content(answer); // the app's error, and the same one whatever the round asks
    const asked = await this.#board.asked(task, now);
    const question = asked && (await this.#question(asked));
    if (!asked || !question) return null;
    const entry = await this.#spend(task, asked, question, answer, now);
    return receiptOf(send ? await this.#send(entry) : entry);
  }

  /** Send what is still pending of this task, the same bytes as before; stop at the first that gets no answer. */
  async flush() {
    const receipts = [];
    for (const entry of await this.ledger.pending(this.taskId)) {
      receipts.push(receiptOf(await this.#send(entry)));
      if (receipts.at(-1)?.state === PENDING) break;
    }
    return receipts;
  }

  /** The envelope of an entry of this task, for a person to look at; null if it is sealed, and not by this reporter: nobody here can open it. */
  async opened(/** @type {Entry} */ { number, report }) {
    const packed = this.#drawn.get(number) ?? ((await isSealed(this.taskId, this.ledger)) ? null : report);
    return packed && openBatch(packed)[0];
  }

  async #requireConsent() {
    if (!(await this.ledger.consented(this.taskId))) throw noConsent(toHex(this.taskId));
  }

  /** The question for this device, by a ticket drawn once for the whole task; where all get the same one, none is drawn. */
  async #question(/** @type {Asked} */ { round, scale }) {
    const ticket = scale > 1 ? await this.ledger.ticket(this.taskId, () => this.#source.below(scale)) : 0;
    return round.questionOf(ticket, scale);
  }

  /**
   * The entry of a report that is paid for. Whatever it was prepared from may have changed when the ledger looks: then it is prepared anew.
   *
   * @param {Task} task
   * @param {Asked} asked
   * @param {Question} question
   * @param {unknown} answer
   * @param {number} when
   * @returns {Promise<Entry>}
   */
  async #spend(task, { period, round }, question, answer, when) {
    const stratum = task.stratum(this.strata);
    const stamp = await stampFor(task, this.ledger, this.#secret);
    const seal = await sealerFor(task, this.#board, this.ledger, when);
    const place = /** @type {readonly Question[]} */ (round.questions).indexOf(question);
    for (;;) {
      const { report, diary, follows } = await this.#prepare(task, question, answer);
      const [id, payload] = [drawBytes(this.#source, 16), question.spec.encode(report)];
      const stamped = await stamp({ task: task.id, period, question: place, stratum, id, payload });
      const sealed = seal && (await this.#sealed(task, stamped, seal));
      const make = (/** @type {number} */ before) => {
        if (!follows(before) || (sealed && sealed.place !== before)) throw new Outdated("report");
        return sealed ? sealed.bytes : stamped(before);
      };
      try {
        const entry = await this.ledger.spend(task, { period, epsilon: question.epsilon, when, make, diary });
        if (sealed) this.#drawn.set(entry.number, sealed.packed);
        return entry;
      } catch (error) {
        if (!(error instanceof Outdated)) throw error; // another tab was faster
      }
    }
  }

  /**
   * A report sealed as the answer that it will be: WebCrypto answers later, and no step of a ledger may wait.
   *
   * @param {Task} task
   * @param {import("./enrolment.js").Make} stamped
   * @param {(packed: Uint8Array) => Promise<Uint8Array>} seal
   */
  async #sealed(task, stamped, seal) {
    const place = await this.#answered(task);
    const packed = place < task.answers ? stamped(place) : new Uint8Array(); // the ledger refuses the rest
    return { place, packed, bytes: packed.length ? await seal(packed) : packed };
  }

  /** How many answers a task has by now. */
  async #answered(/** @type {Task} */ task) {
    return (await this.ledger.entries()).filter((entry) => sameBytes(entry.task, task.id)).length;
  }

  /**
   * A report with the diary that it belongs to, if any, and whether it is right after so many answers.
   *
   * @param {Task} task
   * @param {Question} question
   * @param {unknown} answer
   * @returns {Promise<{report: any, diary: Diary | null, follows: (before: number) => boolean}>}
   */
  async #prepare(task, question, answer) {
    const { spec, encoder, name } = question;
    const always = () => true;
    try {
      if (spec.memoized) {
        const diary = await Diary.of(/** @type {import("./mechanisms/longitudinal.js").Longitudinal} */ (spec), await encoder.encode(answer, this.#source), name);
        await diary.open((await this.ledger.kept(task.id))[diary.name] ?? {});
        return { report: await diary.report(this.#source), diary, follows: always };
      }
      const seeds = await seedsFor(task, this.ledger);
      if (!seeds) return { report: await question.answer(answer, this.#source), diary: null, follows: always };
      const place = await this.#answered(task);
      const report = await question.answer(answer, this.#source, await seeds(spec, place));
      return { report, diary: null, follows: (before) => before === place };
    } catch (error) {
      if (!task.rounds || !(error instanceof DomainError)) throw error;
      // The board lets no such round pass, and the value is one of the task's: whatever went wrong is not the app's doing.
      const allowed = "a round that every value of the task can answer";
      throw new ProtocolError(`question '${name}'`, "no answer", { allowed, fix: "do not trust this collector", cause: error });
    }
  }

  /** The entry with what became of it. Whatever is not an answer by the collector, or the shuffler, leaves it pending. */
  async #send(/** @type {Entry} */ entry) {
    try {
      const { relay, path, body, type, id } = await addressed(this.taskId, entry.report, this.ledger);
      // Asked before every attempt: the person may withdraw while this one waits.
      const answer = await this.#board.post(path, { body, type }, () => this.#requireConsent(), relay);
      const [state, code] = outcome(answer, toHex(id));
      return state === PENDING ? entry : this.ledger.settle(entry.number, state, code);
    } catch (error) {
      if (error instanceof TransportError || error instanceof WireError) return entry; // or an answer that only looks like one
      throw error;
    }
  }
}

/** @returns {Receipt} */
function receiptOf(/** @type {Entry} */ { state, code, period, epsilon, number }) {
  return Object.freeze({ state, code, period, epsilon, number });
}

/**
 * What an answer says about a report: its state and code.
 *
 * @returns {[import("./entry.js").State, string]}
 */
function outcome(/** @type {Answer} */ answer, /** @type {string} */ report) {
  if (answer.status === 201) return [SENT, ""];
  if (isTemporary(answer.status)) return [PENDING, ""];
  const isCode = (/** @type {unknown} */ code) => typeof code === "string" && CODE.test(code);
  if (answer.status !== 200) return isCode(errorCode(answer)) ? [REFUSED, `http_${answer.status}`] : [PENDING, ""]; // a proxy says nothing
  const rejected = parsed(answer.body)?.rejected;
  const listed =
    Array.isArray(rejected) && rejected.every((item) => item !== null && typeof item === "object" && "id" in item && "code" in item);
  const found = listed ? rejected.findLast((item) => item.id === report) : undefined;
  if (!listed || (found && !isCode(found.code))) {
    throw new WireError("answer", answer.body, { allowed: "the list of rejected reports", fix: "check the collector's address" });
  }
  return found ? [REFUSED, found.code] : [SENT, ""];
}
