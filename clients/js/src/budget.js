/** The rules of every ledger: what one more answer costs, and whether a device may give it. Exact, and in one place. */

import { fromHex } from "./bytes.js";
import { isLess, plus, round } from "./decimal.js";
import { BudgetExceeded, ParameterError } from "./errors.js";
import { spell, writtenAs } from "./probability.js";

/** @typedef {import("./decimal.js").Rational} Rational */
/** @typedef {import("./task.js").Task} Task */
/**
 * What a ledger says about a task before an expense; `latest` is the last period that was answered, `spent` is over all tasks.
 *
 * @typedef {{consented: boolean, latest: number | null, inPeriod: number, inTask: number, spent: Rational}} Account
 */

/** @type {Rational} */
export const NOTHING = [0n, 1n];

/**
 * The exact cost of one more answer, if every rule allows it; BudgetExceeded if one does not.
 *
 * @param {Task} task
 * @param {number} period
 * @param {number} epsilon
 * @param {Account} account
 * @param {Rational} lifetime
 * @param {boolean} [paid] whether it is drawn from a permanent answer that was paid for: it costs nothing more, all other rules hold
 */
export function allow(task, period, epsilon, account, lifetime, paid = false) {
  if (!account.consented) throw noConsent(task.name);
  if (!Number.isFinite(epsilon) || !isLess(NOTHING, exact(epsilon)) || isLess(exact(task.epsilon), exact(epsilon))) {
    const allowed = `a finite epsilon, at most the task's ${spell(task.epsilon)}`;
    throw new BudgetExceeded("epsilon", epsilon, { allowed, fix: "no ledger pays for this; nothing was sent" });
  }
  if (account.latest !== null && period < account.latest) {
    const allowed = `period ${account.latest}, which was answered already, or a later one`;
    throw new BudgetExceeded("period", period, { allowed, fix: "set the device's clock right; nothing was sent" });
  }
  if (account.inPeriod >= task.answersPerPeriod) {
    const allowed = `${task.answersPerPeriod} in each period of '${task.name}'`;
    throw new BudgetExceeded("answers", account.inPeriod + 1, { allowed, fix: "wait for the next period; flush() resends what waits" });
  }
  if (account.inTask >= task.answers) {
    const allowed = `${task.answers} to '${task.name}', ever`;
    throw new BudgetExceeded("answers", account.inTask + 1, { allowed, fix: "stop asking this person" });
  }
  const cost = paid ? NOTHING : exact(epsilon);
  const sum = plus(account.spent, cost);
  if (isLess(lifetime, sum)) {
    const allowed = `${decimal(lifetime)} over a lifetime, all tasks together`;
    throw new BudgetExceeded("epsilon", decimal(sum), { allowed, fix: "this device has told enough; it may still take part for less" });
  }
  return cost;
}

/** The refusal of whatever the person did not agree to. */
export function noConsent(/** @type {string} */ task) {
  return new BudgetExceeded("consent", `none for '${task}'`, {
    allowed: "a task that the person agreed to",
    fix: "ask, then call ledger.consent()",
  });
}

/**
 * The number that an epsilon was written as: 0.1 is a tenth.
 *
 * @returns {Rational}
 */
export function exact(/** @type {number | string | Rational} */ epsilon) {
  return typeof epsilon === "object" ? epsilon : writtenAs(epsilon);
}

/** A sum of epsilons as people write it, in twelve digits; short sums of decimals are shown exactly. */
export function decimal(/** @type {Rational} */ number) {
  const nearest = toNumber(number);
  const [digits, power] = nearest.toExponential(11).split("e");
  const short = (/** @type {string} */ text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (Number(power) >= -4 && Number(power) < 12) return short(nearest.toFixed(11 - Number(power)));
  return `${short(digits)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** The double that is nearest to a rational number. */
export function toNumber(/** @type {Rational} */ number) {
  const { coefficient, exponent } = round(number, "half even");
  return Number(`${coefficient}e${exponent}`);
}

/** A task's id from its 32 bytes or their 64 hexadecimal digits. */
export function readId(/** @type {unknown} */ task) {
  const id = typeof task === "string" ? fromHex(task.toLowerCase()) : task;
  if (id instanceof Uint8Array && id.length === 32) return id;
  throw new ParameterError("task", task, {
    allowed: "32 bytes, or 64 hexadecimal digits",
    fix: "pass the id that the collector published",
  });
}
