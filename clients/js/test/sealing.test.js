/** Sealing: the vectors that Python opens, made here byte by byte; what is refused; and a device that reports through shufflers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { concat, utf8 } from "../src/bytes.js";
import { hpkeSeal } from "../src/hpke.js";
import { Board, fromHex, MemoryLedger, openBatch, ProtocolError, Reporter, Task, toHex, WireError } from "../src/index.js";
import { readKeys } from "../src/notice.js";
import { sha256 } from "../src/platform.js";
import { SEALS_TYPE, sealReport } from "../src/sealing.js";
import { DAY, failure, FakeCollector, makeSigner, URL_ } from "./fake.js";
import { vectors } from "./replay.js";
import { keyPair, noticeOf } from "./sealed.js";

const SEALING = vectors("sealing");
const KINDS = { WireError, ProtocolError };

test("the message of RFC 9180 is made", async () => {
  for (const { public: key, info, plain, aad, sealed, ephemeral, ephemeral_public } of SEALING.hpke) {
    const fixed = { ephemeral: await keyPair(ephemeral, ephemeral_public), aad: fromHex(aad) };
    assert.equal(toHex(await hpkeSeal(fromHex(key), fromHex(info), fromHex(plain), fixed)), sealed);
  }
});

for (const { why, task: text, envelope, publics, ephemerals, seals } of SEALING.cases) {
  test(`sealed as Python opens it: ${why}`, async () => {
    const task = await Task.fromJson(text);
    const notices = await Promise.all(publics.map((key, i) => noticeOf(i < publics.length - 1 ? "shuffler" : "analyst", key)));
    const left = [...ephemerals];
    const next = async () => {
      const pair = left.shift();
      return keyPair(pair.private, pair.public);
    };
    const keys = { analyst: notices.at(-1), shufflers: notices.slice(0, -1) };
    assert.equal(toHex(await sealReport(task, openBatch(fromHex(envelope))[0], keys, next)), seals[0]);
    assert.equal(left.length, 0);
    const fresh = await Promise.all([1, 2].map(() => sealReport(task, openBatch(fromHex(envelope))[0], keys)));
    assert.notEqual(toHex(fresh[0]), toHex(fresh[1]));
    assert.ok(fresh.every((seal) => seal.length === seals[0].length / 2));
  });
}

test("nothing is sealed for a key that hides nothing", async () => {
  for (const { why, public: key } of SEALING.refused_keys) {
    await assert.rejects(hpkeSeal(fromHex(key), utf8("info"), utf8("content")), WireError, why);
  }
});

test("what does not fit is never sealed", async () => {
  const { task: text, envelope, publics } = SEALING.cases[0];
  const [task, [sent]] = [await Task.fromJson(text), openBatch(fromHex(envelope))];
  const keys = { analyst: await noticeOf("analyst", publics[1]), shufflers: [await noticeOf("shuffler", publics[0])] };
  for (const [changed, given] of [
    [{ ...sent, payload: new Uint8Array(10) }, keys],
    [{ ...sent, task: new Uint8Array(32) }, keys],
    [sent, { ...keys, shufflers: [] }],
  ]) {
    await assert.rejects(sealReport(task, changed, given), { name: "ParameterError" });
  }
});

for (const { why, body, key, role, now, since, outcome } of SEALING.notices) {
  test(`keys: ${why}`, async () => {
    const read = readKeys(utf8(body), fromHex(key), now, role, since);
    if (outcome in KINDS) await assert.rejects(read, KINDS[outcome]);
    else assert.equal(toHex((await read).public), outcome);
  });
}

test("tasks that cannot be mixed are refused", async () => {
  for (const { why, task } of SEALING.refused_tasks) await assert.rejects(Task.fromJson(task), WireError, why);
  assert.ok(SEALING.refused_tasks.length >= 30);
});

test("a task says who shuffles", async () => {
  const { model, mixing, epsilon } = await Task.fromJson(SEALING.cases.at(-1).task);
  assert.deepEqual([model, epsilon, mixing.epsilon, mixing.delta, mixing.minimum, mixing.honest], ["shuffle", 2, 0.25, 1e-6, 100, "9/10"]);
  assert.deepEqual([mixing.shufflers.length, mixing.shufflers[0].url], [3, "https://shuffler-0.example.org"]);
  assert.deepEqual(mixing.threshold, { minimum: 20, sigma: "2.5" });
  const local = await Task.fromJson(vectors("tasks").cases[0].task);
  assert.deepEqual([local.model, local.mixing], ["local", null]);
});

// --- the reporter ---

const RELAY = "https://shuffler.example";
const { publics: PUBLICS } = SEALING.cases[0];

/** A collector and a shuffler behind `fetch`. Faults are used up by what is posted to the shuffler. */
async function world({ ends = 1e9, ...changes } = {}) {
  const [signer, shuffler] = [await makeSigner(), await makeSigner()];
  const collector = new FakeCollector(signer);
  const mixing = { epsilon: "0.5", delta: "1e-06", minimum: 10, size: 400, honest: "1", shufflers: [{ url: RELAY, key: shuffler.key }] };
  const id = await collector.publish({ model: "shuffle", mixing, strata: [], default: undefined, answers_per_period: 1, ...changes });
  const { start } = JSON.parse(collector.tasks.get(id));
  const announced = async (by, role, key, end, from = 0) => {
    const notice = `{"end":${end},"public":"${key}","role":"${role}","start":${from},"version":1}`;
    return { notice, signature: await by.sign("deniable key 1\n", notice) };
  };
  const keys = {
    [URL_]: [await announced(signer, "analyst", PUBLICS[1], start + ends)],
    [RELAY]: [await announced(shuffler, "shuffler", PUBLICS[0], start + ends)],
  };
  const found = { id, start, collector, keys, announced, shuffler, faults: [], bodies: [], asked: [], rejects: null };
  found.fetch = async (url, options) => {
    const { origin, pathname } = new URL(url);
    found.asked.push(`${options.method} ${origin} ${pathname.split("/")[2]}`);
    if (pathname === "/v1/keys") return Response.json({ keys: found.keys[origin] });
    if (origin === URL_) return collector.fetch(url, options);
    assert.deepEqual([pathname, options.headers], ["/v1/seals", { "content-type": SEALS_TYPE }]);
    const fault = found.faults.shift();
    if (fault === "no connection") throw new TypeError("fetch failed");
    if (fault instanceof Response) return fault;
    found.bodies.push(options.body);
    if (!found.rejects) return new Response(null, { status: 201 });
    const named = toHex((await sha256(options.body.slice(4))).slice(0, 16));
    return Response.json({ rejected: [{ id: named, code: found.rejects }] });
  };
  found.device = async (ledger = new MemoryLedger({ lifetimeEpsilon: 8 })) => {
    await ledger.consent(id);
    const clock = () => found.now ?? start + 5;
    return new Reporter(new Board(URL_, { fetch: found.fetch, sleep: () => {} }), { task: id, ledger, clock });
  };
  return found;
}

test("an answer is sealed, kept and sent to the shuffler", async () => {
  const here = await world();
  const device = await here.device();
  assert.equal((await device.report("tea")).state, "sent");
  const [entry] = await device.ledger.entries();
  const [body] = here.bodies;
  assert.deepEqual([new DataView(body.buffer).getUint32(0, true), toHex(body.slice(4))], [body.length - 4, toHex(entry.report)]);
  assert.equal(entry.report.length, 400 + 93 + 93 + 35);
  assert.deepEqual(here.asked, [`GET ${URL_} tasks`, `GET ${URL_} keys`, `GET ${RELAY} keys`, `POST ${RELAY} seals`]);
  const envelope = await device.opened(entry);
  assert.deepEqual([toHex(envelope.task), envelope.period, envelope.stratum], [here.id, 0, 0]);
  assert.equal(await (await here.device(device.ledger)).opened(entry), null); // sealed by another page: nobody here can open it
});

test("all answers make messages of one length, and no two are alike", async () => {
  const here = await world();
  for (const value of ["tea", "coffee"]) {
    for (let i = 0; i < 4; i++) await (await here.device()).report(value);
  }
  assert.equal(new Set(here.bodies.map(({ length }) => length)).size, 1);
  assert.equal(new Set(here.bodies.map(toHex)).size, 8);
});

test("a resend is the same bytes, and asks nobody for keys", async () => {
  const here = await world();
  here.faults.push("no connection", failure(503, "busy"), "no connection", failure(503, "busy"));
  const first = await here.device();
  assert.equal((await first.report("tea")).state, "pending");
  const [kept] = await first.ledger.entries();
  here.asked.length = 0;
  const [receipt] = await (await here.device(first.ledger)).flush();
  assert.deepEqual([receipt.state, here.asked], ["sent", [`POST ${RELAY} seals`]]);
  assert.equal(toHex(here.bodies[0].slice(4)), toHex(kept.report));
});

test("what a shuffler refuses is refused by its code", async () => {
  const here = await world();
  here.rejects = "wrong_key";
  const { state, code } = await (await here.device()).report("tea");
  assert.deepEqual([state, code], ["refused", "wrong_key"]);
});

test("keys are fetched once for each period", async () => {
  const here = await world();
  here.keys[RELAY] = await Promise.all(
    [DAY, 5 * DAY].map((end, i) => here.announced(here.shuffler, "shuffler", PUBLICS[i], here.start + end)),
  );
  const device = await here.device();
  const ids = await Promise.all(PUBLICS.map(async (key) => toHex((await sha256(fromHex(key))).slice(0, 8))));
  const fetched = [];
  for (const day of [0, 1, 2]) {
    here.now = here.start + day * DAY + 5;
    await device.report("tea");
    fetched.push(here.asked.filter((asked) => asked === `GET ${RELAY} keys`).length);
  }
  assert.deepEqual(fetched, [1, 2, 3]);
  assert.deepEqual(
    here.bodies.map((body) => toHex(body.slice(5, 13))),
    [ids[0], ids[1], ids[1]],
  );
});

test("a period has one key, and a withdrawn one is used for a day at most", async () => {
  const here = await world({ period: 7 * DAY, end: 1_700_000_000 + 400 * DAY });
  const [short, long] = await Promise.all(
    [2 * DAY, 30 * DAY].map((end, i) => here.announced(here.shuffler, "shuffler", PUBLICS[i], here.start + end, i * (here.start + DAY))),
  );
  const board = () => new Board(URL_, { fetch: here.fetch, sleep: () => {} });
  const task = await board().task(here.id);
  const used = async (from, days) => PUBLICS.indexOf(toHex((await from.keys(task, here.start + days * DAY)).shufflers[0].public));
  const [early, withdrawn] = [board(), board()];
  here.keys[RELAY] = [short];
  assert.deepEqual(await Promise.all([used(early, 0), used(early, 0.5)]), [0, 0]);
  assert.equal(here.asked.filter((asked) => asked === `GET ${RELAY} keys`).length, 1);
  here.keys[RELAY] = [long, short];
  for (const day of [1, 2, 3, 6]) assert.deepEqual([await used(early, day), await used(board(), day)], [0, 0]);
  assert.equal(await used(early, 7), 1);
  assert.equal(await used(withdrawn, 1), 0);
  here.keys[RELAY] = [long];
  assert.deepEqual([await used(withdrawn, 1.9), await used(withdrawn, 2)], [0, 1]);
});

test("nothing is spent on keys that cannot be trusted", async () => {
  const here = await world();
  const [stranger, good] = [await makeSigner(), here.keys[RELAY]];
  const bad = [
    [[await here.announced(stranger, "shuffler", PUBLICS[0], here.start + DAY)], WireError],
    [[await here.announced(here.shuffler, "analyst", PUBLICS[0], here.start + DAY)], WireError],
    [[await here.announced(here.shuffler, "shuffler", PUBLICS[0], here.start)], ProtocolError],
    ["a login page", WireError],
  ];
  const device = await here.device();
  for (const [keys, kind] of bad) {
    here.keys[RELAY] = keys;
    await assert.rejects(device.report("tea"), kind);
  }
  assert.deepEqual([(await device.ledger.entries()).length, here.bodies.length], [0, 0]);
  here.keys[RELAY] = good;
  assert.equal((await device.report("tea")).state, "sent");
});

test("tabs that answer at the same moment never send one token twice", async () => {
  const issuer = vectors("tokens").blinding[0].modulus;
  const here = await world({ admission: "token", issuer, answers: 3 });
  const ledger = new MemoryLedger({ lifetimeEpsilon: 8 });
  const tokens = [1, 2, 3].map((byte) => new Uint8Array(288).fill(byte));
  await ledger.remember(fromHex(here.id), "tokens", () => concat(...tokens));
  const tabs = await Promise.all([1, 2].map(() => here.device(ledger)));
  const outcomes = [];
  for (const day of [0, 1, 2, 3]) {
    here.now = here.start + day * DAY + 5;
    const states = tabs.map((tab) => tab.report("tea").then((receipt) => receipt.state, (error) => error.name));
    outcomes.push((await Promise.all(states)).sort());
  }
  assert.deepEqual(outcomes, [...Array(3).fill(["BudgetExceeded", "sent"]), Array(2).fill("BudgetExceeded")]);
  const entries = await ledger.entries();
  const drawn = await Promise.all(entries.map(async (entry) => (await Promise.all(tabs.map((tab) => tab.opened(entry)))).find(Boolean)));
  const used = drawn.map(({ token }) => token[0]);
  assert.deepEqual(used, [1, 2, 3]);
});
