/** Words in, report out: every mechanism replays its vectors, byte for byte, and refuses what must be refused. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { fromHex, MECHANISMS, specFromJson, toHex, WireError } from "../src/index.js";
import { FOLDER, ReplaySource, valueOf, vectors } from "./replay.js";

const files = readdirSync(FOLDER).map((file) => vectors(file.replace(".json", "")));
const mechanisms = files.filter((file) => "mechanism" in file);

test("every mechanism with vectors is here, and no other", () => {
  assert.deepEqual(mechanisms.map(({ mechanism }) => mechanism).sort(), [...MECHANISMS.keys()].sort());
});

for (const { mechanism, cases, refused_reports: reports, refused_specs: specs } of mechanisms) {
  test(`${mechanism} replays`, async () => {
    for (const { spec: text, digest, value, words, report: expected } of cases) {
      const spec = specFromJson(text);
      const source = new ReplaySource(words);
      const report = await spec.randomize(valueOf(value), source);
      assert.equal(toHex(spec.encode(report)), expected, text);
      assert.equal(source.consumed, words.length, text);
      assert.equal(toHex(await spec.digest()), digest);
      assert.deepEqual(spec.decode(fromHex(expected)), report);
    }
  });

  test(`${mechanism} refuses bad reports`, () => {
    for (const { spec, why, report } of reports)
      assert.throws(() => specFromJson(spec).decode(fromHex(report)), WireError, `${why}: ${spec}`);
  });

  test(`${mechanism} refuses bad specs`, () => {
    for (const { spec, why } of specs) assert.throws(() => specFromJson(spec), WireError, `${why}: ${spec}`);
  });
}

test("specs over the whole range of epsilon are read", async () => {
  for (const { spec, digest } of vectors("specs").cases) assert.equal(toHex(await specFromJson(spec).digest()), digest);
});

for (const { why, spec } of vectors("specs").refused) {
  test(`refused: ${why} ${spec.slice(0, 60)}`, () => assert.throws(() => specFromJson(spec), WireError));
}

test("a report that randomize did not make is not encoded", () => {
  const named = Object.fromEntries(mechanisms.map(({ mechanism, cases }) => [mechanism, specFromJson(cases[0].spec)]));
  const bad = {
    RR: [2, true, 0.5, -1, "1", 1n, undefined],
    GRR: [2, NaN, [0]],
    OUE: [new Uint8Array(2), new Uint8Array([4]), 1, [1]],
    SubsetSelection: [new Uint8Array([3])],
    OLH: [[[1n], 0], [[1n, 2n ** 64n], 0], [[1, 2], 0], [[1n, 2n], 3, 0], 7],
    DBitFlip: [[7, new Uint8Array([0])]],
  };
  for (const [mechanism, reports] of Object.entries(bad)) {
    for (const report of reports) assert.throws(() => named[mechanism].encode(report), WireError, mechanism);
  }
});
