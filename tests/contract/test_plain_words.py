"""What people are told: promises that are never rounded down, numbers as people write them, and what is meant where nothing is said."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import exp, inf

import pytest

import deniable as dn
from deniable.contract.clusters import ClusterSide
from deniable.contract.domain import Categories
from deniable.contract.features import Features
from deniable.contract.fragment import Fragment
from deniable.contract.gradient import Gradient
from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import Numbers
from deniable.contract.records import Record
from deniable.contract.task import Task
from deniable.contract.wire import Column
from deniable.errors import DomainError

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("model", ["local", "shuffle", "central", "multiparty"])
@pytest.mark.parametrize(("epsilon", "factor", "told"), [(1.0, "2.72", "1"), (0.12341, "1.14", "0.1235"), (7.0, "1,096.64", "7")])
def test_a_promise_is_rounded_up_if_at_all(model, epsilon, factor, told):
    said = Guarantee(epsilon=epsilon, model=model, delta=1e-6, people=12_000, local_epsilon=2.00001).statement()
    assert exp(epsilon) <= float(factor.replace(",", "")) < exp(epsilon) + 0.01
    assert f"more than {factor} times" in said
    assert f"(epsilon = {told}, delta = 1e-06, {model} model)" in said
    assert "except with probability 1e-06" in said
    if model == "shuffle":
        assert "12,000 honest, distinct people" in said
        assert "only the local epsilon = 2.0001 holds" in said


@pytest.mark.parametrize("local", [None, inf])
def test_what_nobody_promises_without_an_honest_shuffler_is_said(local):
    assert "otherwise nothing is promised" in Guarantee(epsilon=1.0, model="shuffle", local_epsilon=local).statement()


@pytest.mark.parametrize("model", ["local", "central", "multiparty"])
def test_a_promise_without_exceptions_names_none(model):
    said = Guarantee(epsilon=1.0, model=model).statement()
    assert "except" not in said
    assert ("delta" in said) == (model != "local")


def test_a_curator_s_promise_names_who_must_be_trusted_and_from_whom_nothing_is_hidden():
    said = Guarantee(epsilon=1.0, model="central", honest="the curator").statement()
    assert "The curator can see the true answers, and must be trusted" in said
    assert "Not protected: true answers, from those who must be trusted" in said


def test_a_sum_s_promise_says_what_it_needs_and_that_parties_may_lie():
    said = Guarantee(epsilon=1.0, model="multiparty", honest="8 of 10 parties").statement()
    assert "needs 8 of 10 parties" in said
    assert "computing power is limited" in said
    assert "a party can send false numbers" in said


def test_steps_become_peoples_own_numbers():
    features = Features.of({"age": (0, 120), "height": Numbers(50, 250, clip=True)})
    assert [features.original(0, steps) for steps in (-2048, 0, 1024, 2048)] == [0, 60, 90, 120]
    assert [features.original(1, steps) for steps in (-2048, 0, 2048)] == [50, 150, 250]
    assert (features.unit(0), features.unit(1)) == (120 / 4096, 200 / 4096)
    assert (len(features), features.names) == (2, ("age", "height"))
    assert Features.of(features) is features
    assert [domain.clip for _, domain in features.columns] == [False, True]


def test_points_in_time_are_shown_as_such():
    day = Numbers(NOON, NOON + timedelta(days=1), steps=24)
    assert [day.value(key) for key in (0, 1, 24)] == [NOON, NOON + timedelta(hours=1), NOON + timedelta(days=1)]
    assert day.shown(NOON.timestamp() + 3600) == NOON + timedelta(hours=1)
    assert (day.shown(inf), day.shown_distance(60.0), day.shown_distance(inf)) == (None, timedelta(minutes=1), inf)
    assert "points in time with a time zone from 2024-05-01T12:00:00+00:00 to" in day.describe()
    wall = Numbers(datetime(2024, 5, 1), datetime(2024, 5, 2))
    assert "without a time zone" in wall.describe()
    assert (wall.steps, wall.value(wall.steps // 2)) == (32768, datetime(2024, 5, 1, 12))
    for mixed in ((datetime(2024, 5, 1, 12), day), (NOON, wall), (5, day), (NOON, Numbers(0, 1))):
        with pytest.raises(DomainError):
            mixed[1].number(mixed[0])


def test_numbers_are_shown_in_their_plainest_form():
    ages = Numbers(0, 120, clip=True)
    assert repr(ages) == "Numbers(0, 120, steps=32760, clip=True)"
    assert repr(Numbers(Fraction(1, 3), 0.5, steps=2)) == "Numbers(1/3, 0.5, steps=2)"
    assert ages.describe() == "finite numbers, clipped to the range from 0 to 120"
    assert [type(Numbers(0, 3, steps=6).value(key)) for key in (0, 1, 2)] == [int, float, int]
    assert Numbers(0, 1, steps=3).value(1) == Fraction(1, 3)
    assert (ages.shown(1.5), ages.shown_distance(1.5)) == (1.5, 1.5)
    assert [Numbers(0, high).steps for high in (1, 3, 32768, 32769, 0.5)] == [32768, 32766, 32768, 32768, 32768]
    assert [ages.key(value) for value in (-5, 0, 120, 500)] == [0, 0, 32760, 32760]
    assert (Numbers(0, 1).key(True), Numbers(0, 1).key(False)) == (32768, 0)
    for other in (Numbers(0, 2), Numbers(-1, 1)):
        with pytest.raises(DomainError):
            other.key(True)


def test_long_lists_are_shown_from_their_beginning():
    assert repr(Categories(*"abcd")) == "Categories('a', 'b', 'c', 'd')"
    assert repr(Categories(*"abcde")) == "Categories('a', 'b', 'c', 'd', ... 5 labels)"
    assert Categories(*"abcdef").describe() == "one of 'a', 'b', 'c', 'd', 'e', 'f'"
    assert Categories(*"abcdefg").describe() == "one of 'a', 'b', 'c', 'd', 'e', 'f' ... (7 labels)"
    columns = [(name, Categories("x", "y")) for name in "abcde"]
    assert "(5 columns)" in Record(tuple(columns)).describe()
    assert "columns)" not in Record(tuple(columns[:4])).describe()


UNSAID = {
    Task: {"rounds": False, "answers_per_period": 1, "answers": 1, "minimum_batch": 100, "late": 3600, "retention": 90, "issuer": b""},
    Guarantee: {"delta": 0.0, "local_epsilon": None, "epsilon_at_least": None, "people": None},
    Fragment: {"hash_bits": 0, "salt": 0, "function": 0},
    ClusterSide: {"clip": 0},
    Gradient: {"clip": 0},
    Numbers: {"clip": False},
    Column: {"count": 1, "packed": False, "ones": None, "increasing": False},
    dn.Question: {"share": Fraction(1), "candidates": None},
}


@pytest.mark.parametrize("kind", UNSAID, ids=lambda kind: kind.__name__)
def test_what_is_not_said_is_the_documented_usual(kind):
    said = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    assert {name: said[name] for name in UNSAID[kind]} == UNSAID[kind]
