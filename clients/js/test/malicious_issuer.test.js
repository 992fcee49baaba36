/** A malicious issuer: a modulus of small primes, which divide what it signs and the signature of the same device alike. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { blind, blindWith, drawBytes, finalize, smallFactor, verify } from "../src/blind_rsa.js";
import { bigEndian, readBigEndian, utf8 } from "../src/bytes.js";
import { enrol } from "../src/enrolment.js";
import { fromHex, MemoryLedger, ProtocolError, Reporter, Task, toHex, WireError } from "../src/index.js";
import { SYSTEM } from "../src/source.js";
import { FakeCollector, makeSigner, URL_ } from "./fake.js";
import { vectors } from "./replay.js";

const PEOPLE = 40;
const [E, BYTES] = [65537n, 256];
const { issuers, blinding } = vectors("tokens");
const HONEST = blinding[0].modulus;
const { mixing: MIXING } = JSON.parse(vectors("sealing").cases[0].task);
const odd = (from, to) => Array.from({ length: (to - from) / 2 + 1 }, (_, i) => from + 2 * i);
const isPrime = (number) => number % 2 && odd(3, number ** 0.5).every((factor) => number % factor);
const gcd = (a, b) => (b ? gcd(b, a % b) : a);

function modPower(base, exponent, n) {
  let result = 1n;
  for (let [square, rest] = [base % n, exponent]; rest; rest >>= 1n, square = (square * square) % n) {
    if (rest & 1n) result = (result * square) % n;
  }
  return result;
}

/** An issuer whose modulus is a product of the smallest odd primes, with one more to fill 2048 bits. It signs like any other. */
class MaliciousIssuer {
  constructor() {
    const primes = odd(3, 1459).filter(isPrime);
    const product = primes.reduce((total, prime) => total * BigInt(prime), 1n);
    let last = Number(2n ** 2048n / product);
    while (!isPrime(last)) last--;
    this.n = product * BigInt(last);
    this.modulus = bigEndian(this.n, BYTES);
    this.order = [...primes, last].reduce((order, prime) => (order * BigInt(prime - 1)) / gcd(order, BigInt(prime - 1)), 1n);
    // e is prime: its inverse modulo the order is (1 + k order) / e for the k that makes it whole
    const rest = this.order % E;
    this.d = (1n + this.order * (E - modPower(rest, E - 2n, E))) / E;
  }

  sign(blinded) {
    return bigEndian(modPower(readBigEndian(blinded), this.d, this.n), BYTES);
  }

  /** How many people it links to their tokens: those whose zeros nobody else has, neither in what was signed nor in the tokens. */
  async named(blinding, finishing) {
    const [seen, spent] = [new Map(), new Map()];
    const count = (map, number) => {
      const zeros = `${gcd(this.n, readBigEndian(number))}`;
      map.set(zeros, (map.get(zeros) ?? 0) + 1);
    };
    for (let person = 0; person < PEOPLE; person++) {
      const message = utf8(`token ${person}`);
      const blinded = await blinding(this.modulus, message, SYSTEM);
      count(seen, blinded.message);
      count(spent, await finishing(this.modulus, message, this.sign(blinded.message), blinded));
    }
    return [...spent].filter(([zeros, times]) => times === 1 && seen.get(zeros) === 1).length;
  }
}

/** The evil twin of `blind`: it keeps the first salt, whatever the encoded message has in common with the modulus. */
async function blindOnce(modulus, message, source) {
  const n = readBigEndian(modulus);
  let r = 0n;
  while (gcd(n, r) !== 1n) r = readBigEndian(drawBytes(source, modulus.length)) % n;
  return blindWith(modulus, message, drawBytes(source, 48), r);
}

/** The evil twin of `finalize`: it keeps every signature that verifies. */
async function finalizeAny(modulus, message, answer, { inverse }) {
  const signature = bigEndian((readBigEndian(answer) * readBigEndian(inverse)) % readBigEndian(modulus), BYTES);
  assert.ok(await verify(modulus, message, signature));
  return signature;
}

test("a modulus of small primes links tokens only if a salt is never drawn again", async () => {
  const issuer = new MaliciousIssuer();
  assert.equal(issuer.n.toString(2).length, 2048);
  assert.ok((await issuer.named(blindOnce, finalizeAny)) >= 5); // 27 in a typical run
  assert.equal(await issuer.named(blind, finalize), 0);
});

for (const { why, modulus, factor } of issuers) {
  test(`an issuer's modulus ${factor ? "refused" : "taken"}: ${why}`, async () => {
    assert.equal(smallFactor(fromHex(modulus)), factor);
  });
}

/** A value that nobody may look at. */
const UNTOUCHABLE = new Proxy({}, { get: () => assert.fail("looked at"), has: () => assert.fail("looked at") });

for (const model of ["local", "shuffle"]) {
  test(`a device refuses the task before it looks at its data: ${model} trust`, async () => {
    const refused = [...issuers.filter(({ factor }) => factor).map(({ modulus }) => modulus), toHex(new MaliciousIssuer().modulus)];
    const collector = new FakeCollector(await makeSigner());
    const mixing = model === "shuffle" ? { model, mixing: MIXING } : {};
    for (const issuer of refused) {
      const id = await collector.publish({ admission: "token", issuer, retention: 90, ...mixing });
      const ledger = new MemoryLedger({ lifetimeEpsilon: 8 });
      await ledger.consent(id);
      await ledger.remember(fromHex(id), "tokens", async () => new Uint8Array(288 * 366));
      const reporter = new Reporter(URL_, { task: id, ledger, fetch: collector.fetch, sleep: async () => {} });
      const untrusted = (error) => error instanceof ProtocolError && /^issuer: got.*a multiple of .*do not trust/.test(error.message);
      await assert.rejects(reporter.task(), untrusted);
      await assert.rejects(reporter.enrol("dc_0"), untrusted);
      await assert.rejects(reporter.report(UNTOUCHABLE), untrusted);
      assert.deepEqual(await ledger.entries(), []);
      assert.equal(collector.count("POST"), 0);
      await assert.rejects(enrol(await Task.fromJson(collector.tasks.get(id)), "dc_0", ledger, assert.fail, SYSTEM), untrusted);
    }
  });
}

test("a device takes a task with an honest key", async () => {
  const collector = new FakeCollector(await makeSigner());
  const id = await collector.publish({ admission: "token", issuer: HONEST, retention: 90 });
  const reporter = new Reporter(URL_, { task: id, ledger: new MemoryLedger({ lifetimeEpsilon: 8 }), fetch: collector.fetch });
  assert.equal(toHex((await reporter.task()).issuer), HONEST);
});

test("an answer that signs another encoding of the message is refused", async () => {
  // It would verify. But an issuer that could choose the encoding of each device would recognize its tokens.
  const issuer = new MaliciousIssuer();
  const message = utf8("message");
  const blinded = await blind(issuer.modulus, message, SYSTEM);
  assert.ok(await finalize(issuer.modulus, message, issuer.sign(blinded.message), blinded));
  const [r, salt] = [modPower(readBigEndian(blinded.inverse), issuer.order - 1n, issuer.n), new Uint8Array(48)];
  const another = await blindWith(issuer.modulus, message, salt, r);
  assert.equal(toHex(another.inverse), toHex(blinded.inverse));
  await assert.rejects(finalize(issuer.modulus, message, issuer.sign(another.message), blinded), WireError);
});
