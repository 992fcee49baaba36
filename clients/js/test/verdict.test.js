/** How strong a promise is: in the words that Python has for it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Task, Verdict, verdicts } from "../src/index.js";
import { vectors } from "./replay.js";

test("numbers get the verdicts of the vectors", () => {
  for (const { epsilon, delta, strength, level, text } of vectors("verdicts").numbers) {
    const verdict = new Verdict(epsilon, delta);
    assert.deepEqual([verdict.strength, verdict.level, `${verdict}`], [strength ?? Infinity, level, text]);
  }
});

test("tasks get a verdict for each line of trust, on all answers that they may ask", async () => {
  for (const { task, said } of vectors("verdicts").tasks) {
    const found = verdicts(await Task.fromJson(task));
    assert.deepEqual(
      found.map((verdict) => `${verdict}`),
      said.map(({ text }) => text),
    );
  }
});
