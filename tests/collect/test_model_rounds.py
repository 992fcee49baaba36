"""Models, tables and sets over a collector's rounds: each device answers once, with its reporter, and the result is the library's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

import deniable as dn
from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.contract.protocol import Protocol
from deniable.contract.subsets import Subsets
from deniable.errors import BudgetExceeded
from deniable.tasks.itemsets import SVIM
from deniable.tasks.learning import KMeans, LogisticRegression, RotatingModels
from deniable.tasks.marginals import Marginals
from deniable.testing import ReplaySource
from tests.collect.crowd import survey_task
from tests.collect.test_tokens import site  # noqa: F401  # a fixture

EPSILON = 8.0
PEOPLE = [{"age": age, "dose": age % 3 / 2, "ill": int(age > 70), "name": "Ann"} for age in range(5, 120, 5)] * 3
BODY = {"age": (0, 120), "dose": dn.Numbers(0, 1, clip=True)}
PROTOCOLS = {
    "logistic regression": LogisticRegression(features=BODY, label="ill", epsilon=EPSILON, rounds=2),
    "rotating models": RotatingModels(features={"age": (0, 120)}, label="ill", epsilon=EPSILON, rounds=2, models=3),
    "k-means": KMeans(features=BODY, clusters=2, epsilon=EPSILON, rounds=2),
    "marginals": Marginals(columns={"ill": dn.IndexRange(2), "dose": dn.Numbers(0, 1, steps=2)}, epsilon=EPSILON),
    "sets": SVIM(domain=Subsets(dn.Categories("tea", "milk", "bread", "jam", "salt", "rice")), k=2, epsilon=EPSILON),
}
ROUNDS = {"logistic regression": 2, "rotating models": 2, "k-means": 3, "marginals": 1, "sets": 3}
SETS = [["tea", "milk"], {"tea"}, ("tea", "jam", "milk"), []] * 17


def words(person):
    """What a person's device draws, wherever it runs: the ticket, the answer, and then the report's id."""
    return ReplaySource.from_key(f"person {person}")


def in_memory(state, held):
    """The protocol driven by the library alone, from the same words."""
    sources = [words(person) for person in range(len(held))]
    tickets = [state.ticket(source) for source in sources]
    scale = state.scale
    while isinstance(state, Protocol):
        asked = state.open()
        reports = {question.name: [] for question in asked.questions}
        for value, ticket, source in zip(held, tickets, sources, strict=True):
            if (question := asked.question_of(ticket, scale)) is not None:
                reports[question.name].append(question.answer(value, source))
        state = state.close({question.name: question.spec.tally(reports[question.name]) for question in asked.questions})
    return state


def told(result):
    """All that a result says."""
    return (result["ill", "dose"] if result.kind == "associations" else result).to_arrow().to_pydict(), result.n


@pytest.mark.parametrize("address", ["embedded"], indirect=True)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_devices_answer_rounds_with_records_and_sets(collector, site, clock, name):  # noqa: F811  # fixtures
    """Nobody answers twice, everybody's ledger pays once, and the same words give the same result as without a collector."""
    first, held = PROTOCOLS[name], SETS if name == "sets" else PEOPLE
    base = survey_task(collector.registry.key, dn.RR(epsilon=EPSILON))
    task = replace(base, name="model", protocol=first.canonical, rounds=True, period=0, answers=1)
    collector.publish(task)
    board, ledgers = Board(site, keep_rounds=True), [MemoryLedger(lifetime_epsilon=EPSILON) for _ in held]
    parts = {"task": task.id, "clock": clock, "sleep": lambda _: None}
    reporters = [Reporter(board, ledger=ledger, source=words(person), **parts) for person, ledger in enumerate(ledgers)]
    for ledger in ledgers:
        ledger.consent(task.id)
    number, more, answered = 0, True, 0
    while more:
        receipts = [reporter.report(value) for reporter, value in zip(reporters, held, strict=True)]
        answered += sum(receipt is not None for receipt in receipts)
        assert {(receipt.state, receipt.period) for receipt in receipts if receipt} == {("sent", number)}
        asked_again = next(place for place, receipt in enumerate(receipts) if receipt)
        with pytest.raises(BudgetExceeded):
            reporters[asked_again].report(held[asked_again])
        more = collector.advance(task.id)
        board.refresh()
        number += 1
    assert (number, answered, len(site.bodies)) == (ROUNDS[name], len(held), len(held))
    assert all(7.9 < ledger.spent() <= EPSILON for ledger in ledgers)  # behind an encoder that samples a little may be left
    assert told(collector.outcome(task.id, number - 1)) == told(in_memory(first, held))
