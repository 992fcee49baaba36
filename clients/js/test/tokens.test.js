/** Tokens and signatures: the vectors shared with Python, the standard's own, and what must not be believed. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { takesAll, taskDomain } from "../src/answerable.js";
import { assignedSeed } from "../src/assigned.js";
import { blind, blindWith, finalize, verify } from "../src/blind_rsa.js";
import { bigEndian, readBigEndian, utf8 } from "../src/bytes.js";
import { domainFromJson } from "../src/domain_json.js";
import { enrol, prove, readSecret, spendId, stampFor } from "../src/enrolment.js";
import {
  encoderFromJson, fromHex, MemoryLedger, openBatch, ParameterError, ProtocolError, Question, specFromJson, Task, toHex, WireError,
} from "../src/index.js"; // prettier-ignore
import { verifySignature } from "../src/signature.js";
import { ReplaySource, vectors } from "./replay.js";

const { cases: [CASE], refused: REFUSED, assigned, blinding, secrets, refused_secrets: refusedSecrets } = vectors("tokens"); // prettier-ignore
const TASK = await Task.fromJson(CASE.task);
const replied = (text, status = 200) => ({ status, retryAfter: 0, body: utf8(text) });
const kept = (ledger, name) => ledger.recall(TASK.id, name);

test("the standard's own vector", async () => {
  const vector = JSON.parse(readFileSync(new URL("../../../tests/data/rfc9474.json", import.meta.url), "utf8"));
  const [p, q, inverse] = [vector.p, vector.q, vector.inv].map((text) => BigInt(`0x${text}`));
  const [message, salt] = [fromHex(vector.msg), fromHex(vector.salt)];
  const modulus = bigEndian(p * q, 512);
  const r = modPower(inverse, (p - 1n) * (q - 1n) - 1n, p * q); // the inverse's inverse
  const blinded = await blindWith(modulus, message, salt, r);
  assert.equal(toHex(blinded.message), vector.blinded_msg);
  assert.equal(toHex(blinded.inverse), vector.inv);
  const unblinded = BigInt(`0x${vector.sig}`); // what the signer answered is the signature, blinded
  const answer = bigEndian((unblinded * r) % (p * q), 512);
  assert.equal(toHex(await finalize(modulus, message, answer, blinded)), vector.sig);
  assert.ok(!(await verify(modulus, message, bigEndian(unblinded ^ 1n, 512))));
});

function modPower(base, exponent, n) {
  let result = 1n;
  for (let [square, rest] = [base % n, exponent]; rest; rest >>= 1n, square = (square * square) % n) {
    if (rest & 1n) result = (result * square) % n;
  }
  return result;
}

test("blinding replays, and a factor that does not fit is drawn again", async () => {
  for (const { modulus, message, words, blinded, inverse } of blinding) {
    const source = new ReplaySource(words);
    const made = await blind(fromHex(modulus), fromHex(message), source);
    assert.deepEqual([toHex(made.message), toHex(made.inverse)], [blinded, inverse]);
    assert.equal(source.consumed, words.length);
  }
});

test("tokens replay, from the draw to the report", async () => {
  const [ledger, source, asked] = [new MemoryLedger({ lifetimeEpsilon: 8 }), new ReplaySource(CASE.words), []];
  const post = async (body) => {
    asked.push(JSON.parse(new TextDecoder().decode(body)));
    assert.equal(toHex(await kept(ledger, "drawn tokens")), CASE.drawn, "kept before anything is sent");
    return replied(JSON.stringify({ signatures: CASE.signatures }));
  };
  await enrol(TASK, " dc_0\n", ledger, post, source);
  assert.deepEqual(asked, [{ code: "dc_0", blinded: CASE.blinded }]);
  assert.equal(source.consumed, CASE.words.length);
  assert.equal(toHex(await kept(ledger, "tokens")), CASE.tokens);
  await enrol(TASK, "another", ledger, post, source); // has them already, and asks nobody
  assert.equal(asked.length, 1);
  const [envelope] = openBatch(fromHex(CASE.envelope));
  const make = await (await stampFor(TASK, ledger, null))(envelope);
  assert.deepEqual(
    [0, 1, 2].map((place) => toHex(make(place))),
    CASE.stamped,
  );
});

test("assigned seeds replay, and the device draws only what comes after", async () => {
  const sizes = new Set();
  for (const { spec: text, value, token, seed, words, report } of assigned) {
    const [spec, source] = [specFromJson(text), new ReplaySource(words)];
    const found = await assignedSeed(fromHex(token), spec.assignedWords);
    assert.deepEqual(found.map((word) => word.toString(16).padStart(16, "0")), seed); // prettier-ignore
    const question = new Question({ name: "q", spec: JSON.parse(text), encoder: { encoder: "Identity" }, share: "1" });
    assert.equal(toHex(spec.encode(await question.answer(value, source, found))), report);
    assert.equal(source.consumed, words.length);
    sizes.add(seed.length);
  }
  assert.deepEqual([...sizes].sort(), [0, 2, 3]);
});

test("after a lost answer the very same request is made again", async () => {
  const [ledger, source, asked] = [new MemoryLedger({ lifetimeEpsilon: 8 }), new ReplaySource(CASE.words), []];
  const lost = async (body) => {
    asked.push(toHex(body));
    throw new Error("lost");
  };
  for (let i = 0; i < 2; i++) await assert.rejects(enrol(TASK, "dc_0", ledger, lost, source), /lost/);
  assert.equal(new Set(asked).size, 1);
});

for (const { why, answer } of REFUSED) {
  test(`no tokens from an answer: ${why}`, async () => {
    const ledger = new MemoryLedger({ lifetimeEpsilon: 8 });
    await assert.rejects(
      enrol(TASK, "dc_0", ledger, async () => replied(answer), new ReplaySource(CASE.words)),
      WireError,
    );
    assert.equal(await kept(ledger, "tokens"), null);
    await assert.rejects(stampFor(TASK, ledger, null), ProtocolError);
  });
}

for (const { why, task: text, drawn, answer } of vectors("tokens").refused_drawn) {
  test(`a token that an older release drew badly is never kept: ${why}`, async () => {
    // Its signature is right. Each attempt fails with the same error: the same request goes out, and nothing is drawn again.
    const [task, ledger, asked] = [await Task.fromJson(text), new MemoryLedger({ lifetimeEpsilon: 8 }), []];
    await ledger.remember(task.id, "drawn tokens", async () => fromHex(drawn));
    const post = async (body) => (asked.push(toHex(body)), replied(answer));
    const untrusted = (error) => error instanceof WireError && /factor in common .* do not trust this collector/.test(error.message);
    for (const attempts of [1, 2]) {
      await assert.rejects(enrol(task, "dc_0", ledger, post, new ReplaySource([])), untrusted);
      assert.equal(asked.length, attempts);
    }
    assert.equal(new Set(asked).size, 1);
    assert.equal(await ledger.recall(task.id, "tokens"), null);
    await assert.rejects(stampFor(task, ledger, null), ProtocolError);
  });
}

test("a code that is not taken is said to be", async () => {
  const refused = enrol(TASK, "dc_0", new MemoryLedger({ lifetimeEpsilon: 8 }), async () => replied("", 403), new ReplaySource(CASE.words));
  await assert.rejects(refused, (error) => error instanceof ProtocolError && /status 403/.test(error.message));
});

test("only tasks with tokens are enrolled for", async () => {
  const open = await Task.fromJson(vectors("budget").tasks.daily);
  await assert.rejects(enrol(open, "dc_0", new MemoryLedger({ lifetimeEpsilon: 8 }), assert.fail), ParameterError);
});

test("a token's report has the id that its number gives", async () => {
  assert.equal(toHex(await spendId(new Uint8Array(32))), "9bd1ecd530d6a239bbf65f57789fd565");
});

test("proofs of a shared secret replay, and a secret is never shown", async () => {
  for (const { text, envelope, proof } of secrets)
    assert.equal(toHex(await prove(readSecret(text), openBatch(fromHex(envelope))[0])), proof);
  for (const text of [...refusedSecrets, null, undefined]) {
    assert.throws(() => readSecret(text), (error) => error instanceof ParameterError && !(text && error.message.includes(text.slice(3, 30)) && text.length > 9)); // prettier-ignore
  }
});

for (const { why, key, message, signature, right } of vectors("signatures").cases) {
  test(`signature ${right ? "taken" : "refused"}: ${why}, ${key.slice(0, 8)}`, async () => {
    assert.equal(await verifySignature(fromHex(key), fromHex(message), fromHex(signature)), right);
  });
}

test("which rounds are answered replays", () => {
  const count = { true: 0, false: 0 };
  for (const { domain, encoder, asked, all } of vectors("answerable").cases) {
    const question = { encoder: encoderFromJson(JSON.parse(encoder)), spec: { domain: domainFromJson(JSON.parse(asked)), answersAll: true } };
    assert.equal(takesAll(question, domainFromJson(JSON.parse(domain))), all, `${domain} ${encoder} ${asked}`);
    count[all]++;
  }
  assert.ok(Math.min(count.true, count.false) > 100);
});

test("which rounds are answered with records and sets replays", () => {
  const { asked, refused } = vectors("answerable").protocols;
  for (const { protocol, question, all } of asked) {
    const found = takesAll(new Question(JSON.parse(question)), taskDomain({ protocol: JSON.parse(protocol) }));
    assert.equal(found, all, `${protocol} ${question}`);
  }
  assert.deepEqual(new Set(asked.map(({ all }) => all)), new Set([true, false]));
  for (const protocol of refused) assert.throws(() => taskDomain({ protocol: JSON.parse(protocol) }), WireError, protocol);
});

test("rounds neither ask for numbers that some do not have nor for what is kept", () => {
  for (const name of ["SignRR", "LongitudinalGRR", "GRR"]) {
    const spec = specFromJson(vectors(name).cases[0].spec);
    assert.equal(takesAll({ encoder: encoderFromJson({ encoder: "Identity" }), spec }, spec.domain), name === "GRR", name);
  }
});

test("big numbers and bytes are each other's inverse", () => {
  assert.equal(readBigEndian(bigEndian(2n ** 2047n + 1n, 256)), 2n ** 2047n + 1n);
});
