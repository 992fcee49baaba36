"""What a session answers: exact sums under the noise, and as much noise as one person can move them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from deniable.central import Laplace, Session
from deniable.central.histogram import LaplaceCounts
from deniable.central.number import LaplaceRatio
from deniable.central.quantiles import Ranking, utilities
from deniable.contract.source import Source
from deniable.testing import ReplaySource

PLUS, REPLACE = "add-remove", "replace"


class Silent(Source):
    """Words that are all 0: the noise is 0 then, and the exact answer comes out. Coins of choices are flipped as ever."""

    def __init__(self):
        self._coins = ReplaySource.from_key("coins")

    def word(self):
        return 0

    def below(self, count):
        return 0

    def bernoulli_ratio(self, numerator, denominator):
        return self._coins.bernoulli_ratio(numerator, denominator)


def silent(rows, neighbors, **options):
    table = pl.DataFrame(rows, schema={"x": pl.Float64, "kind": pl.String, "tags": pl.List(pl.String), "in": pl.Boolean}, orient="row")
    return Session(table, budget=30.0, neighbors=neighbors, source=Silent(), **options)


# --- sensitivity: all neighbors of all small tables, through the front door ---

ROWS = [
    (None, None, None, True),
    (-10.0, "a", ["a", "b"], True),
    (float("nan"), "b", ["a", "a"], True),
    (99.0, "b", [], True),
    (2.0, "c", ["b"], False),
]
QUESTIONS = {
    "count": lambda s, where: s.count(where=where, epsilon=1.0),
    "sum above 0": lambda s, where: s.sum("x", low=1, high=7, grid=1, where=where, epsilon=1.0),
    "sum around 0": lambda s, where: s.sum("x", low=-4, high=7, grid=0.5, where=where, epsilon=1.0),
    "mean": lambda s, where: s.mean("x", low=-4, high=8, grid=1, where=where, epsilon=1.0),
    "histogram": lambda s, where: s.histogram("kind", values=["a", "b", "c"], where=where, epsilon=1.0),
    "peeled counts": lambda s, where: s.top("tags", 2, values=["a", "b"], where=where, epsilon=1.0),
}


def moved(one, other):
    """The ln-ratio that the noise allows between two answers, at most: how far they are apart, in scales."""
    law, also = one.law, other.law
    if isinstance(law, LaplaceRatio):
        counts = abs(law.count - also.count) / law.count_scale if law.count_scale else 0.0
        return abs(law.steps - also.steps) / law.scale + counts
    if isinstance(law, LaplaceCounts):
        counts, others = (dict(zip(each.values, each.law.released.tolist(), strict=True)) for each in (one, other))
        rows = abs(one.n - other.n) if law.summed == 1 else 0  # where the rows themselves are counted
        return (sum(abs(counts[value] - others[value]) for value in counts) + rows) / law.scale
    return abs(law.steps - also.steps) / law.scale


def worst(tables, neighbors, question, where, **options):
    """The largest ln-ratio between any two neighbors; the noise is the same for all of them."""
    answers = {table: QUESTIONS[question](silent([ROWS[i] for i in table], neighbors, **options), where) for table in tables}
    pairs = [
        (one, other)
        for one, other in product(tables, tables)
        if (len(other) == len(one) + 1 and any(tuple(sorted((*one, i))) == other for i in range(len(ROWS))))
        or (
            len(one) == len(other)
            and any(one[:k] + one[k + 1 :] == other[:m] + other[m + 1 :] for k in range(len(one)) for m in range(len(one)))
        )
    ]
    related = [(one, other) for one, other in pairs if (len(one) == len(other)) == (neighbors == REPLACE)]
    assert len({answer.law.scale for answer in answers.values()}) == 1
    return max(moved(answers[one], answers[other]) for one, other in related)


SMALL = [table for size in range(3) for table in combinations_with_replacement(range(len(ROWS)), size)]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("neighbors", [PLUS, REPLACE])
@pytest.mark.parametrize("where", [None, {"in": True}], ids=["all", "some"])
def test_no_neighbor_moves_an_answer_further_than_its_noise_allows_and_one_moves_it_so_far(question, neighbors, where):
    """Epsilon is kept, and not wasted. Of the peeled counts' epsilon, half is for the choice."""
    found = worst(SMALL, neighbors, question, where)
    known = where is None and neighbors == REPLACE and question == "count"  # of all rows: nothing that is not public
    assert found == pytest.approx({"peeled counts": 0.5, "count": 0.0 if known else 1.0}.get(question, 1.0), rel=1e-9)


@pytest.mark.parametrize("question", ["sum above 0", "sum around 0", "mean"])
def test_among_all_rows_of_a_complete_column_a_sum_moves_by_the_range_alone(question):
    whole = [table for table in SMALL if len(table) == 2 and not {0, 2} & set(table)]
    assert worst(whole, REPLACE, question, None, complete=["x"]) == pytest.approx(1.0, rel=1e-9)
    some = QUESTIONS[question](silent([ROWS[1]], REPLACE, complete=["x"]), {"in": True})
    every = QUESTIONS[question](silent([ROWS[1]], REPLACE, complete=["x"]), None)
    assert every.law.scale <= some.law.scale
    if question == "sum above 0":
        assert (every.law.scale, some.law.scale) == (6.0, 7.0)


@pytest.mark.parametrize("neighbors", [PLUS, REPLACE])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10)])
def test_one_person_moves_no_utility_further_than_stated(neighbors, q):
    """Also those of the limits, with their made-up people; and some person moves one so far."""
    tables = [np.array(held) for held in product(range(3), repeat=3)]
    stated = Ranking(1.0, 2, neighbors, False).selection(q).sensitivity
    found = Fraction(0)
    for one, other in product(tables, tables):
        change = other - one
        if neighbors == PLUS and sorted(change.tolist()) != [0, 0, 1]:
            continue
        if neighbors == REPLACE and sorted(change.tolist()) != [-1, 0, 1]:
            continue
        for pad, shift in ((0, 0), (4, -4), (4, 4)):
            held = [np.concatenate([[pad], each, [pad]]) if pad else each for each in (one, other)]
            pair = [utilities(each, q * int(raw.sum()) + pad + shift) for each, raw in zip(held, (one, other), strict=True)]
            found = max(found, *(abs(a - b) for a, b in zip(*pair, strict=True)))
    assert found == stated


# --- what the noise is added to, and which noise ---


def test_exact_answers_clip_round_and_leave_out_what_is_missing():
    rows = [(value, None, None, True) for value in (1.26, 1.24, -50.0, float("inf"), float("nan"), None)]
    session = silent(rows, PLUS)
    total = session.sum("x", low=-2, high=3, grid=0.1, epsilon=1.0)
    assert total.law.steps == 13 + 12 - 20 + 30
    assert total.value == pytest.approx(3.5)
    assert "nearest end" in total.bias
    assert "rounded to 0.1" in total.bias
    assert "without a value" in total.bias
    mean = session.mean("x", low=-2, high=3, grid=0.1, epsilon=1.0)
    assert (mean.law.count, mean.value) == (4, pytest.approx(3.5 / 4))
    big = Session({"u": np.array([2**64 - 1, 5], dtype=np.uint64), "b": [True, False]}, budget=9.0, neighbors=PLUS, source=Silent())
    assert big.sum("u", low=0, high=100, epsilon=1.0).value == 105
    assert big.sum("b", low=0, high=1, epsilon=1.0).value == 1
    assert big.sum("b", low=0, high=1, epsilon=1.0).bias.count("rounded") == 0
    assert big.quantiles("u", 0.5, low=0, high=10, steps=10, epsilon=1.0).n is None


def test_the_noise_is_the_mechanism_of_the_stated_epsilon():
    """Word for word: the session draws what the mechanism draws, in the same order, and nothing else."""
    people = {"age": [30] * 700 + [40] * 300, "drink": ["tea"] * 400 + ["water"] * 600}
    for neighbors, sensitivity in ((PLUS, 1), (REPLACE, 2)):
        session = Session(people, budget=9.0, neighbors=neighbors, source=ReplaySource.from_key("words"))
        same = ReplaySource.from_key("words")
        count = Laplace(epsilon=0.1, sensitivity=1, neighbors=neighbors).release(300, source=same)
        assert session.count(where={"age": 40}, epsilon=0.1).value == count
        counts = Laplace(epsilon=0.1, sensitivity=sensitivity, neighbors=neighbors).release(np.array([400, 600, 0]), source=same)
        assert session.histogram("drink", values=["tea", "water", "milk"], epsilon=0.1).law.released.tolist() == counts.tolist()
    twin = Laplace(epsilon=0.2, sensitivity=1, neighbors=PLUS).release(300, source=ReplaySource.from_key("words"))
    assert twin != count


@pytest.mark.parametrize("neighbors", [PLUS, REPLACE])
@pytest.mark.parametrize("rows", [[], [ROWS[4]]], ids=["an empty table", "an empty selection"])
def test_of_nobody_every_question_has_an_answer_and_an_honest_interval(neighbors, rows):
    session, nobody = silent(rows, neighbors), {"in": True}
    assert session.count(where=nobody, epsilon=1.0).value == 0
    assert session.sum("x", low=0, high=9, where=nobody, epsilon=1.0).value == 0
    mean = session.mean("x", low=0, high=9, where=nobody, epsilon=1.0)
    assert mean.interval() == (0.0, 9.0)
    assert mean.stderr == 4.5
    shares = session.histogram("kind", values=["a", "b"], where=nobody, epsilon=1.0)
    assert shares.counts.tolist() == [0.0, 0.0]
    assert np.isfinite(shares.frequencies).all()
    low, high = session.quantiles("x", [0.25, 0.5], low=0, high=10, where=nobody, epsilon=1.0).interval()
    assert low.tolist() == [0, 0]
    assert high.tolist() == [10, 10]
    assert len(session.top("tags", 1, values=["a", "b"], where=nobody, epsilon=1.0).values) == 1
    everybody = session.histogram("kind", values=["a", "b"], epsilon=1.0)
    assert (everybody.interval(population=True)[0] == 0).all()
    assert everybody.compare(everybody).changed() == []


def test_top_finds_the_most_frequent_of_lists_and_of_single_values():
    rows = [(None, "abc"[i % 3 if i < 60 else 2], ["x", "y"] if i % 4 else ["y", "z"], True) for i in range(4000)]
    table = pl.DataFrame(rows, schema=["n", "kind", "tags", "in"], orient="row").drop("n")
    for rule, delta in (("basic", 0.0), ("zCDP", 1e-6)):
        for neighbors in (PLUS, REPLACE):
            session = Session(table, budget=8.0, delta=delta, rule=rule, neighbors=neighbors, source=ReplaySource.from_key(rule))
            peeled = session.top("tags", 2, values=["w", "x", "y", "z"], epsilon=1.0)
            assert peeled.values == ["y", "x"]
            assert np.abs(peeled.counts - [4000, 3000]).max() < 60
            assert abs(peeled.n - 4000) < 60
            assert session.top("kind", 1, values=["a", "b", "c"], epsilon=1.0).values == ["c"]
