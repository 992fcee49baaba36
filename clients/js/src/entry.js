/** The entries of a ledger: one expense each, as the person may read it. What every ledger does with them, wherever it keeps them. */

import { allow, decimal, NOTHING } from "./budget.js";
import { toHex } from "./bytes.js";
import { plus } from "./decimal.js";
import { LedgerError, ParameterError } from "./errors.js";

export const PENDING = "pending";
export const SENT = "sent";
export const REFUSED = "refused";
/** The code of a report that was dropped because the person withdrew. */
export const WITHDRAWN = "withdrawn";

/** @typedef {import("./decimal.js").Rational} Rational */
/** @typedef {import("./task.js").Task} Task */
/** @typedef {"pending" | "sent" | "refused"} State */
/** @typedef {import("./diary.js").Diary} Diary */
/** @typedef {import("./diary.js").Kept} Kept */
/** @typedef {{period: number, epsilon: number, when: number, make: (place: number) => Uint8Array, diary?: Diary | null}} Expense */
/**
 * @typedef {Readonly<{
 *   number: number, task: Uint8Array, name: string, question: string, period: number, epsilon: Rational, when: number,
 *   report: Uint8Array, state: State, code: string
 * }>} Entry
 */

/**
 * The entry of one more answer, if the rules allow it; its number follows the last one's.
 *
 * @param {Task} task
 * @param {Expense} expense
 * @param {Entry[]} entries
 * @param {boolean} consented
 * @param {Rational} lifetime
 * @param {Kept} kept what is there for the question of the expense's diary
 * @returns {Entry}
 */
export function expend(task, { period, epsilon, when, make, diary }, entries, consented, lifetime, kept) {
  diary?.check(kept);
  const id = toHex(task.id);
  const periods = entries.filter((entry) => toHex(entry.task) === id).map((entry) => entry.period);
  const latest = periods.reduce((/** @type {number | null} */ most, other) => (most !== null && most > other ? most : other), null);
  const inPeriod = periods.filter((other) => other === period).length;
  const account = { consented, latest, inPeriod, inTask: periods.length, spent: sumOf(entries) };
  const cost = allow(task, period, epsilon, account, lifetime, diary?.known);
  const report = make(periods.length);
  if (!(report instanceof Uint8Array)) {
    throw new ParameterError("make", report, {
      allowed: "a function that gives bytes at once",
      fix: "prepare them before; nothing was spent",
    });
  }
  const { name, question } = task;
  const number = (entries.at(-1)?.number ?? 0) + 1;
  const rest = /** @type {const} */ ({ report: report.slice(), state: PENDING, code: "" });
  return Object.freeze({ number, task: task.id.slice(), name, question, period, epsilon: cost, when: Math.trunc(when), ...rest });
}

/**
 * The entry after a collector's word; one that was sent stays sent.
 *
 * @param {Entry | undefined} entry
 * @param {number} number
 * @param {State} state
 * @param {string} code
 * @returns {Entry}
 */
export function settled(entry, number, state, code) {
  if (!entry) throw new LedgerError("entry", number, { allowed: "the number of an entry", fix: "pass the number of a receipt" });
  return entry.state === SENT ? entry : Object.freeze({ ...entry, state, code });
}

/**
 * The entry after its person withdrew: what waited is forgotten.
 *
 * @param {Entry} entry
 * @returns {Entry}
 */
export function dropped(entry) {
  return entry.state === PENDING ? Object.freeze({ ...entry, report: new Uint8Array(), state: REFUSED, code: WITHDRAWN }) : entry;
}

/** @returns {Rational} the sum of the epsilons */
export function sumOf(/** @type {Entry[]} */ entries) {
  return entries.reduce((sum, entry) => plus(sum, entry.epsilon), NOTHING);
}

/** @returns {Entry} one that may be changed without harm */
export function copy(/** @type {Entry} */ entry) {
  return Object.freeze({ ...entry, task: entry.task.slice(), report: entry.report.slice() });
}

/** An entry as the statement shows it. */
export function line(/** @type {Entry} */ { when, name, question, period, epsilon, state, code, report }) {
  const moment = new Date(1000 * when).toISOString().slice(0, 16).replace("T", " ");
  return (
    `${moment} UTC  ${name}: ${question}\n` +
    `    period ${period}, epsilon ${decimal(epsilon)}, ${code ? `${state} (${code})` : state}\n` +
    `    ${toHex(report) || "nothing is kept"}`
  );
}
