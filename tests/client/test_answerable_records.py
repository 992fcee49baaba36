"""Rounds about records and sets made to tell people apart by their silence: all devices refuse them alike, whatever they hold."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from types import SimpleNamespace

import pytest

import deniable as dn
from deniable.client import GRR, RR
from deniable.client.answerable import takes_all, task_domain
from deniable.client.board import Board
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.cells import Cell
from deniable.contract.clusters import ClusterSide, Magnitude
from deniable.contract.domain import Categories, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute, Prefix
from deniable.contract.features import HALF, Features
from deniable.contract.gradient import LARGEST_GRADIENT, LARGEST_WEIGHT, Gradient
from deniable.contract.numbers import Numbers
from deniable.contract.question import Question, Round
from deniable.contract.sets import HeldCount, Overflow, PadAndSample, SetCode
from deniable.contract.subsets import Subsets
from deniable.contract.task import OpenedRound
from deniable.errors import DeniableError, DomainError, ProtocolError, WireError
from deniable.tasks.learning import LogisticRegression
from deniable.tasks.marginals import Marginals
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, rounds_task
from tests.conftest import vectors

PLACE, STARS, NEW = Categories("bar", "inn", "spa"), Integers(1, 4), IndexRange(2)
BODY = Features.of({"age": (0, 120), "dose": Numbers(-1.5, 2, clip=True)})
ILL = Categories("no", "yes")
SHOP = Subsets(Categories("tea", "milk", "bread", "jam"))
TABLE = rounds_task(
    protocol=Marginals(columns={"place": PLACE, "stars": STARS, "new": NEW, "land": ["Norway"]}, epsilon=1.0).canonical, name="table"
)
MODEL = rounds_task(protocol=LogisticRegression(features=BODY, label="ill", classes=ILL, epsilon=1.0).canonical, name="model")
SETS = rounds_task(SHOP, name="sets")
HELD = {
    TABLE: [{"place": p, "stars": s, "new": n, "land": "Norway"} for p, s, n in product(("bar", "inn", "spa"), (1, 4), (0, True))],
    MODEL: [{"age": a, "dose": d, "ill": i, "name": "Ann"} for a, d, i in product((0, 59.9, 120), (-99, 0.25, 2), ("no", "yes"))],
    SETS: [[], ["tea"], {"jam", "milk"}, ("tea", "milk", "bread", "jam")],
}
CENTERS = ((-HALF, 0), (0, 7), (HALF, HALF))


def grr(size, encoder):
    return Question(name="q", spec=GRR(domain_size=size, epsilon=1.0), encoder=encoder)


def numbers(encoder, low, high, mechanism=dn.Duchi, **more):
    return Question(name="q", spec=mechanism(low=low, high=high, epsilon=1.0, **more), encoder=encoder)


def gradient(features=BODY, label="ill", classes=ILL, coordinate=1, clip=0, weights=None):
    return Gradient(features, label, classes, weights or (300, -LARGEST_WEIGHT, LARGEST_WEIGHT)[: len(features) + 1], coordinate, clip)


def features(**changes):
    """The task's features with some changed, put elsewhere, or left out."""
    return Features(tuple((name, changes.get(name, domain)) for name, domain in BODY.columns))


STEPS, ONE = 2 * HALF, LARGEST_GRADIENT
EVIL = {
    "a cell of fewer labels": (TABLE, grr(8, Cell((("place", Categories("bar", "inn")), ("stars", STARS))))),
    "a cell of labels in another order": (TABLE, grr(3, Cell((("place", Categories("bar", "spa", "inn")),)))),
    "a cell of more stars": (TABLE, grr(5, Cell((("stars", Integers(0, 4)),)))),
    "a cell of numbers that look like indices": (TABLE, grr(2, Cell((("new", Integers(0, 1)),)))),
    "a cell of a column that some have": (TABLE, grr(6, Cell((("place", PLACE), ("diagnosis", NEW))))),
    "a cell of the only label": (TABLE, grr(2, Cell((("land", Categories("Norway", "Sweden")),)))),
    "too few cells": (TABLE, grr(11, Cell((("place", PLACE), ("stars", STARS))))),
    "no odd cells": (TABLE, Question(name="q", spec=RR(domain=ILL, epsilon=1.0), encoder=Cell((("stars", STARS),), (1,)))),
    "an attribute that some have": (TABLE, Question(name="q", spec=GRR(domain=PLACE, epsilon=1.0), encoder=Attribute("diagnosis"))),
    "some values of an attribute": (TABLE, Question(name="q", spec=GRR(domain=Integers(1, 3), epsilon=1.0), encoder=Attribute("stars"))),
    "an attribute in a task of sets": (SETS, Question(name="q", spec=GRR(domain=PLACE, epsilon=1.0), encoder=Attribute("place"))),
    "a value in a task of records": (TABLE, grr(4, Prefix(PLACE, 2))),
    "a record in a task of sets": (SETS, grr(3, Cell((("place", PLACE),)))),
    "a set in a task of records": (TABLE, grr(9, PadAndSample(SHOP, 2))),
    "a narrower feature": (MODEL, numbers(gradient(features(age=Numbers(0, 99, STEPS))), -ONE, ONE)),
    "a feature that is not clipped": (MODEL, numbers(gradient(features(dose=Numbers(-1.5, 2, STEPS))), -ONE, ONE)),
    "a feature that some have": (MODEL, numbers(gradient(Features.of({"age": (0, 120), "weight": (0, 200)})), -ONE, ONE)),
    "classes the other way round": (MODEL, numbers(gradient(classes=Categories("yes", "no")), -ONE, ONE)),
    "another label": (MODEL, numbers(gradient(label="infected"), -ONE, ONE)),
    "gradients from 0 on": (MODEL, numbers(gradient(), 0, ONE)),
    "gradients up to a half": (MODEL, numbers(gradient(), -ONE, ONE >> 1)),
    "gradients that the mechanism clips": (MODEL, numbers(gradient(), -1, 1, clip=True)),
    "gradients less clipped than it seems": (MODEL, numbers(gradient(clip=1), -(ONE >> 2), ONE >> 2)),
    "the ends of gradients": (MODEL, numbers(gradient(), -ONE, ONE, dn.SignRR)),
    "one kept answer for gradients": (MODEL, numbers(gradient(), -ONE, ONE, dn.OneBitMeanPM, steps=2)),
    "gradients as cells": (MODEL, grr(ONE + 1 >> 8, gradient(clip=8))),
    "clusters of another feature": (MODEL, grr(6, ClusterSide(features(age=Numbers(1, 120, STEPS)), CENTERS, 0))),
    "too few clusters": (MODEL, grr(5, ClusterSide(BODY, CENTERS, 0))),
    "clusters in a table": (TABLE, grr(6, ClusterSide(BODY, CENTERS, 0))),
    "no small magnitudes": (MODEL, grr(8, Magnitude(BODY))),
    "magnitudes of another feature": (MODEL, grr(9, Magnitude(Features.of({"height": (0, 300)})))),
    "sets of other items": (SETS, grr(6, PadAndSample(Subsets(Categories("tea", "milk", "bread", "salt")), 2))),
    "no place for the last dummy": (SETS, grr(5, PadAndSample(SHOP, 2))),
    "not all counts": (SETS, grr(2, HeldCount(SHOP, ((0,), (1,))))),
    "not all sets": (SETS, grr(15, SetCode(SHOP))),
}


class Raw(SimpleNamespace):
    """A round as a hostile collector writes it, which nobody checked before it was signed."""


def outcome(task, opened, value):
    """What a device makes of a round: the error, what it spent, and what it sent."""
    board = board_of(task)
    board.transport.rounds[task.id.hex()] = opened
    device = Device(board, task)
    with pytest.raises(DeniableError) as caught:
        device.report(value)
    assert (device.ledger.entries(), board.transport.bodies) == ([], [])
    return type(caught.value).__name__, str(caught.value)


@cache
def board_of(task):
    """What all devices share: the task is verified once."""
    return Board(FakeCollector(task))


def opened_round(task, *questions):
    return OpenedRound(task=task.id, number=0, scale=1, round=Round(questions, Fraction(0)), state=bytes(32))


@pytest.mark.parametrize("name", EVIL)
def test_silence_says_nothing_about_records_and_sets(name):
    task, question = EVIL[name]
    found = {outcome(task, opened_round(task, question), value) for value in HELD[task]}
    ((kind, text),) = found
    assert kind == "ProtocolError"
    assert "answering at all would show what" in text


SEPARATING = [
    "a cell of fewer labels", "too few cells", "a narrower feature", "a feature that is not clipped",
    "gradients from 0 on", "gradients up to a half", "gradients less clipped than it seems", "too few clusters", "no small magnitudes",
    "no place for the last dummy", "not all counts", "not all sets",
]  # fmt: skip


def test_without_the_check_such_rounds_do_tell_people_apart(monkeypatch):
    """The evil twin of a device looks at what it holds first: then some answer, and the others' silence says what they hold."""
    monkeypatch.setattr("deniable.client.board.check_answerable", lambda *_: None)
    for name in SEPARATING:
        task, question = EVIL[name]
        collector, answered = FakeCollector(task), set()
        collector.rounds[task.id.hex()] = opened_round(task, question)
        for number, value in enumerate(HELD[task]):
            device = Device(collector, task, source=ReplaySource.from_key(f"twin {number}"))
            try:
                answered.add(device.report(value).state)
            except ProtocolError:
                answered.add("silent")
        assert answered == {"sent", "silent"}, name


def test_whatever_a_collector_supplies_is_refused_before_a_device_looks_at_what_it_holds():
    """Weights, centers, lists, sizes and domains of every kind of wrong: one error for all who hold something, and nothing is spent."""
    (question,) = opened_round(SETS, grr(6, PadAndSample(SHOP, 2))).round.questions
    asked = {"Cell": TABLE, "Gradient": MODEL, "ClusterSide": MODEL, "Magnitude": MODEL}
    refused = 0
    for file, kinds in (("models", "GMC"), ("sets", "PHSO"), ("encoders", "C")):
        for bad in vectors(file)["refused"]:
            encoder = parse_canonical(bad["encoder"].encode())
            if not isinstance(encoder, dict) or str(encoder.get("encoder"))[:1] not in kinds:
                continue
            task = asked.get(encoder["encoder"], SETS)
            content = parse_canonical(opened_round(task, question).canonical)
            content["questions"][0]["encoder"] = encoder
            found = {outcome(task, Raw(canonical=canonical_json(content)), value) for value in (HELD[task][0], HELD[task][-1])}
            ((kind, _),) = found
            assert kind == "WireError", encoder
            refused += 1
    assert refused > 120


GOOD = [
    (TABLE, grr(12, Cell((("place", PLACE), ("stars", STARS))))),
    (TABLE, grr(2, Cell((("new", NEW), ("stars", STARS)), (1, 3)))),
    (TABLE, Question(name="q", spec=GRR(domain=PLACE, epsilon=1.0), encoder=Attribute("place"))),
    *((MODEL, numbers(gradient(coordinate=j), -ONE, ONE, dn.Piecewise)) for j in range(3)),
    *((MODEL, numbers(gradient(coordinate=j, clip=8), -(ONE >> 8), ONE >> 8)) for j in range(3)),
    (MODEL, numbers(gradient(weights=(0, 0, 0), coordinate=0), -ONE, ONE, dn.OneBitMean)),
    *((MODEL, grr(6, ClusterSide(BODY, CENTERS, j, clip))) for j, clip in ((0, 0), (1, 8))),
    (MODEL, grr(9, Magnitude(BODY))),
    (MODEL, Question(name="q", spec=dn.Hybrid(domain=BODY.columns[0][1], epsilon=1.0), encoder=Attribute("age"))),
    (SETS, grr(6, PadAndSample(SHOP, 2))),
    (SETS, grr(2, Overflow(SHOP, 1, ((0,), (1, 2))))),
    (SETS, grr(3, HeldCount(SHOP, ((0,), (1, 2))))),
    (SETS, grr(16, SetCode(SHOP))),
]


@pytest.mark.parametrize("place", range(len(GOOD)))
def test_what_is_answerable_is_answered_by_everybody(place):
    """With the tightest mechanism that takes it: every corner of what people hold, whatever is drawn on the way."""
    task, question = GOOD[place]
    assert takes_all(question, task_domain(task))
    for number, value in enumerate(HELD[task]):
        for word in (0, (1 << 64) - 1):
            source = ReplaySource([word, word, *ReplaySource.from_key(f"{place} {number}").words(40)])
            assert question.spec.decode(question.spec.encode(question.answer(value, source))) is not None
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = opened_round(task, question)
    assert [Device(collector, task).report(value).state for value in HELD[task]] == ["sent"] * len(HELD[task])


WRONG = [
    (TABLE, {"place": "bar", "stars": 1, "new": 0}, "land"),
    (TABLE, {"place": "bar", "stars": 1, "new": 0, "land": "Sweden"}, "column 'land'.*'Norway' alone"),
    (TABLE, {"place": "bar", "stars": 5, "new": 0, "land": "Norway"}, "column 'stars'.*from 1 to 4"),
    (TABLE, "bar", "place"),
    (MODEL, {"age": 121, "dose": 0, "ill": "no"}, "column 'age'.*from 0 to 120"),
    (MODEL, {"age": float("nan"), "dose": 0, "ill": "no"}, "column 'age'"),
    (MODEL, {"age": 1, "dose": 0, "ill": "maybe"}, "column 'ill'.*'no', 'yes'"),
    (MODEL, {"age": 1, "dose": 0}, "ill"),
    (SETS, ["tea", "tea"], "each item once"),
    (SETS, "tea", "each item once"),
]


@pytest.mark.parametrize(("task", "value", "says"), WRONG, ids=[str(number) for number in range(len(WRONG))])
def test_a_record_outside_the_task_is_the_apps_error_whatever_the_round(task, value, says):
    """Even a round about other columns: the collector is not asked, so it learns nothing from who fails."""
    collector = FakeCollector(task)
    device = Device(collector, task)
    for question in (None, *(asked for of, asked in GOOD if of is task)):
        if question:
            collector.rounds[task.id.hex()] = opened_round(task, question)
        with pytest.raises(DomainError, match=says):
            device.report(value)
    assert collector.requests == {f"GET /v1/tasks/{task.id.hex()}": 1}


PROTOCOLS = [
    {"columns": "all"},
    {"columns": []},
    {"columns": [{"name": "a"}]},
    {"columns": [{"name": "a", "domain": PLACE.to_json(), "only": "x"}]},
    {"columns": [{"name": ["a"], "domain": PLACE.to_json()}]},
    {"columns": [{"name": "a", "only": 7}]},
    {"columns": [{"name": "a", "domain": Text(4).to_json()}] * 2},
    {"features": {}},
    {"features": BODY.to_json(), "label": "ill"},
    {"features": BODY.to_json(), "label": "age", "classes": ILL.to_json()},
    {"features": BODY.to_json(), "domain": PLACE.to_json()},
    {"columns": BODY.to_json(), "domain": PLACE.to_json()},
]


@pytest.mark.parametrize("place", range(len(PROTOCOLS)))
def test_a_protocol_that_does_not_say_what_records_are_has_no_rounds(place):
    task = rounds_task(protocol=canonical_json({"protocol": "Marginals", **PROTOCOLS[place]}))
    with pytest.raises(WireError):
        Device(FakeCollector(task), task).report(HELD[MODEL][0])


def test_a_record_is_paid_for_before_it_is_sent_and_only_once():
    task, question = GOOD[3]
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = opened_round(task, question)
    collector.faults.extend(["no connection"] * 4)
    device = Device(collector, task)
    assert device.report(HELD[task][0]).state == "pending"
    assert (device.ledger.spent(), collector.bodies) == (1, [])
    (waiting,) = device.ledger.entries()
    assert [receipt.state for receipt in device.reporter.flush()] == ["sent"]
    assert collector.bodies == [waiting.report]
    with pytest.raises(dn.errors.BudgetExceeded):
        device.report(HELD[task][1])
