"""The client for devices in Chromium: its ledger in IndexedDB under Python's rules, its cryptography, and where it refuses to run."""

from __future__ import annotations

import pytest

from deniable.contract.admission import spend_id
from deniable.contract.envelope import open_batch
from tests.browser.device import PAGE, open_device
from tests.conftest import ROOT, vectors

TASK = "ab" * 32
DRINK = """
name = "drink"
question = "What do you drink?"
owner = "the tests"
epsilon = 1.0
lasts = "2 days"
period = "1 day"
answers = 2
minimum_batch = 1
admission = "{}"
[domain]
categories = ["tea", "coffee", "water"]
"""
REPLAY = """async ([history, tasks, name]) => {
  const { replayHistory } = await import("/clients/js/test/histories.js");
  return replayHistory(history, tasks, (options) => new deniable.IndexedDBLedger({ ...options, name }));
}"""
STATE = """async () => {
  const [spent, statement, entries] = [await ledger.spent(), await ledger.statement(), await ledger.entries()];
  const kept = [await ledger.ticket(task, () => 7), await ledger.recall(task, "a"), await ledger.consented(task)];
  const reports = entries.map(({ report }) => deniable.toHex(report));
  return JSON.stringify([spent.map(String), statement, reports, kept[0], deniable.toHex(kept[1]), kept[2]]);
}"""
WATCH = """() => {
  window.events = [];
  const real = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (...asked) {
    const transaction = real.apply(this, asked);
    const name = `${transaction.mode} ${transaction.durability}`;
    transaction.addEventListener("complete", () => events.push(name));
    return transaction;
  };
  const fetched = window.fetch;
  window.fetch = (url, options) => {
    events.push(`${options.method} ${new URL(url).pathname.split("/")[2]}`);
    return fetched(url, options);
  };
}"""


@pytest.fixture
def page(context, client):
    return open_device(context, client, "https://collector.example", TASK)


# --- the ledger ---


def test_the_ledger_in_the_browser_says_what_pythons_say(page):
    """Every history of the vectors, each in a database of its own."""
    budget = vectors("budget")
    for number, history in enumerate(budget["histories"]):
        found = page.evaluate(REPLAY, [history, budget["tasks"], f"history {number}"])
        for part in ("steps", "entries", "spent", "statement", "kept"):
            assert found[part] == history[part], history["why"]


def test_what_was_spent_survives_the_page(page):
    page.evaluate("([id, text]) => { window.task = id; window.text = text; }", [TASK, vectors("budget")["tasks"]["daily"]])
    page.evaluate("""async () => {
      const daily = await deniable.Task.fromJson(text);
      for (const id of [daily.id, task]) await ledger.consent(id);
      await ledger.spend(daily, { period: 2, epsilon: 0.1, when: 1e9, make: () => Uint8Array.of(0, 255) });
      await ledger.ticket(task, () => 2 ** 52 + 1);
      await ledger.remember(task, "a", async () => Uint8Array.of(1, 2, 3));
    }""")
    before = page.evaluate(STATE)
    assert '["1","10"]' in before
    assert '["00ff"],4503599627370497,"010203",true' in before
    page.reload()
    page.wait_for_function("() => window.deniable")
    page.evaluate("(id) => { window.task = id; window.ledger = new deniable.IndexedDBLedger({ lifetimeEpsilon: 8 }); }", TASK)
    assert page.evaluate(STATE) == before


def test_a_report_leaves_when_its_expense_is_on_the_disk(server, client, context):
    task = server.task(DRINK.format("open"), server.token("admin"))
    page = open_device(context, client, server.url, task.id.hex())
    page.evaluate(WATCH)
    page.evaluate("(task) => ledger.consent(task).then(() => reporter.report('tea'))", task.id.hex())
    events = page.evaluate("() => events")
    assert [event for event in events if not event.startswith("readonly ")] == [
        "readwrite strict",  # consent
        "GET tasks",
        "readwrite strict",  # the expense
        "POST reports",
        "readwrite strict",  # what became of it
    ]


def test_every_step_that_writes_is_done_when_it_is_on_the_disk(page):
    """Whoever awaits a step hears of it after the transaction's end, not before."""
    page.evaluate(WATCH)
    steps = page.evaluate(
        """async (text) => {
      const task = await deniable.Task.fromJson(text);
      const make = () => Uint8Array.of(1);
      const steps = {
        consent: () => ledger.consent(task.id), ticket: () => ledger.ticket(task.id, () => 1),
        remember: () => ledger.remember(task.id, "a", make),
        spend: () => ledger.spend(task, { period: 0, epsilon: 1, when: 0, make }),
        settle: () => ledger.settle(1, "sent"), withdraw: () => ledger.withdraw(task.id),
      };
      const found = {};
      for (const [name, step] of Object.entries(steps)) {
        events.length = 0;
        await step();
        found[name] = events.at(-1);
      }
      return found;
    }""",
        vectors("budget")["tasks"]["daily"],
    )
    assert len(steps) == 6
    assert set(steps.values()) == {"readwrite strict"}


def test_a_ledger_that_vanished_is_not_started_afresh(page):
    outcome = page.evaluate(
        """async (task) => {
      await ledger.consent(task);
      await new Promise((resolve, reject) => {
        Object.assign(indexedDB.deleteDatabase("deniable"), { onsuccess: resolve, onerror: reject });
      });
      const attempts = [() => ledger.entries(), () => ledger.consent(task), () => ledger.spent()];
      return Promise.all(attempts.map((attempt) => attempt().then(() => "nothing", (error) => `${error.name}: ${error.fix}`)));
    }""",
        TASK,
    )
    assert len(outcome) == 3
    assert all(text.startswith("LedgerError: ") and "Do not clear the site's data" in text for text in outcome)


def test_a_ledger_of_a_later_version_is_left_alone(page):
    outcome = page.evaluate(
        """async (task) => {
      await new Promise((resolve) => {
        const request = indexedDB.open("later", 3);
        request.onsuccess = () => { request.result.close(); resolve(); };
      });
      const later = new deniable.IndexedDBLedger({ lifetimeEpsilon: 8, name: "later" });
      return later.consent(task).then(() => "nothing", (error) => `${error.name}: ${error.allowed}`);
    }""",
        TASK,
    )
    assert outcome == "LedgerError: a ledger of version 2 in this browser's IndexedDB"


def test_a_newer_page_can_bring_the_ledger_up_to_date(page):
    """It waits for no tab: those that are open give way, and refuse to spend from then on."""
    outcome = page.evaluate(
        """async (task) => {
      await ledger.consent(task);
      await new Promise((resolve, reject) => {
        const request = indexedDB.open("deniable", 3);
        request.onsuccess = () => { request.result.close(); resolve(); };
        request.onblocked = () => reject(new Error("a tab does not give way"));
      });
      return ledger.consented(task).then(() => "nothing", (error) => error.name);
    }""",
        TASK,
    )
    assert outcome == "LedgerError"


# --- its cryptography ---


def test_this_browsers_cryptography_says_what_pythons_says(page):
    """Chromium's own Ed25519 and RSA-PSS: right ones are taken, and the forgeries that lax verifiers let through are not."""
    verdicts = page.evaluate(
        """async (cases) => {
      const { verifySignature } = await import("/clients/js/src/signature.js");
      const bytes = deniable.fromHex;
      return Promise.all(cases.map(({ key, message, signature }) => verifySignature(bytes(key), bytes(message), bytes(signature))));
    }""",
        vectors("signatures")["cases"],
    )
    assert verdicts == [case["right"] for case in vectors("signatures")["cases"]]
    (case,) = vectors("tokens")["cases"]
    answers = {"right": f'{{"signatures": {case["signatures"]!r}}}'.replace("'", '"')}
    answers |= {bad["why"]: bad["answer"] for bad in vectors("tokens")["refused"]}
    outcomes = page.evaluate(
        """async ([{ task: text, words }, answers]) => {
      const { enrol } = await import("/clients/js/src/enrolment.js");
      const task = await deniable.Task.fromJson(text);
      const outcome = async (answer, i) => {
        const ledger = new deniable.IndexedDBLedger({ lifetimeEpsilon: 8, name: `tokens ${i}` });
        const source = new deniable.Source();
        source.left = words.map((word) => BigInt(`0x${word}`));
        source.word = () => source.left.shift();
        const post = async () => ({ status: 200, retryAfter: 0, body: new TextEncoder().encode(answer) });
        await enrol(task, "dc_0", ledger, post, source).catch((error) => error.name);
        const tokens = await ledger.recall(task.id, "tokens");
        return tokens && deniable.toHex(tokens);
      };
      return Promise.all(answers.map(outcome));
    }""",
        [case, list(answers.values())],
    )
    assert dict(zip(answers, outcomes, strict=True)) == {why: case["tokens"] if why == "right" else None for why in answers}


@pytest.mark.parametrize("origin", ["http://device.example", "https://device.example"])
def test_a_page_that_could_have_been_changed_on_its_way_is_refused(context, origin):
    """The same files from the same host: over http everything refuses, over https nothing does."""

    def serve(route):
        path = route.request.url.removeprefix(origin)
        if path == "/":
            route.fulfill(body=PAGE, content_type="text/html")
        else:
            route.fulfill(path=ROOT / path[1:], content_type="text/javascript")

    context.route(f"{origin}/**", serve)
    page = context.new_page()
    page.goto(f"{origin}/")
    page.wait_for_function("() => window.deniable")
    outcomes = page.evaluate(
        """async (task) => {
      const options = { lifetimeEpsilon: 8, task, ledger: null };
      const attempts = [
        () => new deniable.MemoryLedger(options), () => new deniable.IndexedDBLedger(options), () => deniable.SYSTEM.word() && 0,
        () => new deniable.Board("https://collector.example"), () => new deniable.Reporter("https://collector.example", options),
      ];
      return attempts.map((attempt) => { try { attempt(); return ""; } catch (error) { return `${error.name}: ${error.message}`; } });
    }""",
        TASK,
    )
    if origin.startswith("https"):
        assert outcomes == [""] * 5
    else:
        assert all(text.startswith("ProtocolError: ") and "https or from localhost" in text and origin in text for text in outcomes)


# --- with a collector of another origin ---


@pytest.mark.parametrize("admission", ["open", "secret", "token"])
def test_a_device_in_the_browser_is_counted(server, client, context, admission, tmp_path):
    """The page comes from one origin, the collector has another: what a web site that takes part looks like."""
    task = server.task(DRINK.format(admission), server.token("admin"))
    given = tmp_path / "given"
    if admission != "open":
        server.run("enrol", "drink", "--count", "1", "--out", str(given), "--store", server.store)
    line = given.read_text().strip() if admission != "open" else ""
    page = open_device(context, client, server.url, task.id.hex(), **({"secret": line} if admission == "secret" else {}))
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    shown = page.evaluate("() => reporter.task().then(({ question, statement }) => [question, statement])")
    assert shown == [task.question, task.statement]
    page.evaluate("(task) => ledger.consent(task)", task.id.hex())
    if admission == "token":
        assert page.evaluate("() => reporter.report('tea').catch((error) => error.fix)") == "call enrol(code) first"
        page.evaluate("(code) => reporter.enrol(code)", line)
    with page.expect_request(lambda request: request.url.endswith("/v1/reports") and request.method == "POST") as request:
        receipt = page.evaluate("() => reporter.report('tea')")
    assert {name: receipt[name] for name in ("state", "code", "period", "number")} == {
        "state": "sent",
        "code": "",
        "period": 0,
        "number": 1,
    }
    (sent,) = open_batch(request.value.post_data_buffer)
    assert len(sent.token) == {"open": 0, "secret": 32, "token": 288}[admission]
    if admission == "token":
        assert sent.id == spend_id(sent.token[:32])
    [period] = server.get(f"/v1/tasks/{task.id.hex()}/status", server.token("analyst")).json["periods"]
    assert period["reports"] == 1
    assert complaints == []
