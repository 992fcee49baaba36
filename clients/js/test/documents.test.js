/** What travels besides reports: encoders, tasks, rounds, envelopes. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromHex, toHex, utf8 } from "../src/bytes.js";
import { parseCanonical, toPlain } from "../src/canonical.js";
import { sigmoid } from "../src/gradient.js";
import {
  DomainError, encoderFromJson, openBatch, OpenedRound, packEnvelope, ParameterError, Question, Task, WireError,
} from "../src/index.js"; // prettier-ignore
import { spell } from "../src/probability.js";
import { ReplaySource, valueOf, vectors } from "./replay.js";

const read = (text) => encoderFromJson(parseCanonical(utf8(text)));

const encoders = (part) => ["encoders", "sets", "models"].flatMap((file) => vectors(file)[part]);

test("encoders replay", async () => {
  for (const { encoder, value, words, input } of encoders("cases")) {
    const source = new ReplaySource(words);
    assert.deepEqual(toPlain(await read(encoder).encode(valueOf(value), source)), input, `${encoder} ${JSON.stringify(value)}`);
    assert.equal(source.consumed, words.length);
  }
});

for (const { encoder, value } of encoders("refused_values")) {
  test(`value refused: ${encoder.slice(0, 60)} ${JSON.stringify(value)}`, () =>
    assert.rejects(read(encoder).encode(valueOf(value), new ReplaySource([])), DomainError));
}

for (const { encoder } of encoders("refused")) {
  test(`encoder refused: ${encoder}`, () => assert.throws(() => read(encoder), WireError));
}

test("the logistic curve is Python's at every entry of its table, and an answer costs the same behind an encoder that samples", () => {
  for (const [margin, chance] of Object.entries(vectors("models").sigmoid)) assert.equal(sigmoid(Number(margin)), chance, margin);
  for (const { question, epsilon } of vectors("sets").costs) assert.equal(spell(new Question(JSON.parse(question)).epsilon), epsilon);
});

test("a set is an array or a Set of its items, each once", async () => {
  const count = read(vectors("sets").cases.find(({ encoder }) => /HeldCount/.test(encoder)).encoder);
  assert.deepEqual([await count.encode(new Set(["tea", "bread"])), await count.encode(["bread", "tea"])], [2, 2]);
  for (const bad of ["tea", { 0: "tea" }, [undefined], [, "tea"], new Set([["tea"]]), null, 7]) {
    await assert.rejects(count.encode(bad), DomainError);
  }
});

const named = (questions, tickets, scale) => tickets.map(([ticket]) => [ticket, questions.questionOf(Number(ticket), scale)?.name ?? null]);

for (const task of vectors("tasks").cases) {
  test(`task ${task.id.slice(0, 6)} replays`, async () => {
    const found = await Task.fromJson(task.task);
    assert.equal(toHex(found.id), task.id);
    assert.equal(new TextDecoder().decode(found.canonical), task.task);
    assert.equal(found.admission, JSON.parse(task.task).admission ?? "open");
    assert.equal(toHex(found.issuer), JSON.parse(task.task).issuer ?? "");
    assert.equal(found.stratumCount, task.stratum_count);
    assert.deepEqual(found.default === undefined ? undefined : toPlain(found.default), task.default?.time ?? task.default);
    assert.equal(found.seeds, JSON.parse(task.task).seeds ?? "own");
    for (const [labels, number] of task.strata) {
      assert.equal(found.stratum(labels), number);
      assert.deepEqual(found.stratumLabels(number), labels);
    }
    for (const labels of task.refused_strata) assert.throws(() => found.stratum(labels), DomainError);
    assert.equal(found.rounds, task.periods === undefined);
    if (found.rounds) {
      assert.throws(() => found.periodAt(found.start), ParameterError);
      assert.throws(() => found.survey(), WireError);
      return;
    }
    assert.equal(found.periodCount, task.period_count);
    for (const [time, period] of task.periods) assert.equal(found.periodAt(time), period, `at ${time}`);
    for (const [period, ...span] of task.spans) assert.deepEqual(found.periodSpan(period), span);
    assert.deepEqual(named(found.survey(), task.tickets), task.tickets);
  });
}

for (const { why, task } of vectors("tasks").refused) {
  test(`task refused: ${why}`, () => assert.rejects(Task.fromJson(task), WireError));
}

for (const { why, task } of vectors("tasks").refused_surveys) {
  test(`survey refused: ${why}`, async () => {
    const found = await Task.fromJson(task);
    assert.throws(() => found.survey(), WireError);
  });
}

for (const { round, task, number, scale, state, tickets } of vectors("rounds").cases) {
  test(`round ${number} with ${tickets.length} tickets replays`, () => {
    const opened = OpenedRound.fromJson(utf8(round));
    assert.deepEqual([toHex(opened.task), opened.number, `${opened.scale}`, toHex(opened.state)], [task, number, scale, state]);
    assert.deepEqual(named(opened.round, tickets, opened.scale), tickets);
    for (const [ticket, name] of tickets) assert.equal(opened.questionOf(Number(ticket))?.name ?? null, name);
  });
}

for (const { why, round } of vectors("rounds").refused) {
  test(`round refused: ${why}`, () => assert.throws(() => OpenedRound.fromJson(round), WireError));
}

const fields = ({ task, period, question, stratum, id, payload, token }) => ({
  task: fromHex(task),
  period,
  question,
  stratum,
  id: fromHex(id),
  payload: fromHex(payload),
  token: fromHex(token),
});

test("envelopes replay", () => {
  const { cases, batches } = vectors("envelopes");
  for (const envelope of cases) {
    assert.equal(toHex(packEnvelope(fields(envelope))), envelope.bytes);
    assert.deepEqual(openBatch(fromHex(envelope.bytes)), [fields(envelope)]);
  }
  for (const { bytes, count } of batches) {
    const found = openBatch(fromHex(bytes));
    assert.equal(found.length, count);
    assert.equal(found.map((envelope) => toHex(packEnvelope(envelope))).join(""), bytes);
  }
});

for (const bad of vectors("envelopes").refused_fields) {
  test(`not packed: ${bad.why}`, () => assert.throws(() => packEnvelope(fields(bad)), WireError));
}

for (const { why, bytes } of vectors("envelopes").refused) {
  test(`batch refused: ${why}`, () => assert.throws(() => openBatch(fromHex(bytes)), WireError));
}

test("a token that is too long, and a batch of too many, are refused", () => {
  const [envelope] = vectors("envelopes").cases.map(fields);
  assert.throws(() => packEnvelope({ ...envelope, token: new Uint8Array(2 ** 16) }), WireError);
  assert.throws(() => openBatch(fromHex(vectors("envelopes").batches[1].bytes), { most: 2 }), /at most 2/);
});
