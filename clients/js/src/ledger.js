/**
 * The privacy ledger: what a device has reported, to whom and at what cost, and the rules that stop it from reporting more.
 *
 * **Consent first**: nothing is spent on a task that the person did not agree to. **Spend, then send**: one atomic step checks the caps and
 * records the expense together with the very bytes to send. A crash after it can lose a report; it cannot repeat one under fresh noise,
 * and a retry sends the recorded bytes again. Epsilons are added as the decimals that they are written as, exactly.
 *
 * Randomizing needs WebCrypto, which answers later, and no step may wait. So a report is randomized before the step, and forgotten if
 * the step refuses: what never left the device cost nothing.
 *
 * For questions that are answered again and again the same step looks up the permanent answer (see `diary`). If there is one, it was paid
 * for, and the report costs nothing. If not, it is kept with the report that was drawn from it, or not at all. Permanent answers stay when
 * the person withdraws: a person who agrees again must not draw new ones. Losing the ledger loses them: a documented reset.
 */

import { decimal, exact, NOTHING, readId, toNumber } from "./budget.js";
import { toHex } from "./bytes.js";
import { isLess, plus } from "./decimal.js";
import { PERSONAL } from "./diary.js";
import { copy, dropped, expend, line, PENDING, settled, sumOf } from "./entry.js";
import { LedgerError, ParameterError } from "./errors.js";
import { requireSecureContext } from "./platform.js";

/** @typedef {import("./decimal.js").Rational} Rational */
/** @typedef {import("./diary.js").Kept} Kept */
/** @typedef {import("./entry.js").Entry} Entry */
/** @typedef {import("./entry.js").Expense} Expense */
/** @typedef {import("./entry.js").State} State */
/** @typedef {import("./task.js").Task} Task */
/** @typedef {Uint8Array | string} TaskId */

/** What a device has spent and may still spend. A subclass says where that is kept. */
export class Ledger {
  constructor(/** @type {{lifetimeEpsilon: number | string | Rational}} */ { lifetimeEpsilon }) {
    requireSecureContext("ledger");
    this.lifetimeEpsilon = readLimit(lifetimeEpsilon);
  }

  /** @returns {Promise<Rational>} all that may ever be spent, over all tasks */
  async limit() {
    return this.lifetimeEpsilon;
  }

  /** @returns {Promise<Entry[]>} every expense, the oldest first */
  async entries() {
    throw this.#incomplete();
  }

  /** @returns {Promise<number>} how many permanent answers are kept, over all tasks */
  async permanentAnswers() {
    throw this.#incomplete();
  }

  #incomplete() {
    const fix = "use MemoryLedger or IndexedDBLedger";
    return new LedgerError("ledger", this.constructor.name, { allowed: "one that keeps entries", fix });
  }

  /** A task's reports that wait to be sent, the oldest first. */
  async pending(/** @type {TaskId} */ task) {
    const wanted = toHex(readId(task));
    return (await this.entries()).filter((entry) => toHex(entry.task) === wanted && entry.state === PENDING);
  }

  /** The sum of all epsilons so far, over all tasks. */
  async spent() {
    return sumOf(await this.entries());
  }

  /** What this device has reported so far and how much that reveals, in plain words. */
  async statement() {
    const entries = await this.entries();
    const [spent, limit] = [sumOf(entries), await this.limit()];
    const [written, whole, left] = [spent, limit, isLess(limit, spent) ? NOTHING : plus(limit, [-spent[0], spent[1]])].map(decimal);
    const head = `Randomized answers so far: ${entries.length}. Spent: epsilon ${written} of ${whole}, ${left} left.`;
    if (!entries.length) return `${head}\nNothing has been told.`;
    const again = await this.permanentAnswers();
    const odds = Math.ceil(Math.exp(toNumber(spent)) * 100) / 100;
    const worth = isLess(spent, [14n, 1n]) ? odds.toFixed(2).replace(/\B(?=(\d{3})+\.)/g, ",") : "a million or more";
    return (
      `${head}\nNo true answers make all these reports together more than ${worth} times as likely as other true answers would.\n` +
      (again ? repeated(again) : "") +
      "Not protected: that this device took part, when, and the group labels that a task asks for. Whoever restores an old copy of\n" +
      `this ledger forgets what was spent since, and can spend it again.\n\n${entries.map(line).join("\n")}`
    );
  }
}

/**
 * A limit on what may be spent in all, exactly as it was written.
 *
 * @returns {Rational}
 */
export function readLimit(/** @type {number | string | Rational} */ epsilon) {
  const limit = exact(epsilon);
  if (isLess(NOTHING, limit)) return limit;
  throw new ParameterError("lifetimeEpsilon", epsilon, { allowed: "a finite number above 0", fix: "try 8.0" });
}

/** A ledger that ends with the page, or with node. Its steps wait for nothing, so that no other can come in between. */
export class MemoryLedger extends Ledger {
  /** @type {Entry[]} */
  #entries = [];
  #consents = new Set();
  /** @type {Map<string, any>} */
  #tickets = new Map();
  /** @type {Map<string, any>} */
  #kept = new Map();
  /** @type {Map<string, Map<string, Record<string, Uint8Array>>>} by task, then by the diary's name */
  #diaries = new Map();

  async consent(/** @type {TaskId} */ task) {
    this.#consents.add(toHex(readId(task)));
  }

  async withdraw(/** @type {TaskId} */ task) {
    const withdrawn = toHex(readId(task));
    this.#consents.delete(withdrawn);
    this.#entries = this.#entries.map((entry) => (toHex(entry.task) === withdrawn ? dropped(entry) : entry));
  }

  async consented(/** @type {TaskId} */ task) {
    return this.#consents.has(toHex(readId(task)));
  }

  async ticket(/** @type {TaskId} */ task, /** @type {() => number} */ draw) {
    return keep(this.#tickets, toHex(readId(task)), draw);
  }

  async remember(/** @type {TaskId} */ task, /** @type {string} */ name, /** @type {() => Uint8Array | Promise<Uint8Array>} */ draw) {
    return (await keep(this.#kept, `${toHex(readId(task))} ${name}`, draw)).slice();
  }

  async recall(/** @type {TaskId} */ task, /** @type {string} */ name) {
    return this.#kept.get(`${toHex(readId(task))} ${name}`)?.slice() ?? null;
  }

  /** What a device keeps for a task's longitudinal questions: by the diary's name, permanent answers by class. */
  async kept(/** @type {TaskId} */ task) {
    return Object.fromEntries(Array.from(this.#diaries.get(toHex(readId(task))) ?? [], ([name, answers]) => [name, copyKept(answers)]));
  }

  async permanentAnswers() {
    const answers = [...this.#diaries.values()].flatMap((diaries) => [...diaries.values()]);
    return answers.flatMap(Object.keys).filter((name) => name !== PERSONAL).length;
  }

  async spend(/** @type {Task} */ task, /** @type {Expense} */ expense) {
    const [id, name] = [toHex(task.id), expense.diary?.name ?? ""];
    const kept = this.#diaries.get(id)?.get(name) ?? {};
    const entry = expend(task, expense, this.#entries, this.#consents.has(id), this.lifetimeEpsilon, kept);
    this.#entries.push(entry);
    if (!expense.diary) return copy(entry);
    if (!this.#diaries.has(id)) this.#diaries.set(id, new Map());
    this.#diaries.get(id)?.set(name, { ...copyKept(expense.diary.drawn), ...kept });
    return copy(entry);
  }

  async settle(/** @type {number} */ number, /** @type {State} */ state, code = "") {
    const entry = settled(this.#entries[number - 1], number, state, code);
    this.#entries[number - 1] = entry;
    return copy(entry);
  }

  async entries() {
    return this.#entries.map(copy);
  }
}

/** What is kept under a key, or what is drawn now; drawing may take time, and the first to finish counts. */
async function keep(/** @type {Map<string, any>} */ map, /** @type {string} */ key, /** @type {() => any} */ draw) {
  const drawn = map.has(key) ? undefined : await draw();
  if (!map.has(key)) map.set(key, drawn);
  return map.get(key);
}

/** @returns {Record<string, Uint8Array>} */
function copyKept(/** @type {Kept} */ kept) {
  return Object.fromEntries(Object.entries(kept).map(([name, answer]) => [name, answer.slice()]));
}

function repeated(/** @type {number} */ answers) {
  return (
    `Permanent answers kept: ${answers}. Reports drawn from one that was paid for cost nothing more. For them, the line above is only ` +
    "about other\ntrue answers with which the same reports would share a permanent answer: that and when an answer changed is not " +
    "protected, nor that\nit came back. Where different answers share a permanent answer, whether a change shows depends on the answers.\n"
  );
}
