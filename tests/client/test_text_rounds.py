"""Rounds about texts on a device: everybody answers, whatever they wrote; what some could not answer is refused unread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction

import pytest

from deniable.client import GRR
from deniable.client.answerable import takes_all
from deniable.contract.domain import Integers, Text
from deniable.contract.encoder import Identity, Prefix
from deniable.contract.question import Question, Round
from deniable.contract.task import OpenedRound
from deniable.contract.texts import DrawnBigram, DrawnPair, DrawnTerm, NewWord
from deniable.contract.writing import Writing
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, rounds_task
from tests.conftest import ROOT

WORDS = ("tea", "milk", "jam")
ENCODERS = [
    DrawnTerm(WORDS),
    DrawnTerm(("green tea",), 2),
    DrawnBigram(WORDS),
    DrawnPair(WORDS),
    NewWord(Prefix(Text(4), 8, (0x74, 0x75)), WORDS),
]
TEXTS = ["", "Tea!", "green tea with milk", "tea " * 1000, "\ud800 …", "日本", [], ["tea"], ("", "Tea"), ["green tea", "jam", "jam"]]
"""Nothing at all, a little, much, half a character, and lists of words."""


def asking(encoder, domain=None, size=None):
    """A task about what people write, and a collector that asks one question."""
    task = rounds_task(domain or Writing())
    question = Question(name="asked", spec=GRR(domain_size=size or encoder.inputs, epsilon=1.0), encoder=encoder)
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = OpenedRound(task=task.id, number=0, scale=1, round=Round((question,), Fraction(0)), state=bytes(32))
    return task, collector


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: encoder.kind)
def test_everybody_answers_whatever_they_wrote(encoder):
    task, collector = asking(encoder)
    for text in TEXTS:
        device = Device(collector, task)
        assert device.report(text).state == "sent"
        assert device.ledger.spent() == pytest.approx(1.0, abs=1e-9)
    assert len(collector.bodies) == len(TEXTS)
    assert len({len(body) for body in collector.bodies}) == 1


@pytest.mark.parametrize(
    ("encoder", "domain", "size"),
    [
        (DrawnTerm(("tea", "Tea")), Writing(), None),
        (NewWord(Prefix(Text(4), 8, (0x74,)), ("I",)), Writing(), None),
        (DrawnTerm(WORDS), Writing(), 3),
        (DrawnBigram(WORDS), Writing(), 9),
        (NewWord(Prefix(Text(4), 8, (0x74, 0x75)), WORDS), Writing(), 2),
        (DrawnTerm(WORDS), Text(9), None),
        (Prefix(Text(4), 8, (0x74,)), Writing(), None),
        (Identity(), Writing(), 2),
    ],
    ids=["capital", "known capital", "no room for none", "no room for no pair", "no room for others", "words", "prefix", "itself"],
)
def test_a_round_that_some_could_not_answer_is_answered_by_nobody(encoder, domain, size):
    """A twin that answers where it can would be silent for the others, and that would reveal what they hold."""
    task, collector = asking(encoder, domain, size)
    held = TEXTS if isinstance(domain, Writing) else ["", "tea", "jam"]
    answers = []
    for text in held:
        device = Device(collector, task)
        with pytest.raises(ProtocolError, match="every value of the task can answer") as caught:
            device.report(text)
        assert device.ledger.entries() == []
        answers.append(str(caught.value))
    assert len(set(answers)) == 1
    assert not collector.bodies


def test_lists_of_words_may_be_spelled_in_any_way_where_the_task_says_that_people_hold_lists():
    encoder = DrawnTerm(("Tea", "e-mail"))
    assert encoder.domain == Writing(texts=False)
    task, collector = asking(encoder, encoder.domain)
    for words in ([], ["Tea"], ["e-mail", "tea"]):
        assert Device(collector, task).report(words).state == "sent"
    device = Device(collector, task)
    with pytest.raises(DomainError, match="allowed: lists of words"):
        device.report("Tea")  # the app's mistake, whatever the text says
    assert device.ledger.entries() == []


@pytest.mark.parametrize("bad", [7, None, b"tea", {"tea"}, ["tea", 7], ["\ud800"], {"text": "tea"}])
def test_what_is_no_writing_is_refused(bad):
    for domain in (Writing(), Writing(texts=False)):
        with pytest.raises(DomainError, match="words"):
            domain.key(bad)
    with pytest.raises(DomainError, match="words"):
        DrawnTerm(WORDS).encode(bad, ReplaySource([]))


def test_a_domain_of_texts_has_no_size_and_no_keys_to_turn_back():
    assert Writing().key("Tea  please!") == Writing().key(("tea", "please")) != Writing().key(["tea please"])
    for ask in (lambda: Writing().size, lambda: Writing().value(7), lambda: Writing(texts=1)):
        with pytest.raises(ParameterError):
            ask()


def test_lists_are_checked_before_any_text():
    for make in (
        lambda: DrawnTerm(("tea", "tea")),
        lambda: DrawnTerm(()),
        lambda: DrawnTerm(("tea",), 9),
        lambda: DrawnPair(("tea",)),
        lambda: NewWord(Prefix(Integers(0, 255), 8)),
        lambda: NewWord(Prefix(Text(4), 8), ("",)),
        lambda: DrawnBigram(("a" * (1 << 21), "b")),
    ):
        with pytest.raises(ParameterError):
            make()


def test_more_may_be_read_than_is_asked_for():
    """Whose list is spelled as texts are reads lists of words as well; the other way round it does not."""
    question = Question(name="asked", spec=GRR(domain_size=4, epsilon=1.0), encoder=DrawnTerm(WORDS))
    assert takes_all(question, Writing())
    assert takes_all(question, Writing(texts=False))


def test_a_device_that_draws_a_word_loads_neither_numpy_nor_pyarrow():
    """From the task's own bytes to the bytes of a report, in an interpreter of its own, with all packages installed."""
    asked = [Question(name="asked", spec=GRR(domain_size=each.inputs, epsilon=1.0), encoder=each).to_json() for each in ENCODERS]
    code = """
import json, sys
from deniable.client.answerable import takes_all
from deniable.contract.domain import Domain
from deniable.contract.question import Question
for data in json.load(sys.stdin):
    question = Question.from_json(data)
    assert takes_all(question, Domain.from_json({"kind": "writing", "texts": True}))
    question.spec.encode(question.answer("A green tea, please: tea with milk"))
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    loaded = set(json.loads(done.stdout))
    assert "deniable" in loaded
    assert not loaded & {"numpy", "pyarrow", "scipy", "numba", "cryptography"}
