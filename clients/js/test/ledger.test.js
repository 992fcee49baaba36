/** The ledger: every history that Python's ledgers were asked for, and what only this one could get wrong. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { BudgetExceeded, decimal, IndexedDBLedger, Ledger, LedgerError, MemoryLedger, ParameterError, Task, toHex } from "../src/index.js";
import { replayHistory } from "./histories.js";
import { vectors } from "./replay.js";

const { tasks: TASKS, histories: HISTORIES } = vectors("budget");

for (const history of HISTORIES) {
  test(`history: ${history.why}`, async () => {
    const found = await replayHistory(history, TASKS, (options) => new MemoryLedger(options));
    assert.deepEqual(found.steps, history.steps);
    assert.deepEqual(found.entries, history.entries);
    assert.equal(found.spent, history.spent);
    assert.equal(found.statement, history.statement);
    assert.deepEqual(found.kept, history.kept);
    assert.ok(found.consistent);
    const waiting = history.entries.filter(({ state }) => state === "pending").map(({ number }) => number);
    assert.deepEqual(found.pending.sort(), waiting.sort());
  });
}

const daily = await Task.fromJson(TASKS.daily);
const often = await Task.fromJson(TASKS.often);
const expense = (more = {}) => ({ period: 0, epsilon: 0.5, when: 0.9, make: () => Uint8Array.of(1), ...more });

async function opened(lifetimeEpsilon = 8) {
  const ledger = new MemoryLedger({ lifetimeEpsilon });
  for (const task of [daily, often]) await ledger.consent(toHex(task.id).toUpperCase());
  return ledger;
}

test("of many expenses at once no more are allowed than the caps have room for", async () => {
  const ledger = await opened(5);
  const done = await Promise.allSettled(Array.from({ length: 40 }, () => ledger.spend(often, expense())));
  assert.equal(done.filter(({ status }) => status === "fulfilled").length, 10);
  for (const { reason } of done.filter(({ status }) => status === "rejected")) assert.ok(reason instanceof BudgetExceeded);
  assert.deepEqual(await ledger.spent(), [5n, 1n]);
  assert.deepEqual(
    (await ledger.entries()).map(({ number }) => number),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
});

test("a report that cannot be made, or comes later, costs nothing", async () => {
  const ledger = await opened();
  const wrong = () => {
    throw new RangeError("no tea");
  };
  await assert.rejects(ledger.spend(daily, expense({ make: wrong })), RangeError);
  await assert.rejects(ledger.spend(daily, expense({ make: async () => Uint8Array.of(1) })), ParameterError);
  assert.deepEqual(await ledger.entries(), []);
});

test("what was recorded cannot be changed from outside", async () => {
  const ledger = await opened();
  const bytes = Uint8Array.of(1, 2, 3);
  const entry = await ledger.spend(daily, expense({ make: () => bytes }));
  bytes[0] = 9;
  entry.report[1] = 9;
  (await ledger.entries())[0].report[2] = 9;
  assert.throws(() => (entry.state = "sent"), TypeError);
  assert.deepEqual((await ledger.entries())[0].report, Uint8Array.of(1, 2, 3));
});

test("tickets and what is remembered are drawn once, whoever asks at the same time", async () => {
  const ledger = await opened();
  let draws = 0;
  const slowly = async () => {
    const mine = ++draws;
    await null;
    return Uint8Array.of(mine);
  };
  assert.equal(await ledger.recall(daily.id, "a"), null);
  const drawn = await Promise.all(Array.from({ length: 5 }, () => ledger.remember(daily.id, "a", slowly)));
  assert.equal(new Set(drawn.map(toHex)).size, 1);
  assert.deepEqual(await ledger.recall(daily.id, "a"), drawn[0]);
  assert.deepEqual(await ledger.remember(daily.id, "b", () => Uint8Array.of(77)), Uint8Array.of(77));
  assert.equal(await ledger.recall(often.id, "a"), null);
  assert.deepEqual([await ledger.ticket(daily.id, () => 0), await ledger.ticket(daily.id, () => 1)], [0, 0]);
  await ledger.withdraw(daily.id);
  assert.equal(await ledger.ticket(daily.id, () => 2), 0);
});

for (const lifetimeEpsilon of [0, -1, NaN, Infinity, "much", "1/0"]) {
  test(`no lifetime: ${lifetimeEpsilon}`, () => assert.throws(() => new MemoryLedger({ lifetimeEpsilon }), ParameterError));
}

for (const id of ["", "00", "zz".repeat(32), new Uint8Array(33), null, 7]) {
  test(`no task id: ${id}`, async () => assert.rejects((await opened()).consent(id), /64 hexadecimal digits/));
}

test("an entry that is not there is not settled", async () => {
  await assert.rejects((await opened()).settle(1, "sent"), LedgerError);
});

test("sums are written as Python writes them", () => {
  const cases = [
    [[0n, 1n], "0"], [[1n, 10n], "0.1"], [[8n, 1n], "8"], [[100n, 1n], "100"], [[1n, 3n], "0.333333333333"], [[2n, 3n], "0.666666666667"],
    [[1n, 10n ** 8n], "1e-08"], [[1n, 10n ** 4n], "0.0001"], [[12n, 10n ** 5n], "0.00012"], [[12n, 10n ** 6n], "1.2e-05"],
    [[10n ** 12n, 1n], "1e+12"], [[10n ** 12n - 1n, 1n], "999999999999"], [[10n ** 13n - 1n, 10n], "1e+12"], [[30000001n, 10n ** 8n], "0.30000001"],
    [[-1n, 4n], "-0.25"], [[10n ** 30n + 1n, 10n ** 30n], "1"],
  ]; // prettier-ignore
  for (const [number, text] of cases) assert.equal(decimal(number), text);
});

test("where nothing is kept, the ledger that keeps says so", async () => {
  const ledger = new IndexedDBLedger({ lifetimeEpsilon: 8 });
  assert.ok(ledger instanceof Ledger);
  await assert.rejects(ledger.consent(daily.id), (error) => error instanceof LedgerError && /MemoryLedger/.test(error.message));
  assert.equal(await ledger.persist(), false);
});
