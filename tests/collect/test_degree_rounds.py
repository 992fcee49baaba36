"""How many ties people have, asked by a collector: devices answer once with the class of their number, and the result is the library's."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.collect.analysis.analyst import estimate
from deniable.collect.tasks.task_file import read_task
from deniable.contract.protocol import protocol_from_json
from deniable.core.saved import estimate_from_json
from deniable.errors import BudgetExceeded, DomainError
from deniable.tasks.graphs import Graph, NodeDegrees
from deniable.testing import ReplaySource
from tests.collect.crowd import NOON
from tests.collect.rows import rows_of
from tests.collect.test_tokens import site  # noqa: F401  # a fixture

EPSILON = 4.0
FILE = b"""
name = "ties"
question = "How many people in this club do you know?"
owner = "research@example.org"
epsilon = 4
lasts = "1 day"
people = 120
minimum_batch = 20
[protocol]
name = "NodeDegrees"
nodes = 120
starts = [0, 1, 3, 10]
"""
RING = Graph.of([(0, i) for i in range(1, 20)] + [(i, i + 1) for i in range(1, 90)], nodes=120)


def words(person):
    """What a person's device draws, wherever it runs: the answer, and then the report's id."""
    return ReplaySource.from_key(f"person {person}")


@pytest.fixture
def task(collector):
    """The task of the file, published."""
    read = read_task(FILE, key=collector.registry.key, now=NOON)
    collector.publish(read)
    return read


def test_a_task_file_says_what_is_protected(collector, task):
    assert protocol_from_json(task.protocol) == NodeDegrees(nodes=120, epsilon=EPSILON, starts=(0, 1, 3, 10))
    assert "(epsilon = 4, node-local model)" in task.statement
    assert "What the promise compares: any two lists of one person." in task.statement
    assert "- And a tie beyond epsilon = 8, against anyone who sees both people's reports." in task.statement


@pytest.mark.parametrize("address", ["embedded"], indirect=True)
def test_devices_answer_once_with_their_number_of_ties(collector, site, clock, task):  # noqa: F811  # fixtures
    """The same words give the same counts as the protocol without a collector; ledgers pay epsilon and not a bit more."""
    board, held = Board(site, keep_rounds=True), RING.degrees.tolist()
    ledgers = [MemoryLedger(lifetime_epsilon=EPSILON) for _ in held]
    for ledger in ledgers:
        ledger.consent(task.id)
    parts = {"task": task.id, "clock": clock, "sleep": lambda _: None}
    reporters = [Reporter(board, ledger=ledger, source=words(person), **parts) for person, ledger in enumerate(ledgers)]
    for wrong in (-1, 120, 2.5, "many"):
        with pytest.raises(DomainError):
            reporters[0].report(wrong)
    assert ledgers[0].spent() == 0
    receipts = [reporter.report(degree) for reporter, degree in zip(reporters, held, strict=True)]
    assert {receipt.state for receipt in receipts} == {"sent"}
    with pytest.raises(BudgetExceeded):
        reporters[0].report(held[0])
    assert {ledger.spent() for ledger in ledgers} == {EPSILON}
    assert not collector.advance(task.id)

    found, protocol = collector.outcome(task.id, 0), protocol_from_json(task.protocol)
    (question,) = protocol.open().questions
    reports = [question.answer(degree, words(person)) for person, degree in enumerate(held)]
    expected = protocol.close({question.name: question.spec.tally(reports)})
    np.testing.assert_array_equal(found.counts, expected.counts)
    truth = np.bincount(np.searchsorted([0, 1, 3, 10], held, side="right") - 1, minlength=4)
    assert np.all(np.abs(found.counts - truth) < 5 * found.stderr)

    (shown,) = estimate(collector, task.id).to_json()["answers"]
    assert (shown["question"], shown["mechanism"], shown["epsilon"]) == ("degrees", "NodeDegrees", EPSILON)
    assert shown["promise"].startswith("No list makes any report of a person more than 54.60 times as likely")
    assert {row["value"] for row in rows_of(shown)} == {"0", "1 to 2", "3 to 9", "10 to 119"}
    assert estimate_from_json(shown["estimate"]).guarantee.exposed == protocol.guarantee.exposed
