"""What people write, over a collector's rounds: each device draws once and answers once, and the result is the library's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

import deniable as dn
from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.collect.analysis.analyst import estimate
from deniable.collect.tasks.protocol_table import read_protocol
from deniable.contract.protocol import Protocol
from deniable.errors import BudgetExceeded, DomainError
from deniable.tasks.text import Bigrams, NewWords, Terms, WordPairs
from deniable.testing import ReplaySource
from tests.collect.crowd import survey_task
from tests.collect.rows import rows_of
from tests.collect.test_tokens import site  # noqa: F401  # a fixture

EPSILON = 8.0
VOCABULARY = ["good", "morning", "night"]
PROTOCOLS = {
    "terms": Terms(vocabulary=VOCABULARY, epsilon=EPSILON, people=120),
    "next_words": Bigrams(vocabulary=VOCABULARY, epsilon=EPSILON, people=120),
    "word_pairs": WordPairs(vocabulary=VOCABULARY, epsilon=EPSILON, people=120),
    "new_words": NewWords(known=["good"], longest=3, k=2, epsilon=EPSILON, people=120),
    "lists": Terms(vocabulary=["Tea", "e-mail"], epsilon=EPSILON, people=120),
}
TEXTS = ["Good morning, boo!", "good night", "boo", "hey hey boo", "", ["good", "hey"]] * 20
LISTS = [["Tea"], ["e-mail", "Tea"], []] * 40


def words(person):
    """What a person's device draws, wherever it runs: the ticket, the word, the noise, and then the report's id."""
    return ReplaySource.from_key(f"person {person}")


def in_memory(state, held):
    """The protocol driven by the library alone, from the same words."""
    sources = [words(person) for person in range(len(held))]
    tickets = [state.ticket(source) for source in sources]
    while isinstance(state, Protocol):
        asked = state.open()
        reports = {question.name: [] for question in asked.questions}
        for value, ticket, source in zip(held, tickets, sources, strict=True):
            if (question := state.question(ticket)) is not None:
                reports[question.name].append(question.answer(value, source))
        named = {each.name: each.candidates if each.spec.candidates_at_tally else None for each in asked.questions}
        state = state.close({each.name: each.spec.tally(reports[each.name], candidates=named[each.name]) for each in asked.questions})
    return state


def told(result):
    """All that a result says, its parts as well."""
    return [(each.to_arrow().to_pydict(), each.n) for each in (result, *result.parts.values())], list(result.parts)


@pytest.mark.parametrize("address", ["embedded"], indirect=True)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_devices_answer_rounds_with_what_their_owners_wrote(collector, site, clock, name):  # noqa: F811  # fixtures
    """Nobody answers twice, everybody's ledger pays once, and the same words give the same result as without a collector."""
    first, held = PROTOCOLS[name], LISTS if name == "lists" else TEXTS
    base = survey_task(collector.registry.key, dn.RR(epsilon=EPSILON))
    task = replace(base, name="writing", protocol=first.canonical, rounds=True, period=0, answers=1)
    collector.publish(task)
    board, ledgers = Board(site, keep_rounds=True), [MemoryLedger(lifetime_epsilon=EPSILON) for _ in held]
    parts = {"task": task.id, "clock": clock, "sleep": lambda _: None}
    reporters = [Reporter(board, ledger=ledger, source=words(person), **parts) for person, ledger in enumerate(ledgers)]
    for ledger in ledgers:
        ledger.consent(task.id)
    with pytest.raises(DomainError):
        reporters[0].report(7)
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
    assert (number, answered, len(site.bodies)) == (len(first.lengths) if name == "new_words" else 1, len(held), len(held))
    assert all(ledger.spent() == pytest.approx(EPSILON) for ledger in ledgers)
    found = collector.outcome(task.id, number - 1)
    assert repr(told(found)) == repr(told(in_memory(first, held)))  # some are nan, where a row was not seen
    (answer,) = estimate(collector, task.id).to_json()["answers"]
    assert (answer["question"], answer["epsilon"]) == (first.result, pytest.approx(EPSILON))
    column = "word" if name == "next_words" else "value"
    assert [row[column] for row in rows_of(answer)] != []
    if name == "new_words":
        assert found.values[0] == "boo"


@pytest.mark.parametrize(
    ("table", "made"),
    [
        ({"name": "Terms", "vocabulary": VOCABULARY}, PROTOCOLS["terms"]),
        ({"name": "Terms", "vocabulary": ["good night"], "ngram": 2}, Terms(vocabulary=["good night"], epsilon=8.0, people=120, ngram=2)),
        ({"name": "Bigrams", "vocabulary": VOCABULARY}, PROTOCOLS["next_words"]),
        ({"name": "WordPairs", "vocabulary": VOCABULARY}, PROTOCOLS["word_pairs"]),
        ({"name": "NewWords", "known": ["good"], "longest": 3, "k": 2}, PROTOCOLS["new_words"]),
    ],
    ids=["terms", "in a row", "next words", "word pairs", "new words"],
)
def test_a_task_file_names_them(table, made):
    assert read_protocol({"protocol": table}, epsilon=EPSILON, people=120)[0] == made
