/** Numbers and points in time: what they are exactly, where they lie on the grid, and what is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { domainFromJson } from "../src/domain_json.js";
import { DomainError, ParameterError, specFromJson, WireError } from "../src/index.js";
import { isCanonicalMoment, readMoment } from "../src/moments.js";
import { roundAtRandom } from "../src/numbers.js";
import { minus, over, stored, times } from "../src/rational.js";
import { ReplaySource, vectors } from "./replay.js";

const numbers = (low, high, steps = 10, more = {}) => domainFromJson({ kind: "numbers", low, high, steps, ...more });

test("a double is the number that it stores", () => {
  const cases = [
    [0, [0n, 1n]], [-0, [0n, 1n]], [1, [1n, 1n]], [-2.5, [-5n, 2n]], [0.1, [3602879701896397n, 36028797018963968n]],
    [2 ** -1074, [1n, 2n ** 1074n]], [-(2 ** -1022), [-1n, 2n ** 1022n]], [2 ** 60, [2n ** 60n, 1n]],
    [Number.MAX_VALUE, [(2n ** 53n - 1n) << 971n, 1n]],
  ]; // prettier-ignore
  for (const [double, exact] of cases) assert.deepEqual(stored(double), exact, `${double}`);
  assert.deepEqual(minus([1n, 2n], [2n, 3n]), [-1n, 6n]);
  assert.deepEqual(times([2n, 3n], [3n, 4n]), [1n, 2n]);
  assert.deepEqual(over([1n, 2n], [-3n, 4n]), [-2n, 3n]);
});

test("places on the grid are exact, and the draw has their probability", () => {
  const range = numbers("-1", "1", 4);
  assert.deepEqual(range.position(-1), [0n, 1n]);
  assert.deepEqual(range.position(1n), [4n, 1n]);
  assert.deepEqual(range.position(0.25), [5n, 2n]);
  assert.equal(range.find(0.25), 3n); // the upper one of two
  const half = "8000000000000000";
  assert.equal(roundAtRandom([5n, 2n], new ReplaySource([half])), 2);
  assert.equal(roundAtRandom([5n, 2n], new ReplaySource(["7fffffffffffffff"])), 3);
  assert.equal(roundAtRandom([4n, 1n], new ReplaySource(["0000000000000000"])), 4); // a point of the grid stays
});

test("of 0 and 1 false and true are numbers as well, and of nothing else", () => {
  assert.deepEqual(numbers("0", "1").position(true), [10n, 1n]);
  assert.throws(() => numbers("0", "2").position(true), DomainError);
});

test("what is out of range is refused, or counts as the nearest end where that was declared", () => {
  const [strict, clipped] = [numbers("0", "100"), numbers("0", "100", 10, { clip: true })];
  for (const value of [-1e-300, 100.00000000000001, 2n ** 70n, -(2n ** 70n), 1e308]) {
    assert.throws(() => strict.position(value), DomainError, `${value}`);
    assert.deepEqual(clipped.position(value), [value > 0 ? 10n : 0n, 1n]);
  }
  for (const value of [NaN, Infinity, "50", null, undefined, [50], {}, new Date(0), 2n ** 2200n, -(2n ** 2200n)]) {
    for (const domain of [strict, clipped]) assert.throws(() => domain.position(value), DomainError, String(value));
  }
  assert.deepEqual(clipped.position(2n ** 2200n - 1n), [10n, 1n]);
});

test("moments are exact to the microsecond, with a time zone or without, and never the one for the other", () => {
  const aware = numbers("2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00", 24);
  const naive = numbers("2026-01-01T00:00:00", "2026-01-02T00:00:00", 24);
  const six = [6n, 1n];
  const texts = ["2026-01-01T06:00Z", "2026-01-01T08:30:00+02:30", "2025-12-31T23:00:00.000000-07:00"];
  for (const value of [new Date("2026-01-01T06:00Z"), ...texts]) {
    assert.deepEqual(aware.position(value), six, String(value));
    assert.throws(() => naive.position(value), DomainError);
  }
  assert.deepEqual(naive.position("2026-01-01T06:00"), six);
  assert.throws(() => aware.position("2026-01-01T06:00"), DomainError);
  assert.deepEqual(naive.position("2026-01-01T00:00:00.000001"), [1n, 3_600_000_000n]);
  const none = [
    "2026-01-01", "2026-01-01 06:00", "2026-01-01T24:00", "2026-01-01T06:00:60", "2026-02-30T06:00", "2026-01-01T06:00:00.1234567",
    "0000-01-01T00:00", "+002026-01-01T06:00", "2026-01-01T06:00+24:00", 1767247200, new Date(NaN),
  ]; // prettier-ignore
  for (const value of none) for (const domain of [aware, naive]) assert.throws(() => domain.position(value), DomainError, String(value));
  assert.deepEqual(readMoment("0001-01-01T00:00:00Z").seconds, [-62135596800n * 1_000_000n, 1_000_000n]);
  assert.ok(isCanonicalMoment("2026-01-01T00:00:00.500000+05:45") && !isCanonicalMoment("2026-01-01T00:00:00.000000"));
});

const BAD = [
  ["1", "0"], ["0", "0"], ["2/4", "1"], ["0.5", "1"], ["1e3", "2000"], ["-0", "1"], ["+1", "2"], ["01", "2"], ["0/1", "1"], ["1/0", "2"],
  [" 0", "1"],
  ["0", `${2n ** 500n}`], ["0", `1/${2n ** 501n}`], ["0", "9".repeat(2201)], ["0", `1/${10n ** 700n + 1n}`], [`-1/${10n ** 700n + 1n}`, "1"], [0, 1], ["2026-01-01T00:00:00", "9"],
  ["2026-01-01T00:00:00", "2026-01-02T00:00:00+00:00"], ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
  ["2026-01-01T02:00:00+02:00", "2026-01-02T00:00:00+00:00"], ["2026-01-02T00:00:00", "2026-01-01T00:00:00"],
  ["2026-01-01T00:00", "2026-01-02T00:00"],
]; // prettier-ignore

test("ranges that are none, or not as Python writes them, are refused", () => {
  const refused = (read, why) => assert.throws(read, (error) => error instanceof WireError || error instanceof ParameterError, why);
  for (const [low, high] of BAD) refused(() => numbers(low, high), `${low} ${high}`.slice(0, 80));
  for (const steps of [0, -1, 2 ** 16 + 1, 1.5, "10", `${2n ** 60n}`]) refused(() => numbers("0", "1", steps), `${steps}`);
  for (const clip of [false, 1, "true"]) refused(() => numbers("0", "1", 1, { clip }), `${clip}`);
  refused(() => numbers("0", "1", 1, { kept: true }), "another field");
  assert.ok(numbers("-1/3", "22/7").steps === 10 && numbers("0", `${2n ** 500n - 1n}`) && numbers("0", `1/${2n ** 500n}`));
});

test("one bit keeps to low and high where it must, and counters are whole", async () => {
  const sign = specFromJson(vectors("SignRR").cases[0].spec);
  await assert.rejects(sign.randomize(0.5), (error) => error instanceof DomainError && /use Duchi/.test(error.message));
  const counter = specFromJson(vectors("OneBitMeanPM").cases[0].spec);
  for (const value of [0.5, -1, 101, "7"]) await assert.rejects(counter.randomize(value), DomainError);
  const elsewhere = vectors("Duchi").cases[0].spec.replace(/"domain":\{[^}]*\}/, '"domain":{"kind":"index","size":3}');
  assert.throws(() => specFromJson(elsewhere), WireError);
});
