/** The ground that mechanisms stand on: canonical JSON, exact numbers, the primitives of a source, the hash families. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { fromHex, toHex, utf8 } from "../src/bytes.js";
import { parseCanonical, writeCanonical } from "../src/canonical.js";
import { reduced } from "../src/decimal.js";
import { DomainError, WireError } from "../src/errors.js";
import { HashFamily, publicFunction, stringKey } from "../src/hashing.js";
import { specFromJson } from "../src/index.js";
import { expAbove, expBelow, logAbove, spell } from "../src/probability.js";
import { SYSTEM } from "../src/source.js";
import { ReplaySource, vectors } from "./replay.js";

test("canonical JSON is read, and is what would be written", () => {
  for (const text of vectors("canonical").cases) assert.equal(writeCanonical(parseCanonical(utf8(text))), text);
});

for (const { why, bytes } of vectors("canonical").refused) {
  test(`JSON refused: ${why}`, () => assert.throws(() => parseCanonical(fromHex(bytes)), WireError));
}

test("exponentials and logarithms are Python's", () => {
  const rational = (text) => text.split("/").map(BigInt);
  const fraction = ([numerator, denominator = 1n]) => [numerator, denominator];
  for (const { epsilon, share, below, above } of vectors("probability").powers) {
    const arguments_ = [Number(epsilon), fraction(rational(share))];
    assert.deepEqual(reduced(expBelow(...arguments_)), fraction(rational(below)));
    assert.deepEqual(reduced(expAbove(...arguments_)), fraction(rational(above)));
    assert.equal(spell(Number(epsilon)), epsilon);
  }
  for (const { ratio, above } of vectors("probability").logarithms) {
    assert.equal(logAbove(fraction(rational(ratio))), Math.max(0, Number(above))); // none of ours has a ratio below 1
  }
});

const METHODS = {
  bernoulli: "bernoulli",
  bernoulli_bits: "bernoulliBits",
  bernoulli_ratio: "bernoulliRatio",
  below: "below",
  pick: "pick",
};

test("the primitives replay", () => {
  for (const { primitive, arguments: given, words, result } of vectors("source").cases) {
    const source = new ReplaySource(words);
    const numbers = given.map(BigInt);
    const last = primitive === "bernoulli_bits" ? [numbers[0], Number(numbers[1])] : primitive === "pick" ? [numbers] : numbers;
    const found = source[METHODS[primitive]](...last);
    const number = found instanceof Uint8Array ? BigInt(`0x${toHex(found.reverse())}`) : BigInt(found);
    assert.equal(number, BigInt(result), `${primitive} ${given}`);
    assert.equal(source.consumed, words.length, `${primitive} ${given}`);
  }
});

test("below gives the kind of number that it was given", () => {
  assert.equal(new ReplaySource(["8000000000000001"]).below(10), 5);
  assert.equal(new ReplaySource(["8000000000000001"]).below(10n), 5n);
});

test("below rejects the one word that would bias it, and the next one counts", () => {
  assert.equal(new ReplaySource(["0000000000000000", "aaaaaaaaaaaaaaab"]).below(3), 2); // 3 times the latter is 2^65 + 1
  assert.equal(new ReplaySource(["aaaaaaaaaaaaaaab"]).below(3), 2);
});

test("the system's words are fresh and of 64 bits", () => {
  const words = SYSTEM.words(1000);
  assert.equal(new Set(words).size, 1000); // two equal ones: probability below 1e-13
  assert.ok(words.some((word) => word >= 2n ** 63n) && words.every((word) => word >= 0n && word < 2n ** 64n));
});

test("the hash families replay", async () => {
  const { strings, symbols, public: shared } = vectors("hashing");
  for (const [text, key] of strings) assert.equal((await stringKey(utf8(text))).toString(16).padStart(16, "0"), key);
  for (const { key_bits: keyBits, range, seed, key, symbol } of symbols) {
    const words = seed.map((word) => BigInt(`0x${word}`));
    assert.equal(new HashFamily({ keyBits, range }).symbol(words, BigInt(`0x${key}`)), symbol);
  }
  for (const { key_bits: keyBits, range, salt, function: number, key, symbol } of shared) {
    const family = new HashFamily({ keyBits, range, shared: true });
    assert.equal(family.symbol(await publicFunction(salt, number), BigInt(`0x${key}`)), symbol);
  }
});

test("values outside a domain are refused, whatever they are", async () => {
  const named = (mechanism, domain) => vectors(mechanism).cases.find(({ spec }) => spec.includes(`"kind":"${domain}"`)).spec;
  const bad = {
    [named("GRR", "index")]: [2, -1, 0.5, "0", NaN, null, undefined, 2n, [0], {}],
    [named("GRR", "categories")]: ["Red", "", 0, null, ["red"]],
    [named("GRR", "integers")]: [5, -4n, "1", true, 2 ** 53, Infinity],
    [named("OLH", "text")]: ["a".repeat(65), "\ud800", 7, new Uint8Array(1), null, new String("tea")],
    [named("OLH", "bytes")]: [new Uint8Array(9), "tea", [1], new ArrayBuffer(2)],
  };
  for (const [text, values] of Object.entries(bad)) {
    for (const value of values) await assert.rejects(specFromJson(text).randomize(value), DomainError, `${text} ${String(value)}`);
  }
  const coin = specFromJson(vectors("RR").cases[0].spec);
  for (const value of [false, true, 0, 1, 1n]) assert.ok([0, 1].includes(await coin.randomize(value)));
  await assert.rejects(specFromJson(named("HRR", "index").replace('"size":2', '"size":5')).randomize(true), DomainError);
});
