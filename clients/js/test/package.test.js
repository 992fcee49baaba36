/** The package itself: no dependency, no weak randomness, types for all that is exported, and the size that README states. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import * as deniable from "../src/index.js";
import { sha256 } from "../src/platform.js";
import { FakeCollector, makeSigner } from "./fake.js";
import { vectors } from "./replay.js";

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const sources = readdirSync(new URL("../src", import.meta.url), { recursive: true })
  .filter((path) => path.endsWith(".js"))
  .map((path) => [path, read(`src/${path}`)]);

test("only files of the package are imported, and randomness comes from the system alone", () => {
  for (const [path, text] of sources) {
    for (const [, target] of text.matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)) assert.match(target, /^\.\.?\//, path);
    assert.doesNotMatch(text, /Math\.random/, path);
    assert.equal(text.includes("getRandomValues"), path === "source.js", path);
  }
  const { dependencies, devDependencies, peerDependencies } = JSON.parse(read("package.json"));
  assert.deepEqual([dependencies, devDependencies, peerDependencies], [undefined, undefined, undefined]);
});

test("all that is exported has a type, and nothing else has", () => {
  const typed = [...read("index.d.ts").matchAll(/^export (?:declare )?(?:class|const|function) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(typed.sort(), Object.keys(deniable).sort());
});

test("README states the size, give or take a tenth", () => {
  const bytes = sources.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0);
  const packed = sources.reduce((sum, [, text]) => sum + gzipSync(text, { level: 9 }).length, 0);
  const whole = gzipSync(sources.map(([, text]) => text).join(""), { level: 9 }).length;
  const [, ...stated] = /Size: (\d+) files, (\d+) kB .*?(\d+) kB gzipped .*?(\d+) kB as one/s.exec(read("README.md")).map(Number);
  const measured = [sources.length, bytes / 1000, packed / 1000, whole / 1000];
  assert.ok(
    stated.every((figure, i) => Math.abs(figure / measured[i] - 1) < 0.1),
    `README says ${stated}, it is ${measured}`,
  );
});

/** A block of README as a function of what it takes for granted, which returns one of its names. */
function example(place, result, ...names) {
  const code = [...read("README.md").matchAll(/```js\n(.*?)```/gs)][place][1].replace(/^import .*$/m, "");
  return new (async () => {}).constructor(...names, `${code}; return ${result};`);
}

test("the first example in README works", async () => {
  const collector = new FakeCollector(await makeSigner());
  const id = await collector.publish({ start: 0, end: 2 ** 40, period: 2 ** 39 });
  class Here extends deniable.Reporter {
    constructor(address, options) {
      super(address, { ...options, fetch: collector.fetch });
    }
  }
  const run = example(0, "[receipt.state, rest, ledger]", "IndexedDBLedger", "Reporter", "PINNED", "agrees");
  const [state, rest, ledger] = await run(deniable.MemoryLedger, Here, id, (question, statement) => question && statement);
  assert.deepEqual([state, rest, (await ledger.entries()).length, collector.reports.size], ["sent", [], 1, 1]);
});

test("the second example in README works", async () => {
  const { cases } = vectors("tasks");
  const at = (task) => Object.assign(Object.create(task), { periodAt: () => task.periodAt(task.start) });
  const Read = { fromJson: async (text) => at(await deniable.Task.fromJson(text)) };
  const run = example(1, "bytes", "Task", "packEnvelope", "toHex", "SYSTEM", "text", "PINNED");
  const plain = cases.find(({ task }) => JSON.parse(task).strata.length === 0 && !JSON.parse(task).rounds && /"tea"/.test(task));
  const bytes = await run(Read, deniable.packEnvelope, deniable.toHex, deniable.SYSTEM, plain.task, plain.id);
  const [sent] = deniable.openBatch(bytes);
  assert.deepEqual([deniable.toHex(sent.task), sent.period, sent.question, sent.stratum], [plain.id, 0, 0, 0]);
});

test("on a page that could have been changed on its way everything refuses, first thing", async () => {
  const [board, spec] = ["https://x", deniable.specFromJson(vectors("GRR").cases[0].spec)];
  const options = { task: "00".repeat(32), lifetimeEpsilon: 8 };
  const ledger = new deniable.MemoryLedger(options);
  globalThis.isSecureContext = false;
  try {
    const attempts = [
      () => new deniable.MemoryLedger(options),
      () => new deniable.IndexedDBLedger(options),
      () => new deniable.Board(board),
      () => new deniable.Reporter(board, { ...options, ledger }),
      () => new deniable.SYSTEM.constructor().word(),
      () => deniable.Task.fromJson(vectors("tasks").cases[0].task),
      () => spec.digest(),
    ];
    for (const attempt of attempts) {
      const refused = (error) => error instanceof deniable.ProtocolError && /https or from localhost/.test(error.message);
      await assert.rejects(async () => attempt(), refused, `${attempt}`);
    }
  } finally {
    delete globalThis.isSecureContext;
  }
  assert.ok(new deniable.MemoryLedger(options));
});

test("where the browser keeps cryptography back, the reason is given", async () => {
  const whole = Object.getOwnPropertyDescriptor(globalThis, "crypto");
  Object.defineProperty(globalThis, "crypto", { value: {}, configurable: true });
  try {
    await assert.rejects(sha256(new Uint8Array()), (error) => error instanceof deniable.ProtocolError && /https/.test(error.message));
  } finally {
    Object.defineProperty(globalThis, "crypto", whole);
  }
});

test("an error says parameter, what was received, what is allowed and the fix", async () => {
  const spec = deniable.specFromJson(JSON.parse(readFileSync(new URL("../../../vectors/GRR.json", import.meta.url))).cases[0].spec);
  await assert.rejects(spec.randomize(2n ** 70n), {
    name: "DomainError",
    parameter: "value",
    received: 2n ** 70n,
    allowed: "integers from 0 to 1",
    fix: "correct or drop it; nothing was counted",
    message: 'value: got "1180591620717411303424"; allowed: integers from 0 to 1; correct or drop it; nothing was counted',
  });
});
