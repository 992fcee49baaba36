/** The package itself: no dependency, no weak randomness, types for all that is exported, and the size that README states. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import * as deniable from "../src/index.js";
import { sha256 } from "../src/platform.js";

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

test("the example in README works", async () => {
  const { cases } = JSON.parse(readFileSync(new URL("../../../vectors/tasks.json", import.meta.url)));
  const [, code] = /```js\n(.*?)```/s.exec(read("README.md"));
  const body = code
    .replace(/^import .*$/m, "")
    .replace("periodAt(Date.now() / 1000)", "periodAt(task.start)")
    .replace("stratum({})", 'stratum({ platform: "web", plan: "free" })');
  const run = new (async () => {}).constructor("text", "PINNED", ...Object.keys(deniable), `${body}; return bytes;`);
  const bytes = await run(cases[0].task, cases[0].id, ...Object.values(deniable));
  const [sent] = deniable.openBatch(bytes);
  assert.deepEqual([deniable.toHex(sent.task), sent.period, sent.question, sent.stratum], [cases[0].id, 0, 0, 2]);
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
