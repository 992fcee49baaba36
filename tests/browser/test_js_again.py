"""Permanent answers in the browser: they survive the page, and tabs that work at the same moment never draw two for one value."""

from __future__ import annotations

import json

import pytest

from deniable.contract.envelope import open_batch
from tests.browser.device import open_device
from tests.conftest import vectors

AGAIN = """
name = "again-{kind}"
question = "Tea?"
owner = "the tests"
epsilon = 1.0
weak_privacy = true
lasts = "1 day"
answers = 1000
answers_per_period = 1000
minimum_batch = 1
[domain]
categories = {drinks}
[mechanism]
name = "{mechanism}"
"""
DRINKS = ["tea", "coffee", "water", "milk", *(f"juice {number}" for number in range(16))]
MECHANISMS = {
    "buckets": "DBitFlipPM",  # 16 of the 20; sends its permanent answer as it is: whoever sees a report sees what is kept
    "filters": "RAPPOR",  # its classes take WebCrypto's time: tabs draw long before the ledger looks
}
MANY = """(values) => { window.outcome = Promise.all(values.map((value) =>
  reporter.report(value).then((receipt) => receipt.epsilon.join("/"), (error) => error.name))); }"""
KEPT = """async (task) => [Object.values(await ledger.kept(task)).map((found) =>
  Object.fromEntries(Object.entries(found).map(([name, answer]) => [name, deniable.toHex(answer)]))), await ledger.permanentAnswers()]"""
SENT = "() => ledger.entries().then((entries) => entries.map(({ report }) => deniable.toHex(report)))"


def published(server, kind):
    return server.task(AGAIN.format(kind=kind, drinks=json.dumps(DRINKS), mechanism=MECHANISMS[kind]), server.token("admin"))


def answers(tab, values):
    tab.evaluate(MANY, values)
    return tab.evaluate("() => outcome")


def test_permanent_answers_survive_the_page(server, client, context):
    task = published(server, "buckets")
    tab = open_device(context, client, server.url, task.id.hex(), lifetimeEpsilon=2)
    tab.evaluate("(task) => ledger.consent(task)", task.id.hex())
    assert answers(tab, ["tea"]) == ["1/1"]
    before = tab.evaluate(KEPT, task.id.hex())
    assert before[1] == 1
    tab.close()  # with everything that it remembers
    again = open_device(context, client, server.url, task.id.hex(), lifetimeEpsilon=2)
    assert again.evaluate(KEPT, task.id.hex()) == before
    for _ in range(5):
        assert answers(again, ["tea"]) == ["0/1"]
    payloads = {open_batch(bytes.fromhex(report))[0].payload for report in again.evaluate(SENT)}
    assert len(payloads) == 1  # all six show the one permanent answer
    assert again.evaluate(KEPT, task.id.hex()) == before
    again.evaluate("(task) => ledger.withdraw(task).then(() => ledger.consent(task))", task.id.hex())
    assert answers(again, ["tea"]) == ["0/1"]


@pytest.mark.parametrize("kind", MECHANISMS)
def test_two_tabs_never_draw_two_permanent_answers_for_one_value(server, client, context, kind):
    """Both start with nothing, at the same moment, with the same values. Drawing twice would cost twice, or tell twice as much."""
    task = published(server, kind)
    tabs = [open_device(context, client, server.url, task.id.hex(), lifetimeEpsilon=100) for _ in range(2)]
    tabs[0].evaluate("(task) => ledger.consent(task)", task.id.hex())
    for tab in tabs:
        tab.evaluate(MANY, ["tea", "coffee", "water", "milk"] * 5)
    costs = [cost for tab in tabs for cost in tab.evaluate("() => outcome")]
    assert set(costs) == {"0/1", "1/1"}
    ((kept,), count) = tabs[1].evaluate(KEPT, task.id.hex())
    assert costs.count("1/1") == count == len(kept) - 1  # one of them is the personal part
    assert tabs[0].evaluate(KEPT, task.id.hex())[0] == [kept]
    reports = [open_batch(bytes.fromhex(report))[0].payload for report in tabs[0].evaluate(SENT)]
    assert len(reports) == 40
    width = len(bytes.fromhex(kept["personal"]))
    assert {payload[:width].hex() for payload in reports} == {kept["personal"]}  # one cohort, one set of buckets
    if kind == "buckets":
        assert {payload[width:].hex() for payload in reports} == {answer for name, answer in kept.items() if name != "personal"}
    assert server.seal(task.id, 0, server.token("admin")).status == 204
    assert server.get(f"/v1/tasks/{task.id.hex()}/estimate?period=0", server.token("analyst")).json["answers"][0]["estimate"]["n"] == 40


def test_beyond_the_cap_no_tab_keeps_anything(server, client, context):
    """Room for one of four values: whichever comes first. The others are refused before anything of them is kept."""
    task = published(server, "filters")
    tabs = [open_device(context, client, server.url, task.id.hex(), lifetimeEpsilon=1) for _ in range(2)]
    tabs[0].evaluate("(task) => ledger.consent(task)", task.id.hex())
    for tab, values in zip(tabs, (["tea", "coffee"], ["water", "milk"]), strict=True):
        tab.evaluate(MANY, values * 4)
    costs = [cost for tab in tabs for cost in tab.evaluate("() => outcome")]
    ((kept,), count) = tabs[0].evaluate(KEPT, task.id.hex())
    assert (costs.count("1/1"), count, len(kept)) == (1, 1, 2)
    assert "BudgetExceeded" in costs
    assert len(tabs[1].evaluate(SENT)) == len(costs) - costs.count("BudgetExceeded")


def test_a_ledger_of_the_first_version_gets_room_for_them_and_loses_nothing(client, context):
    text = vectors("budget")["tasks"]["often"]
    page = open_device(context, client, "https://collector.example", "00" * 32)
    spec = next(json.loads(case["spec"]) for case in vectors("LOLOHA")["cases"])
    found = page.evaluate(
        """async ([text, spec]) => {
      const task = await deniable.Task.fromJson(text);
      const id = deniable.toHex(task.id);
      const entry = { number: 1, task: id, name: task.name, question: task.question, period: 0, epsilon: "1/2", when: 0,
                      report: Uint8Array.of(7), state: "sent", code: "" };
      await new Promise((resolve, reject) => {
        const request = indexedDB.open("old", 1);
        request.onupgradeneeded = () => {
          const stores = ["entry", "consent", "ticket", "kept"];
          for (const name of stores) request.result.createObjectStore(name, name === "entry" ? { keyPath: "number" } : {});
          request.transaction.objectStore("entry").add(entry);
          request.transaction.objectStore("consent").add(true, id);
          request.transaction.objectStore("kept").add(Uint8Array.of(9), [id, "tokens"]);
        };
        request.onsuccess = () => { request.result.close(); resolve(); };
        request.onerror = () => reject(request.error);
      });
      const ledger = new deniable.IndexedDBLedger({ lifetimeEpsilon: 8, name: "old" });
      const diary = await deniable.Diary.of(deniable.specFromJson(spec), 0);
      await diary.open({});
      await diary.report();
      await ledger.spend(task, { period: 0, epsilon: 0.5, when: 0, make: () => Uint8Array.of(8), diary });
      const reports = (await ledger.entries()).map(({ report }) => deniable.toHex(report));
      const tokens = deniable.toHex(await ledger.recall(id, "tokens"));
      return [reports, (await ledger.spent()).join("/"), tokens, await ledger.permanentAnswers()];
    }""",
        [text, json.dumps(spec, sort_keys=True, separators=(",", ":"))],
    )
    assert found == [["07", "08"], "1/1", "09", 1]
