/** Devices that hold records or sets, in rounds: answered by everybody or by nobody, and paid for at what encoder and mechanism cost. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { BudgetExceeded, DomainError, MemoryLedger, ProtocolError, Reporter, SYSTEM, WireError, writtenAs } from "../src/index.js";
import { FakeCollector, makeSigner, URL_ } from "./fake.js";
import { vectors } from "./replay.js";

const SIGNER = await makeSigner();
const START = JSON.parse(vectors("budget").tasks.daily).start;
const HELD = {
  Marginals: ["bar", "spa"].map((place) => ({ place, stars: place.length, new: place === "bar", land: "Norway" })),
  LogisticRegression: [{ age: 0, dose: -99, ill: "no" }, { age: 59.9, dose: 0.25, ill: "yes", name: "Ann" }, { age: 120, dose: 2, ill: "no" }],
  KMeans: [{ age: 0, dose: -99 }, { age: 120n, dose: 17 }],
  SVIM: [[], new Set(["jam"]), ["tea", "milk", "bread", "jam"]],
  means: [0, 59.9, 120],
}; // prettier-ignore

/** A task of rounds with a protocol, and a device for it. */
async function published(protocol, epsilon = "1.0") {
  const collector = new FakeCollector(SIGNER);
  const id = await collector.publishRounds({ protocol, epsilon });
  const device = async () => {
    const ledger = new MemoryLedger({ lifetimeEpsilon: 8 });
    await ledger.consent(id);
    const options = { task: id, ledger, clock: () => START + 5, sleep: () => {}, source: SYSTEM, fetch: collector.fetch };
    return { ledger, reporter: new Reporter(URL_, options) };
  };
  const open = (question) => collector.openRound(id, 0, { scale: 1, questions: [{ ...question, share: "1" }] });
  return { collector, device, open };
}

for (const protocol of new Set(vectors("answerable").protocols.asked.map(({ protocol }) => protocol))) {
  const { protocol: name } = JSON.parse(protocol);
  test(`${name}: a round is answered by everybody, or refused by everybody with the same words`, async () => {
    const { collector, device, open } = await published(JSON.parse(protocol));
    for (const { question, all } of vectors("answerable").protocols.asked.filter((asked) => asked.protocol === protocol)) {
      open(JSON.parse(question));
      const outcomes = [];
      for (const value of HELD[name]) {
        const { ledger, reporter } = await device();
        const said = await reporter.report(value).then(({ state }) => state, (error) => `${error.name} ${error.message}`); // prettier-ignore
        outcomes.push(`${said}, ${(await ledger.entries()).length} paid`);
      }
      assert.equal(new Set(outcomes).size, 1, `${question} ${outcomes}`);
      assert.match(outcomes[0], all ? /^sent, 1 paid$/ : /^ProtocolError .*would show what.*, 0 paid$/, question);
    }
    assert.equal(collector.reports.size > 0, true);
  });
}

test("what this client cannot answer, tasks or rounds about texts, tracks or ratings, is refused whatever its owner holds", async () => {
  const asked = vectors("answerable").protocols.asked.find(({ all, protocol }) => all && JSON.parse(protocol).protocol === "SVIM");
  const texts = { protocol: "Terms", domain: { kind: "writing", texts: true } };
  const tracks = { protocol: "Movement", domain: { kind: "track", cells: 12, outside: false } };
  const ratings = { protocol: "SampledFactorization", domain: JSON.parse(vectors("ratings").cases[0].encoder).domain };
  const refused = [
    ["texts", texts, ["", "tea", ["tea"], 7], /kind index.*cannot answer such a task/],
    ["tracks", tracks, [[], [0], [0, 11], 7], /kind index.*cannot answer such a task/],
    ["ratings", ratings, [{}, { 0: 5 }, { 3: 1, 0: 4.5 }, 7], /kind index.*cannot answer such a task/],
    ["texts", JSON.parse(asked.protocol), HELD.SVIM, /encoder: got .*upgrade deniable/],
    ["tracks", JSON.parse(asked.protocol), HELD.SVIM, /encoder: got .*upgrade deniable/],
    ["ratings", JSON.parse(asked.protocol), HELD.SVIM, /encoder: got .*upgrade deniable/],
  ];
  for (const [file, protocol, held, words] of refused) {
    const { collector, device, open } = await published(protocol);
    open({ ...JSON.parse(asked.question), encoder: JSON.parse(vectors(file).cases[0].encoder) });
    for (const value of held) {
      const { ledger, reporter } = await device();
      await assert.rejects(reporter.report(value), (error) => error instanceof WireError && words.test(error.message));
      assert.deepEqual(await ledger.entries(), []);
    }
    assert.equal(collector.reports.size, 0);
  }
});

test("whatever a collector supplies is refused before a device looks at what it holds", async () => {
  const asked = vectors("answerable").protocols.asked.filter(({ all }) => all);
  for (const [file, name, kind] of [["models", "LogisticRegression", /Gradient|ClusterSide|Magnitude/], ["sets", "SVIM", /./]]) { // prettier-ignore
    const { protocol, question } = asked.find((each) => JSON.parse(each.protocol).protocol === name);
    const { collector, device, open } = await published(JSON.parse(protocol));
    const { ledger, reporter } = await device();
    for (const { encoder } of vectors(file).refused.filter((bad) => kind.test(bad.encoder))) {
      open({ ...JSON.parse(question), encoder: JSON.parse(encoder) });
      const said = new Set();
      for (const value of HELD[name]) {
        await assert.rejects(reporter.report(value), (error) => error instanceof WireError && said.add(error.message).size > 0, encoder);
      }
      assert.equal(said.size, 1, encoder);
    }
    assert.deepEqual([await ledger.entries(), collector.bodies], [[], []]);
  }
});

test("a record or set outside the task is the app's error, before any round is asked for", async () => {
  const { asked } = vectors("answerable").protocols;
  const bad = {
    Marginals: [{ place: "bar", stars: 1, new: 0 }, { place: "bar", stars: 5, new: 0, land: "Norway" }, { place: "bar", stars: 1, new: 0, land: "Sweden" }, "bar"],
    LogisticRegression: [{ age: 121, dose: 0, ill: "no" }, { age: NaN, dose: 0, ill: "no" }, { age: 1, dose: 0, ill: "maybe" }, { age: 1, dose: 0 }, []],
    SVIM: [["beer"], ["tea", "tea"], "tea", { 0: "tea" }],
  }; // prettier-ignore
  for (const [name, values] of Object.entries(bad)) {
    const { protocol } = asked.find((each) => JSON.parse(each.protocol).protocol === name);
    const { collector, device } = await published(JSON.parse(protocol));
    for (const value of values) await assert.rejects((await device()).reporter.report(value), DomainError, JSON.stringify(value));
    assert.equal(collector.count("/round"), 0);
  }
});

test("behind an encoder that samples a louder mechanism costs what the task promises, and not a bit more", async () => {
  const { question, epsilon } = vectors("sets").costs.find((cost) => /"length":2/.test(cost.question) && Number(cost.epsilon) > 1.5);
  assert.ok(Number(JSON.parse(question).spec.parameters.epsilon) > Number(epsilon));
  const protocol = { protocol: "SVIM", domain: JSON.parse(question).encoder.domain };
  const { device, open } = await published(protocol, epsilon);
  open(JSON.parse(question));
  const { ledger, reporter } = await device();
  assert.deepEqual((await reporter.report(["tea"])).epsilon, writtenAs(epsilon));
  await assert.rejects(reporter.report(["tea"]), BudgetExceeded); // one answer, ever
  assert.deepEqual(await ledger.spent(), writtenAs(epsilon));
  const cheaper = await published(protocol, "1.5");
  cheaper.open(JSON.parse(question));
  await assert.rejects((await cheaper.device()).reporter.report(["tea"]), ProtocolError);
});
