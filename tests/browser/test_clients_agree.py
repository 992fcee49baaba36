"""Devices in Python and in node against one collector: the same words become the same tally, and together they make one estimate."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import pytest

from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.client.transport import HTTPTransport
from deniable.contract.source import SYSTEM
from deniable.contract.task import Task
from deniable.testing import ReplaySource
from tests.browser.device import NodeCrowd
from tests.collect.rows import rows_of
from tests.system.conftest import Server

SURVEY = """
name = "drink-{}"
question = "What do you drink?"
owner = "the tests"
epsilon = 2.0
lasts = "2 days"
period = "1 day"
minimum_batch = 1
[domain]
categories = ["tea", "coffee", "water", "juice", "milk"]
[mechanism]
name = "{}"
[strata]
client = ["python", "node"]
"""
SEARCH = """
name = "word"
question = "Which word is yours?"
owner = "the tests"
epsilon = 8.0
weak_privacy = true
lasts = "1 day"
minimum_batch = 10
people = 300
[domain]
text = 4
[search]
protocol = "PEM"
k = 2
"""
COUNTED = """
name = "counted-{seeds}"
question = "Tea?"
owner = "the tests"
epsilon = 1.0
lasts = "1 day"
minimum_batch = 1
admission = "token"
{more}
[domain]
categories = ["no", "yes"]
[mechanism]
name = "OLH"
"""
SETTINGS = """
name = "{}-over-rounds"
question = "What do you hold?"
owner = "the tests"
epsilon = 8.0
weak_privacy = true
lasts = "1 day"
minimum_batch = 1
people = 60
"""
PROTOCOLS = {
    "model": SETTINGS.format("model")
    + 'protocol = { name = "LogisticRegression", label = "ill", rounds = 2, features = { age = [0, 120] } }',
    "table": SETTINGS.format("table")
    + 'protocol = { name = "Marginals", columns = { place = ["bar", "inn"], stars = { integers = [1, 4] } } }',
    "sets": SETTINGS.format("sets")
    + 'protocol = { name = "SVIM", k = 2 }\ndomain = { sets = { categories = ["tea", "milk", "bread", "jam"] } }',
}
HELD = {
    "model": [{"age": age, "ill": int(age > 70), "name": "Ann"} for age in range(2, 122, 3)],
    "table": [{"place": ("bar", "inn")[age % 2], "stars": 1 + age % 4} for age in range(40)],
    "sets": [["tea", "milk"], ["tea"], ["milk", "tea", "jam"]] * 14,
}
VALUES = ["tea"] * 90 + ["coffee"] * 50 + ["water"] * 40 + ["juice"] * 15 + ["milk"] * 5
SIX_SIGMA = 6.0


class Site(NamedTuple):
    """A collector, and those who may ask it."""

    server: Server
    admin: str
    analyst: str

    def publish(self, toml: str) -> Task:
        return self.server.task(toml, self.admin)

    def seal(self, task: Task) -> None:
        assert self.server.seal(task.id, 0, self.admin).status == 204

    def estimate(self, task: Task, query: str = "") -> dict[str, Any]:
        return self.server.get(f"/v1/tasks/{task.id.hex()}/estimate{query}", self.analyst).json["answers"][0]["estimate"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("collector")) as server:
        yield Site(server, server.token("admin"), server.token("analyst"))


@pytest.fixture
def board(site):
    transport = HTTPTransport(site.server.url)
    yield Board(transport, keep_rounds=True)
    transport.close()


def agreed(task, lifetime_epsilon=8.0):
    ledger = MemoryLedger(lifetime_epsilon=lifetime_epsilon)
    ledger.consent(task.id)
    return ledger


def words_of(task, number, value):
    """What a person's device draws for its answer, and two words for the report's id."""
    spec, source = task.survey.questions[0].spec, ReplaySource.from_key(f"person {number}")
    spec.randomize(value, source)
    drawn = ReplaySource.from_key(f"person {number}").words(source.consumed)
    return lambda: [*drawn, *SYSTEM.words(2)]


@pytest.mark.parametrize("mechanism", ["GRR", "OLH", "OUE", "LOLOHA", "RAPPOR"])
def test_the_same_words_become_the_same_tally(site, board, mechanism):
    """Each person answers twice, in Python and in node, from the same words under another id: both strata are alike to the last digit."""
    task = site.publish(SURVEY.format(mechanism.lower(), mechanism))
    words = [words_of(task, number, value) for number, value in enumerate(VALUES)]
    for value, draw in zip(VALUES, words, strict=True):
        parts = {"strata": {"client": "python"}, "source": ReplaySource(draw())}
        assert Reporter(board, task=task.id, ledger=agreed(task), **parts).report(value).state == "sent"
    people = [
        {"value": value, "strata": {"client": "node"}, "words": [f"{word:016x}" for word in draw()]}
        for value, draw in zip(VALUES, words, strict=True)
    ]
    with NodeCrowd(site.server.url, task.id.hex(), people) as crowd:
        receipts = crowd.report()
    assert [(receipt["state"], receipt["period"], receipt["epsilon"]) for receipt in receipts] == [("sent", 0, ["2", "1"])] * len(VALUES)
    site.seal(task)
    python, node = (site.estimate(task, f"?period=0&stratum=client:{name}") for name in ("python", "node"))
    assert python["n"] == node["n"] == len(VALUES)
    assert python["columns"] == node["columns"]
    both = site.estimate(task, "?period=0")
    assert both["n"] == 2 * len(VALUES)
    for row in rows_of({"estimate": both}):
        assert abs(row["count"] - 2 * VALUES.count(row["value"])) < 2 * SIX_SIGMA * row["stderr"]  # twice: the halves are one noise


def test_a_search_over_rounds_with_both(site, board):
    """Half of the devices are in node. Each answers in one of the rounds, and the frequent word is found."""
    task = site.publish(SEARCH)
    words = (["tea"] * 240 + ["mate", "milk", "cola", "soda"] * 15)[::-1]
    ledgers = [agreed(task) for _ in words[::2]]
    answers, number, more = {"python": 0, "node": 0}, 0, True
    with NodeCrowd(site.server.url, task.id.hex(), [{"value": word, "strata": {}} for word in words[1::2]]) as crowd:
        while more:
            receipts = crowd.report(time.time())
            answers["node"] += len(receipts)
            assert {(receipt["state"], receipt["period"]) for receipt in receipts} <= {("sent", number)}
            for word, ledger in zip(words[::2], ledgers, strict=True):
                receipt = Reporter(board, task=task.id, ledger=ledger).report(word)
                answers["python"] += receipt is not None
                assert receipt is None or (receipt.state, receipt.period) == ("sent", number)
            number += 1
            more = site.server.request("POST", f"/v1/tasks/{task.id.hex()}/advance", token=site.admin).json["more"]
            board.refresh()
        assert crowd.report() == []
    assert number > 1
    assert answers == {"python": 150, "node": 150}
    rows = rows_of({"estimate": site.estimate(task)})
    assert max(rows, key=lambda row: row["count"])["value"] == "tea"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_records_and_sets_over_rounds_with_both(site, board, name):
    """Half of the devices are in node. Each answers once, in one of the rounds, with what it holds, to the end of the protocol."""
    task, held = site.publish(PROTOCOLS[name]), HELD[name]
    ledgers = [agreed(task) for _ in held[::2]]
    answered, number, more = 0, 0, True
    with NodeCrowd(site.server.url, task.id.hex(), [{"value": value, "strata": {}} for value in held[1::2]]) as crowd:
        while more:
            receipts = [(receipt["state"], receipt["period"]) for receipt in crowd.report(time.time())]
            for value, ledger in zip(held[::2], ledgers, strict=True):
                receipt = Reporter(board, task=task.id, ledger=ledger).report(value)
                receipts += [(receipt.state, receipt.period)] if receipt else []
            assert set(receipts) == {("sent", number)}
            answered, number = answered + len(receipts), number + 1
            more = site.server.request("POST", f"/v1/tasks/{task.id.hex()}/advance", token=site.admin).json["more"]
            board.refresh()
        assert crowd.report() == []
    assert (answered, number) == (len(held), {"model": 2, "table": 1, "sets": 3}[name])


@pytest.mark.parametrize("seeds", ["own", "assigned"])
def test_tokens_from_node_and_from_python_are_counted_once_each(site, board, tmp_path, seeds):
    """Where the tokens assign the hash functions, the collector refuses every other one."""
    more = 'seeds = "assigned"' if seeds == "assigned" else ""
    task, codes = site.publish(COUNTED.format(seeds=seeds, more=more)), tmp_path / "codes"
    assert task.seeds == seeds
    site.server.run("enrol", task.name, "--count", "8", "--out", str(codes), "--store", site.server.store)
    first, *rest = codes.read_text().split()
    reporter = Reporter(board, task=task.id, ledger=agreed(task))
    reporter.enrol(first)
    assert reporter.report("yes").state == "sent"
    with NodeCrowd(site.server.url, task.id.hex(), [{"value": "yes", "strata": {}, "code": code} for code in rest]) as crowd:
        assert [receipt["state"] for receipt in crowd.report()] == ["sent"] * 7
    site.seal(task)
    assert site.estimate(task, "?period=0")["n"] == 8
