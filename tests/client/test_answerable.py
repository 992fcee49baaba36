"""Rounds made to tell people apart by their silence, and the honest ones of every search."""

from __future__ import annotations

from fractions import Fraction

import pytest

import deniable as dn
from deniable.client import GRR, OLH
from deniable.client.answerable import takes_all
from deniable.client.board import Board
from deniable.contract.canonical import canonical_json
from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute, Identity, Prefix
from deniable.contract.fragment import Fragment
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.segments import Segments
from deniable.contract.task import OpenedRound
from deniable.core.run import ask, draw_tickets
from deniable.errors import DomainError, ProtocolError, WireError
from deniable.tasks.heavy_hitters import SFP, Bitstogram, IndependentSegments, MultipleChannels, SegmentPairs, TreeHist
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, rounds_task

WORDS = Text(6)
TASK = rounds_task(WORDS)


def round_of(task, *questions, number=0, first=Fraction(0), scale=1):
    return OpenedRound(task=task.id, number=number, scale=scale, round=Round(questions, first), state=bytes(32))


def outcome(task, question, value):
    """What a device makes of a round with such a question: the error, what it spent, and what it sent."""
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = round_of(task, question)
    device = Device(collector, task)
    with pytest.raises(ProtocolError) as caught:
        device.report(value)
    return str(caught.value), device.ledger.entries(), collector.bodies


def grr(domain, encoder=None):
    return Question(name="evil", spec=GRR(domain=domain, epsilon=1.0), encoder=encoder or Identity())


def olh(domain, encoder=None):
    return Question(name="evil", spec=OLH(domain=domain, epsilon=1.0), encoder=encoder or Identity())


FIRST = ord("s")  # of "secret"
EVIL = {
    "foreign labels": grr(Categories("secret", "x")),
    "shorter words": olh(Text(5)),
    "longer words": olh(Text(7)),  # all could answer it; but it is not what the task asks
    "bytes": olh(Bytes(6)),
    "an attribute": grr(Categories("yes", "no"), Attribute("secret")),
    "prefixes of shorter words": olh(IndexRange(256), Prefix(Text(5), 8)),
    "prefixes of numbers": olh(IndexRange(16), Prefix(Integers(0, 255), 4)),
    "not all prefixes": grr(IndexRange(FIRST + 1), Prefix(WORDS, 8)),
    "prefixes from one on": grr(Integers(1, 255), Prefix(WORDS, 8)),
    "prefixes up to one": grr(Integers(-9, FIRST), Prefix(WORDS, 8)),
    "prefixes as labels": grr(Categories("secret", "x"), Prefix(WORDS, 8)),
    "no place for the others": grr(IndexRange(2), Prefix(WORDS, 8, (0, FIRST))),
    "long prefixes cut off": olh(Bytes(8), Prefix(Text(10), 72)),
    "fragments of longer words": olh(IndexRange(256), Fragment(Text(7), 0, 8)),
    "not all fragments": grr(IndexRange(FIRST + 1), Fragment(WORDS, 0, 8)),
    "fragments without room for the hash": olh(IndexRange(256), Fragment(WORDS, 0, 8, hash_bits=8)),
    "segments of longer words": olh(IndexRange(256), Segments(Text(7), ((0, 8),))),
    "not all segments": grr(IndexRange(FIRST + 1), Segments(WORDS, ((0, 8),))),
    "segments without the others": grr(IndexRange(2), Segments(WORDS, ((0, 8),), (0, FIRST))),
}


@pytest.mark.parametrize("name", EVIL)
def test_silence_says_nothing(name):
    task = rounds_task(Text(10)) if name == "long prefixes cut off" else TASK
    error, spent, sent = outcome(task, EVIL[name], "secret")
    assert "do not answer it" in error
    assert (spent, sent) == ([], [])
    for other in ("hello", "x", "", "zzzzzz"):
        assert outcome(task, EVIL[name], other) == (error, [], [])


NUMBERS, BYTES = dn.Numbers(0, 1, steps=1), Integers(0, 255)
AGAIN = {
    "numbers that have no answer": (NUMBERS, dn.SignRR(domain=NUMBERS, epsilon=1.0), Identity(), (0, 0.3)),
    "one kept answer for every bit": (BYTES, dn.DBitFlipPM(domain_size=2, bits=2, epsilon=1.0), Segments(BYTES, ((3, 1),)), (0, 255)),
    "one kept answer for the value": (BYTES, dn.LongitudinalGRR(domain=BYTES, epsilon=1.0), Identity(), (0, 255)),
}


@pytest.mark.parametrize("name", AGAIN)
def test_rounds_count_and_count_with_fresh_noise(name):
    """Bits 3 and 7 asked with one spec would share a permanent answer: paid for once, and telling whether they are equal."""
    domain, spec, encoder, values = AGAIN[name]
    for value in values:
        error, spent, sent = outcome(rounds_task(domain), Question(name="evil", spec=spec, encoder=encoder), value)
        assert "do not answer it" in error
        assert (spent, sent) == ([], [])


def test_one_evil_question_spoils_the_round_for_those_who_get_another():
    good = Question(name="good", spec=OLH(domain=WORDS, epsilon=1.0), share=Fraction(1, 2))
    evil = Question(name="evil", spec=GRR(domain=Categories("secret", "x"), epsilon=1.0), share=Fraction(1, 2))
    collector = FakeCollector(TASK)
    collector.rounds[TASK.id.hex()] = round_of(TASK, good, evil, scale=2)
    for ticket in (0, 1):
        device = Device(collector, TASK, source=ReplaySource([ticket << 63, *range(50)]))
        with pytest.raises(ProtocolError, match="evil"):
            device.report("secret")
    assert collector.bodies == []


def test_a_value_outside_the_task_is_refused_whatever_the_round():
    """Before anything is asked of the collector: it learns nothing from the error either."""
    collector = FakeCollector(TASK)
    device = Device(collector, TASK)
    for question in (None, olh(WORDS), EVIL["foreign labels"], EVIL["longer words"]):
        if question:
            collector.rounds[TASK.id.hex()] = round_of(TASK, question)
        with pytest.raises(DomainError, match="6 bytes"):
            device.report("too long")
    assert collector.requests == {f"GET /v1/tasks/{TASK.id.hex()}": 1}


def test_what_the_board_let_pass_and_cannot_be_answered_is_the_collectors_fault(monkeypatch):
    """The second wall, with the first one taken away."""
    monkeypatch.setattr("deniable.client.board.check_answerable", lambda *_: None)
    error, spent, sent = outcome(TASK, EVIL["foreign labels"], "hello")
    assert "do not trust this collector" in error
    assert (spent, sent) == ([], [])


@pytest.mark.parametrize("protocol", [{"protocol": "PEM"}, [], {"protocol": "PEM", "domain": {"kind": "all"}}])
def test_a_protocol_that_does_not_say_what_is_asked_has_no_rounds(protocol):
    task = rounds_task(protocol=canonical_json(protocol))
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = round_of(task, grr(Categories("secret", "x")))
    for value in ("secret", "hello"):
        with pytest.raises(WireError, match="domain"):
            Device(collector, task).report(value)
    assert collector.bodies == []


COMMON = {"k": 2, "epsilon": 4.0, "people": 400}
SEARCHES = {
    "PEM, hashed": dn.PEM(domain=WORDS, oracle="OLH", groups=12, **COMMON),
    "PEM, listed": dn.PEM(domain=WORDS, oracle="GRR", groups=12, **COMMON),
    "PEM of long words": dn.PEM(domain=Text(9), oracle="OLH", groups=18, **COMMON),
    "PEM of bytes": dn.PEM(domain=Bytes(8), groups=18, **COMMON),
    "PEM of numbers": dn.PEM(domain=Integers(-3, 40), groups=2, **COMMON),
    "TreeHist": TreeHist(domain=WORDS, **COMMON),
    "TreeHist of long words": TreeHist(domain=Text(10), **COMMON),
    "Bitstogram": Bitstogram(domain=WORDS, **COMMON),
    "SFP": SFP(domain=WORDS, **COMMON),
    "SFP with an alphabet": SFP(domain=WORDS, alphabet="abcdefghijklmnopqrstuvwxyz", **COMMON),
    "IndependentSegments": IndependentSegments(domain=WORDS, **COMMON),
    "SegmentPairs": SegmentPairs(domain=WORDS, **COMMON),
    "SegmentPairs, listed": SegmentPairs(domain=Integers(0, 4095), oracle="GRR", **COMMON),
    "MultipleChannels": MultipleChannels(domain=WORDS, **COMMON),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_round_of_an_honest_search_is_answered(name):
    """By devices as the collector opens it, to the search's end; the tallies are made in memory."""
    state = first = SEARCHES[name]
    task = rounds_task(protocol=first.canonical, epsilon=first.epsilon)
    collector, source = FakeCollector(task), ReplaySource.from_key(name)
    held = {"text": ["secret", "hello", ""], "bytes": [b"secret", b"\0", b""]}.get(first.domain.kind, [7, 40, 0])
    crowd = [value for value in held[:2] for _ in range(200)]
    tickets = draw_tickets(first, len(crowd), source)
    number = 0
    while isinstance(state, Protocol):
        asked = state.open()
        assert all(takes_all(question, first.domain) for question in asked.questions)
        collector.rounds[task.id.hex()] = round_of(task, *asked.questions, number=number, first=asked.first, scale=state.scale)
        board = Board(collector, keep_rounds=True)
        turn = asked.edges(state.scale)[0]
        for value in held:
            device = Device(board, task, source=source)
            device.ledger.ticket(task.id, lambda turn=turn: turn)
            assert device.report(value).state == "sent"
        state = state.close(ask(state, crowd, tickets, source=source))
        number += 1
    assert len(collector.bodies) == 3 * number
