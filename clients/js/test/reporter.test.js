/** A device against a collector in memory: what it believes, what it spends, and what it sends again. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import {
  Board, BudgetExceeded, DomainError, MemoryLedger, openBatch, ParameterError, ProtocolError, Reporter, Source, SYSTEM, Task, toHex, WireError,
} from "../src/index.js"; // prettier-ignore
import { DAY, failure, FakeCollector, makeSigner, question, specWith, URL_ } from "./fake.js";
import { vectors } from "./replay.js";

const SIGNER = await makeSigner();
const START = JSON.parse(vectors("budget").tasks.daily).start;
let collector;
let task;

beforeEach(async () => {
  collector = new FakeCollector(SIGNER);
  task = await collector.publish();
});

/** Words that depend on a key alone. */
class Stream extends Source {
  constructor(key = 1n) {
    super();
    this.state = key;
  }

  word() {
    this.state = BigInt.asUintN(64, this.state * 6364136223846793005n + 1442695040888963407n);
    return BigInt.asUintN(64, (this.state ^ (this.state >> 33n)) * 0xff51afd7ed558ccdn);
  }
}

/** A reporter with a clock of its own, whose sleeps are noted and not slept. */
class Device {
  now = START + 5;
  slept = [];

  static async open(id = task, { to = URL_, lifetimeEpsilon = 8, consent = true, source = new Stream(), ...more } = {}) {
    const device = new Device();
    device.ledger = new MemoryLedger({ lifetimeEpsilon });
    if (consent) await device.ledger.consent(id);
    const [clock, sleep] = [() => device.now, (seconds) => device.sleep(seconds)];
    device.reporter = new Reporter(to, { task: id, ledger: device.ledger, clock, sleep, source, fetch: collector.fetch, ...more });
    return device;
  }

  sleep(seconds) {
    this.slept.push(seconds);
  }

  report(...value) {
    return this.reporter.report(...value);
  }

  async states() {
    return (await this.ledger.entries()).map(({ state, code }) => [state, code]);
  }
}

const refused = async (promise, kind, text) => assert.rejects(promise, (error) => error instanceof kind && text.test(error.message));

// --- one round ---

test("an answer arrives randomized and addressed", async () => {
  const id = await collector.publish({ strata: [["platform", ["phone", "web"]], ["age", ["young", "old"]]] }); // prettier-ignore
  const device = await Device.open(id, { strata: { age: "old", platform: "web" } });
  device.now = START + 2 * DAY + 1;
  const receipt = await device.report("coffee");
  assert.deepEqual(receipt, { state: "sent", code: "", period: 2, epsilon: [1n, 1n], number: 1 });
  const [sent] = collector.reports.values();
  const [source, spec] = [new Stream(), (await Task.fromJson(collector.tasks.get(id))).survey().questions[0].spec];
  assert.deepEqual(sent.payload, spec.encode(await spec.randomize("coffee", source)));
  assert.equal(toHex(sent.id), source.words(2).map((word) => word.toString(16).padStart(16, "0")).join("")); // prettier-ignore
  assert.deepEqual([toHex(sent.task), sent.period, sent.question, sent.stratum, sent.token.length], [id, 2, 0, 3, 0]);
  assert.deepEqual((await device.ledger.entries()).map(({ report }) => toHex(report)), collector.bodies); // prettier-ignore
});

test("the task is fetched once, by any number of reporters on one board", async () => {
  const board = new Board(URL_, { fetch: collector.fetch });
  const devices = await Promise.all(Array.from({ length: 20 }, () => Device.open(task, { to: board, source: SYSTEM })));
  await Promise.all(devices.map((device) => device.report("tea")));
  assert.equal(collector.count("GET"), 1);
  assert.equal(collector.reports.size, 20);
});

for (const now of [START - 1, START + 11 * DAY, 0]) {
  test(`at ${now} nothing is asked`, async () => {
    const device = await Device.open();
    device.now = now;
    assert.equal(await device.report("tea"), null);
    assert.deepEqual(await device.ledger.entries(), []);
  });
}

test("no answer is sent as the default, and without a default it is nothing at all", async () => {
  assert.equal((await (await Device.open()).report(null)).state, "sent"); // the usual task's default is tea
  const device = await Device.open(await collector.publish({ default: undefined }));
  for (const nothing of [null, undefined]) assert.equal(await device.report(nothing), null);
  assert.deepEqual(await device.ledger.entries(), []);
});

test("zero and false are answers", async () => {
  const spec = specWith("RR", ({ domain }) => domain.kind === "index");
  const id = await collector.publish({ protocol: { protocol: "Survey", questions: [question({ spec })] }, epsilon: "4.0" });
  for (const value of [0, false]) assert.equal((await (await Device.open(id)).report(value)).state, "sent");
});

test("values and labels outside the task cost nothing", async () => {
  const device = await Device.open();
  await refused(device.report("cocoa"), DomainError, /one of tea/);
  device.reporter.strata.platform = "phone";
  await refused(device.report("tea"), DomainError, /strata/);
  assert.deepEqual([await device.ledger.entries(), collector.bodies], [[], []]);
});

test("without consent nobody is asked anything, and the person may read what it is about", async () => {
  const device = await Device.open(task, { consent: false });
  await refused(device.report("tea"), BudgetExceeded, /ledger.consent/);
  await refused(device.reporter.enrol("dc_0"), BudgetExceeded, /ledger.consent/);
  assert.deepEqual(collector.requests, []);
  assert.equal((await device.reporter.task()).name, "daily");
});

test("what the ledger refuses is not sent", async () => {
  const device = await Device.open(task, { lifetimeEpsilon: 1.5 });
  await device.report("tea");
  for (const day of [0, 1]) {
    device.now = START + day * DAY;
    await refused(device.report("tea"), BudgetExceeded, day ? /lifetime/ : /each period/);
  }
  assert.equal(collector.bodies.length, 1);
});

// --- what a device believes ---

test("another task under the pinned id", async () => {
  collector.tasks.set(task, collector.tasks.get(await collector.publish({ epsilon: "4.0" }))); // well signed, by the same key
  await refused((await Device.open()).report("tea"), WireError, /another task/);
});

test("a task signed by somebody else, or as something else, or with a bit flipped", async () => {
  const foreign = await makeSigner();
  const flip = (text) => text.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
  const signers = [foreign.sign, (_, text) => SIGNER.sign("deniable round 1\n", text), async (...parts) => flip(await SIGNER.sign(...parts)), () => ""]; // prettier-ignore
  for (const sign of signers) {
    collector.signer = { ...SIGNER, sign };
    const device = await Device.open();
    await refused(device.report("tea"), WireError, /signature/);
    await refused(device.reporter.task(), WireError, /do not trust this collector/);
    assert.deepEqual(await device.ledger.entries(), []);
  }
});

test("a task that is not canonical, though pinned and signed", async () => {
  const spaced = collector.tasks.get(task).replace(",", ", ");
  const id = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(spaced))));
  collector.tasks.set(id, spaced);
  await refused((await Device.open(id)).report("tea"), WireError, /white space/);
});

for (const body of ["", "<html>", "[]", "{}", "null", '{"task": 7, "signature": ""}', '{"task": "\\ud800", "signature": ""}', "\u0000"]) {
  test(`no task: ${JSON.stringify(body)}`, async () => {
    const device = await Device.open(task, { fetch: async () => new Response(body) });
    await refused(device.report("tea"), WireError, /check the collector's address/);
    assert.deepEqual(await device.ledger.entries(), []);
  });
}

test("a task that the collector does not know", async () => {
  await refused((await Device.open("00".repeat(32))).report("tea"), ProtocolError, /404/);
});

test("a question that costs more than the task promises", async () => {
  const device = await Device.open(await collector.publish({ epsilon: "0.5" }));
  await refused(device.report("tea"), ProtocolError, /epsilon 1\.0, .* at most epsilon 0\.5/);
  assert.deepEqual(await device.ledger.entries(), []);
});

// --- rounds ---

/** A device whose ticket, of two, is 0 or 1. */
const ticket = (number) => {
  const source = new Stream(BigInt(number));
  source.below = () => number;
  return source;
};

test("a device answers in its round only", async () => {
  const id = await collector.publishRounds();
  const [early, late] = [await Device.open(id, { source: ticket(0) }), await Device.open(id, { source: ticket(1) })];
  assert.equal(await early.report("tea"), null); // no round is open
  collector.openRound(id, 0);
  assert.deepEqual([(await early.report("tea"))?.period, await late.report("tea")], [0, null]);
  collector.openRound(id, 1, { first: "1/2" });
  assert.deepEqual([await early.report("tea"), (await late.report("tea"))?.period], [null, 1]);
  assert.deepEqual([...collector.reports.values()].map(({ period }) => period), [0, 1]); // prettier-ignore
  collector.openRound(id, 2, { share: "1", scale: 1 }); // whoever asks everyone again gets no second answer
  await refused(early.report("tea"), BudgetExceeded, /ever/);
});

test("rounds that are not the collector's own, of another task, or dearer than promised", async () => {
  const id = await collector.publishRounds();
  const device = await Device.open(id);
  await device.reporter.task();
  const all = { share: "1", scale: 1 };
  collector.openRound(id, 0, all);
  const text = collector.rounds.get(id);
  collector.signer = { ...SIGNER, sign: (_, signed) => SIGNER.sign("deniable task 1\n", signed) };
  await refused(device.report("tea"), WireError, /signature/);
  collector.signer = await makeSigner();
  await refused(device.report("tea"), WireError, /signature/);
  collector.signer = SIGNER;
  collector.openRound(id, 0, { ...all, task: "00".repeat(32) });
  await refused(device.report("tea"), WireError, /a round of task/);
  collector.rounds.set(id, text.replace("{", "{ "));
  await refused(device.report("tea"), WireError, /white space/);
  collector.openRound(id, 0, { ...all, questions: [question({ spec: specWith("GRR", ({ epsilon }) => epsilon === "2.0") })] });
  await refused(device.report("tea"), ProtocolError, /epsilon 2\.0/);
  collector.rounds.delete(id);
  collector.tasks.delete(id); // somebody else's 404 is not the end of the rounds
  await refused(device.report("tea"), ProtocolError, /404/);
  assert.deepEqual([await device.ledger.entries(), collector.bodies], [[], []]);
});

test("a round that not every value can answer is refused whatever the value, and a value outside the task before any round", async () => {
  const id = await collector.publishRounds({ protocol: { protocol: "PEM", domain: { kind: "text", max_length: 6 } }, epsilon: "8.0" });
  const device = await Device.open(id);
  await refused(device.report("too long"), DomainError, /6 bytes/);
  assert.equal(collector.count("/round"), 0);
  const text = (more) => ({ ...specFromText, parameters: { ...specFromText.parameters, domain: { kind: "text", max_length: more } } });
  const specFromText = specWith("OLH", ({ domain }) => domain.kind === "text");
  const evil = [
    question(),
    question({ spec: text(5) }),
    question({ spec: text(7) }),
    question({ encoder: { encoder: "Attribute", name: "x" } }),
  ];
  for (const asked of evil) {
    collector.openRound(id, 0, { scale: 1, questions: [{ ...asked, share: "1" }] });
    for (const value of ["secret", "tea", ""]) await refused(device.report(value), ProtocolError, /would show what/);
  }
  assert.deepEqual([await device.ledger.entries(), collector.bodies], [[], []]);
  const spec = text(6);
  collector.openRound(id, 0, { scale: 1, questions: [question({ spec, share: "1" })] });
  assert.equal((await device.report("secret")).state, "sent");
});

test("rounds are asked for every time unless they are kept", async () => {
  const id = await collector.publishRounds();
  const all = { share: "1", scale: 1 };
  collector.openRound(id, 0, all);
  const board = new Board(URL_, { fetch: collector.fetch, keepRounds: true });
  const period = async (to) => (await (await Device.open(id, { to })).report("tea")).period;
  for (let i = 0; i < 5; i++) assert.equal(await period(board), 0);
  assert.equal(collector.count("/round"), 1);
  collector.openRound(id, 1, all);
  assert.equal(await period(board), 0);
  board.refresh();
  assert.deepEqual([await period(board), await period(URL_), collector.count("/round")], [1, 1, 3]);
});

// --- the network ---

const BUSY = [["no connection"], ["reply lost"], ...[429, 503, 507, 408].map((status) => [status])];

for (const [fault] of BUSY) {
  test(`the same bytes are sent again after: ${fault}`, async () => {
    for (let i = 0; i < 2; i++) collector.faults.push(typeof fault === "number" ? failure(fault, "busy") : fault);
    const device = await Device.open();
    assert.equal((await device.report("tea")).state, "sent");
    assert.equal(collector.count("POST"), 3);
    assert.equal(new Set(collector.bodies).size, 1);
    assert.equal(collector.reports.size, 1);
    assert.deepEqual(await device.ledger.spent(), [1n, 1n]);
  });
}

test("waits double, and what the collector asks for is the least", async () => {
  const device = await Device.open();
  collector.faults = ["no connection", "no connection", "no connection"];
  await device.report("tea");
  const [first, second, third] = device.slept;
  assert.ok(0.25 <= first && first <= 0.5 && 0.5 <= second && second <= 1 && 1 <= third && third <= 2, `${device.slept}`);
  const other = await Device.open();
  collector.faults = [failure(429, "busy", { "retry-after": "7" })];
  assert.equal((await other.report("tea")).state, "sent");
  assert.deepEqual(other.slept, [7]);
  const patient = await Device.open();
  collector.faults = [failure(503, "busy", { "retry-after": "3600" })];
  assert.equal((await patient.report("tea")).state, "pending");
  assert.deepEqual(patient.slept, []);
  const confused = await Device.open();
  collector.faults = ["soon", "-1", "Wed, 21 Oct 2015 07:28:00 GMT"].map((junk) => failure(429, "busy", { "retry-after": junk }));
  assert.equal((await confused.report("tea")).state, "sent");
});

test("after some attempts the report waits for a better day", async () => {
  const device = await Device.open();
  for (const fault of ["no connection", 503]) {
    collector.faults = Array.from({ length: 4 }, () => (fault === 503 ? failure(503, "busy") : fault));
    assert.equal((await device.report("tea")).state, "pending");
    device.now += DAY;
  }
  collector.faults = Array.from({ length: 4 }, () => "no connection");
  assert.deepEqual((await device.reporter.flush()).map(({ state }) => state), ["pending"]); // prettier-ignore
  assert.deepEqual((await device.reporter.flush()).map(({ state, period }) => [state, period]), [["sent", 0], ["sent", 1]]); // prettier-ignore
  assert.deepEqual(collector.bodies, (await device.ledger.entries()).map(({ report }) => toHex(report))); // prettier-ignore
  assert.deepEqual(await device.reporter.flush(), []);
});

test("what the collector rejects is final, and costs what it cost", async () => {
  collector.rejects = "too_late";
  const device = await Device.open();
  const { state, code } = await device.report("tea");
  assert.deepEqual([state, code, await device.reporter.flush()], ["refused", "too_late", []]);
  const other = await Device.open();
  collector.faults = [failure(413, "too_large")];
  await other.report("tea");
  assert.deepEqual(await other.states(), [["refused", "http_413"]]);
  assert.deepEqual(await other.ledger.spent(), [1n, 1n]);
});

const PAGES = ["<html>404 Not Found</html>", "", '{"error": "gone"}', '{"error": {"code": "Log in first"}}', "[]", "null"];

for (const status of [301, 400, 403, 404]) {
  test(`a ${status} by somebody else says nothing about a report`, async () => {
    const device = await Device.open();
    await device.report("tea", { send: false });
    for (const body of PAGES) {
      collector.faults = Array.from({ length: 4 }, () => new Response(body, { status }));
      assert.deepEqual((await device.reporter.flush()).map((receipt) => receipt.state), ["pending"], body); // prettier-ignore
    }
    collector.faults = [];
    assert.deepEqual((await device.reporter.flush()).map((receipt) => receipt.state), ["sent"]); // prettier-ignore
  });
}

test("a friendly page is no acknowledgement, and a code that is none is not shown", async () => {
  const device = await Device.open();
  await device.report("tea", { send: false });
  const [{ report }] = await device.ledger.entries();
  const id = toHex(openBatch(report)[0].id);
  const odd = ["Pay €5 to continue", "x".repeat(41), 7, null].map((code) => JSON.stringify({ rejected: [{ id, code }] }));
  for (const body of ["<html>Welcome</html>", "{}", '{"rejected": [7]}', '{"rejected": [{}]}', "[".repeat(100_000), ...odd]) {
    collector.faults = [new Response(body)];
    assert.deepEqual((await device.reporter.flush()).map(({ state }) => state), ["pending"], body.slice(0, 60)); // prettier-ignore
  }
  collector.faults = [Response.json({ rejected: [{ id: "00".repeat(16), code: "too_late" }] })]; // of another report
  assert.deepEqual((await device.reporter.flush()).map(({ state }) => state), ["sent"]); // prettier-ignore
});

test("withdrawn while the network is away", async () => {
  const device = await Device.open();
  collector.faults = ["no connection"];
  device.sleep = () => device.ledger.withdraw(task);
  await refused(device.report("tea"), BudgetExceeded, /consent/);
  assert.deepEqual([collector.bodies, await device.states()], [[], [["refused", "withdrawn"]]]);
});

test("an answer without end is cut off", async () => {
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(2 ** 20)) });
  const device = await Device.open(task, { fetch: async () => new Response(endless) });
  await assert.rejects(device.reporter.task(), (error) => error.name === "TransportError");
});

const ADDRESSES = [
  "",
  "collector",
  "ftp://x",
  "http://example.org",
  "https://a@b",
  "https://x?y",
  "https://x#y",
  "http://localhost.example",
];

test("a collector is reached by https, or on this machine", () => {
  for (const address of ADDRESSES) assert.throws(() => new Board(address), ParameterError, address);
  for (const address of ["https://x/path/", "http://localhost:1", "http://127.0.0.1", "http://[::1]:7"]) assert.ok(new Board(address));
});
