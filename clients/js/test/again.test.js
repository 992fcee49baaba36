/** Permanent answers on a device: drawn once, kept for good, paid for once, whoever else is at work in the same ledger. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { assignedSeed } from "../src/assigned.js";
import { writeCanonical } from "../src/canonical.js";
import {
  BudgetExceeded, Diary, DomainError, MemoryLedger, openBatch, ProtocolError, Reporter, specFromJson, SYSTEM, Task, toHex,
} from "../src/index.js"; // prettier-ignore
import { DAY, FakeCollector, makeSigner, question, specWith, URL_ } from "./fake.js";
import { vectors } from "./replay.js";

const SIGNER = await makeSigner();
const START = JSON.parse(vectors("budget").tasks.daily).start;
const AGAIN = ["LongitudinalGRR", "LongitudinalUnary", "LOLOHA", "DBitFlipPM", "RAPPOR", "OneBitMeanPM"];
let collector;

beforeEach(() => {
  collector = new FakeCollector(SIGNER);
});

/** A device that is asked again and again about what a mechanism takes; several may share a ledger. */
class Device {
  now = START;

  static async open(mechanism, { lifetimeEpsilon = 20, ledger = new MemoryLedger({ lifetimeEpsilon }), ...changes } = {}) {
    const device = new Device();
    const spec = specWith(mechanism, ({ epsilon }) => Number(epsilon) <= 2);
    device.spec = specFromJson(writeCanonical(spec));
    const rules = { epsilon: spec.parameters.epsilon, answers: 1000, answers_per_period: 1000, default: undefined, ...changes };
    device.id = await collector.publish({ protocol: { protocol: "Survey", questions: [question({ spec })] }, ...rules });
    device.ledger = ledger;
    await ledger.consent(device.id);
    const clock = () => device.now;
    device.reporter = new Reporter(URL_, { task: device.id, ledger, clock, sleep: () => {}, fetch: collector.fetch });
    return device;
  }

  report(value) {
    return this.reporter.report(value);
  }

  async kept() {
    const [found = {}] = Object.values(await this.ledger.kept(this.id));
    return Object.fromEntries(Object.entries(found).map(([name, answer]) => [name, toHex(answer)]));
  }
}

for (const mechanism of AGAIN) {
  test(`${mechanism}: a value is paid for once, and nothing is ever drawn twice`, async () => {
    const device = await Device.open(mechanism);
    const costs = [];
    let before = {};
    for (const value of [0, 0, 1, 0, 1, 1]) {
      costs.push((await device.report(value)).epsilon);
      const kept = await device.kept();
      for (const [name, answer] of Object.entries(before)) assert.equal(kept[name], answer);
      before = kept;
    }
    const paid = costs.filter(([numerator]) => numerator > 0n).length;
    assert.ok(costs[0][0] > 0n && [1, 3, 4, 5].every((i) => costs[i][0] === 0n), `${costs}`);
    assert.equal(await device.ledger.permanentAnswers(), paid);
    assert.equal(collector.reports.size, 6);
    assert.match(await device.ledger.statement(), new RegExp(`Permanent answers kept: ${paid}\\.`));
  });

  test(`${mechanism}: of many reports at once, one pays for each permanent answer`, async () => {
    const device = await Device.open(mechanism);
    const receipts = await Promise.all(Array.from({ length: 12 }, () => device.report(0)));
    assert.equal(receipts.filter(({ epsilon }) => epsilon[0] > 0n).length, 1);
    assert.equal(await device.ledger.permanentAnswers(), 1);
  });
}

test("without instantaneous noise every report is the permanent answer", async () => {
  const device = await Device.open("DBitFlipPM");
  for (let i = 0; i < 20; i++) await device.report(0);
  assert.equal(new Set([...collector.reports.values()].map(({ payload }) => toHex(payload))).size, 1);
});

test("beyond the cap nothing is kept, and what was paid for stays free", async () => {
  const device = await Device.open("LongitudinalGRR", { lifetimeEpsilon: 2 });
  await device.report(0);
  const before = await device.kept();
  for (let i = 0; i < 3; i++) {
    await assert.rejects(device.report(1), (error) => error instanceof BudgetExceeded && /lifetime/.test(error.message));
  }
  assert.deepEqual([await device.kept(), (await device.ledger.entries()).length], [before, 1]);
  assert.deepEqual((await device.report(0)).epsilon, [0n, 1n]);
});

test("all other rules hold for what is free, and withdrawing forgets no permanent answer", async () => {
  const device = await Device.open("LOLOHA", { answers: 2, answers_per_period: 1 });
  await device.report(0);
  await assert.rejects(device.report(0), (error) => error instanceof BudgetExceeded && /each period/.test(error.message));
  const before = await device.kept();
  await device.ledger.withdraw(device.id);
  await assert.rejects(device.report(0), /consent/);
  await device.ledger.consent(device.id);
  device.now += DAY;
  assert.deepEqual((await device.report(0)).epsilon, [0n, 1n]);
  device.now += DAY;
  await assert.rejects(device.report(0), /ever/);
  assert.deepEqual(await device.kept(), before);
});

test("a value that is none costs nothing and keeps nothing", async () => {
  const device = await Device.open("LongitudinalGRR");
  await assert.rejects(device.report(7), DomainError);
  assert.deepEqual([await device.kept(), await device.ledger.entries()], [{}, []]);
});

for (const mechanism of AGAIN) {
  test(`${mechanism}: a step refuses a diary that was not opened, or that another one has overtaken`, async () => {
    const { ledger, id, spec } = await Device.open(mechanism);
    const task = await Task.fromJson(collector.tasks.get(id));
    const make = () => Uint8Array.of(1);
    const spend = (diary) => ledger.spend(task, { period: 0, epsilon: spec.epsilon, when: 0, make, diary });
    const refused = (diary, text) => assert.rejects(spend(diary), (error) => error instanceof ProtocolError && text.test(error.message));
    const prepared = async (value) => {
      const diary = await Diary.of(spec, value, "drink");
      await diary.open((await ledger.kept(id))[diary.name] ?? {});
      await diary.report();
      return diary;
    };
    await refused(await Diary.of(spec, 0), /open\(\)/);
    let paid = 0;
    for (const value of [0, 1]) {
      const [first, second] = [await prepared(value), await prepared(value)]; // two tabs, before either has spent
      await spend(first);
      paid += Number(!first.known);
      if (!first.known) await refused(second, /open it again/);
      const kept = (await ledger.kept(id))[first.name];
      for (const [name, answer] of Object.entries(first.drawn)) assert.deepEqual(kept[name], answer);
      for (const answer of Object.values(kept)) answer.fill(255); // copies: the ledger's own are as they were
      const third = await prepared(value);
      assert.ok(third.known && !Object.keys(third.drawn).length);
      await spend(third);
    }
    assert.equal((await ledger.entries()).length, 4);
    assert.equal((await ledger.entries()).filter(({ epsilon }) => epsilon[0] > 0n).length, paid);
    assert.equal(await ledger.permanentAnswers(), paid);
  });
}

test("a report that cannot be made keeps nothing", async () => {
  const { ledger, id, spec } = await Device.open("DBitFlipPM");
  const diary = await Diary.of(spec, 0);
  await diary.open({});
  await diary.report();
  const make = () => {
    throw new RangeError("no tea");
  };
  const task = await Task.fromJson(collector.tasks.get(id));
  await assert.rejects(ledger.spend(task, { period: 0, epsilon: spec.epsilon, when: 0, make, diary }), RangeError);
  assert.deepEqual([await ledger.kept(id), await ledger.permanentAnswers()], [{}, 0]);
});

test("another task, and another question, draw for themselves", async () => {
  const ledger = new MemoryLedger({ lifetimeEpsilon: 20 });
  const [one, other] = [await Device.open("LongitudinalGRR", { ledger }), await Device.open("LongitudinalGRR", { ledger, name: "other" })];
  for (const device of [one, other]) assert.ok((await device.report(0)).epsilon[0] > 0n);
  const names = await Promise.all(["a", "b"].map(async (name) => (await Diary.of(one.spec, 0, name)).name));
  assert.notEqual(...names);
});

// --- seeds that follow from tokens ---

test("each report is under the seed of its own token, however many are made at once", async () => {
  const { cases: [{ task: text, tokens }] } = vectors("tokens"); // prettier-ignore
  const { issuer } = JSON.parse(text);
  const spec = specWith("OLH", ({ domain }) => domain.kind === "index");
  const protocol = { protocol: "Survey", questions: [question({ spec })] };
  const rules = { admission: "token", issuer, answers: 3, answers_per_period: 3, retention: 30, default: undefined };
  for (const seeds of ["assigned", undefined]) {
    const id = await collector.publish({ ...rules, protocol, epsilon: spec.parameters.epsilon, seeds });
    const ledger = new MemoryLedger({ lifetimeEpsilon: 20 });
    await ledger.consent(id);
    await ledger.remember(id, "tokens", () => Uint8Array.from(Buffer.from(tokens, "hex")));
    const reporter = new Reporter(URL_, { task: id, ledger, clock: () => START, fetch: collector.fetch, source: SYSTEM });
    const done = await Promise.allSettled(Array.from({ length: 5 }, () => reporter.report(1)));
    assert.equal(done.filter(({ reason }) => reason instanceof BudgetExceeded).length, 2);
    const found = (await ledger.entries()).map(({ report }) => openBatch(report)[0]);
    assert.equal(found.length, 3);
    const read = specFromJson(writeCanonical(spec));
    for (const [place, { token, payload }] of found.entries()) {
      assert.equal(toHex(token), tokens.slice(576 * place, 576 * (place + 1)));
      const assigned = await assignedSeed(token, 2);
      assert.equal(`${read.decode(payload)[0]}` === `${assigned}`, seeds === "assigned");
    }
  }
});
