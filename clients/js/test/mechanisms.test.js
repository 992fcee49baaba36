/** Words in, report out: every mechanism replays its vectors, byte for byte, and refuses what must be refused. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { writeCanonical } from "../src/canonical.js";
import { Diary, fromHex, MECHANISMS, specFromJson, toHex, WireError } from "../src/index.js";
import { FOLDER, ReplaySource, valueOf, vectors } from "./replay.js";

const files = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".json"))
  .map((file) => vectors(file.replace(".json", "")));
const mechanisms = files
  .map((file) => ({ ...file, mechanism: file.mechanism ?? file.longitudinal }))
  .filter(({ mechanism }) => mechanism !== undefined);

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

for (const { longitudinal, histories } of files.filter((file) => "longitudinal" in file)) {
  test(`${longitudinal} replays what a device keeps between its answers`, async () => {
    for (const { spec: text, words, steps } of histories) {
      const [spec, source] = [specFromJson(text), new ReplaySource(words)];
      let kept = {};
      for (const { value, known, drawn, report } of steps) {
        const diary = await Diary.of(spec, valueOf(value));
        await diary.open(kept);
        assert.equal(diary.known, known, text);
        assert.equal(toHex(spec.encode(await diary.report(source))), report, text);
        assert.deepEqual(Object.fromEntries(Object.entries(diary.drawn).map(([name, answer]) => [name, toHex(answer)])), drawn, text);
        kept = { ...kept, ...diary.drawn };
      }
      assert.equal(source.consumed, words.length, text);
    }
    assert.ok(histories.some(({ steps }) => steps.some(({ known }) => known)));
  });
}

test("longitudinal thresholds are recomputed: one part in 2^64 is refused wherever the mechanism has no choice", () => {
  for (const { longitudinal, cases } of files.filter((file) => "longitudinal" in file && file.longitudinal !== "RAPPOR")) {
    for (const text of new Set(cases.map(({ spec }) => spec))) {
      for (const [name, value] of Object.entries(JSON.parse(text).thresholds)) {
        for (const step of [-1n, 1n]) {
          const other = BigInt(value) + step;
          const content = JSON.parse(text);
          content.thresholds[name] = other < 2n ** 53n ? Number(other) : `${other}`;
          assert.throws(() => specFromJson(writeCanonical(content)), WireError, `${longitudinal} ${name} ${step}`);
        }
      }
    }
  }
});

test("RAPPOR takes any coin, and none that breaks a promise or leaves one unused", () => {
  for (const text of new Set(vectors("RAPPOR").cases.map(({ spec }) => spec))) {
    const { parameters, thresholds } = JSON.parse(text);
    const evil = [
      { flip: BigInt(thresholds.flip) - 2n ** 40n },
      { keep_again: BigInt(thresholds.keep_again) + 2n ** 40n },
      { raise_again: BigInt(thresholds.raise_again) - 2n ** 40n },
      { flip: BigInt(thresholds.flip) + 2n ** 40n },
      { keep_again: BigInt(thresholds.keep_again) - 2n ** 40n },
      { raise_again: BigInt(thresholds.raise_again) + 2n ** 40n },
      { flip: 0n },
      { flip: 2n ** 63n },
      { keep_again: 2n ** 64n },
      { raise_again: 0n },
      { keep_again: BigInt(thresholds.raise_again) },
    ];
    for (const change of evil) {
      const [[name, value]] = Object.entries(change);
      const changed = { ...thresholds, [name]: value < 2n ** 53n ? Number(value) : `${value}` };
      const evilText = writeCanonical({ mechanism: "RAPPOR", parameters, thresholds: changed });
      assert.throws(() => specFromJson(evilText), WireError, `${name} ${value}`);
    }
  }
});

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
