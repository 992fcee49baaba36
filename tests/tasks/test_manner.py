"""What every task gives back is held in the same manner: who was asked, limits, rows and a chart of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import deniable as dn
from deniable.contract.guarantee import Guarantee
from deniable.core.table import Table
from deniable.errors import ParameterError, ProtocolError
from deniable.local.longitudinal.counter_crowd import CounterCrowd
from deniable.tasks.checks import check_people, check_whole
from deniable.tasks.graphs import Degrees, Graph
from deniable.tasks.heavy_hitters import PEM, heavy_hitters
from deniable.tasks.itemsets import association_rules, frequent_items, frequent_itemsets
from deniable.tasks.itemsets.estimate import set_estimate
from deniable.tasks.learning import KMeans
from deniable.tasks.marginals import marginals
from deniable.tasks.places import Box, Grid, Movement, Tracks
from deniable.tasks.ranges import private_ranges
from deniable.tasks.series import LPA, repeated
from deniable.tasks.text import Bigrams, NewWords, WordPairs
from deniable.testing import ReplaySource

N = 4000
SHOP = dn.Categories("tea", "milk", "jam", "salt")
BASKETS = [["tea", "milk"], ["tea"], ["tea", "milk", "jam"], []] * (N // 4)
TEXTS = ["good morning", "good night", "good morning", "hello"] * (N // 4)
SQUARE = Grid(Box(0, 0, 3, 3, plane=True), 3, 3)


def source():
    return ReplaySource.from_key("manner")


def counters():
    spec = dn.OneBitMeanPM(low=0, high=10, epsilon=2.0)
    crowd = CounterCrowd(spec, source=source())
    return repeated(spec, [spec.tally(crowd.report([day] * N)) for day in range(3)])


def clusters():
    search = KMeans(features={"age": (0, 100)}, clusters=2, epsilon=4.0, rounds=2, people=N)
    return search.run({"age": [20.0, 60.0] * (N // 2)}, source=source())


def table():
    held = {"place": ["bar", "spa"] * (N // 2), "mood": ["good", "good", "bad", "good"] * (N // 4)}
    return marginals(held, columns={"place": ["bar", "inn", "spa"], "mood": ["good", "bad"]}, epsilon=3.0, source=source())


FOUND = {
    "heavy hitters": lambda: heavy_hitters(["tea"] * (N // 2) + ["mate"] * (N // 2), domain=dn.Text(4), k=2, epsilon=4.0, source=source()),
    "items": lambda: frequent_items(BASKETS, items=SHOP, k=2, epsilon=4.0, source=source()),
    "sets": lambda: frequent_itemsets(BASKETS, items=SHOP, k=3, epsilon=4.0, source=source()),
    "rules": lambda: association_rules(frequent_itemsets(BASKETS * 10, items=SHOP, k=3, epsilon=6.0, source=source())),
    "marginal": lambda: table()["place", "mood"],
    "shares of the seen and the unseen": lambda: table()["place", "mood"].given("place"),
    "range counts": lambda: private_ranges(np.arange(N) % 8, domain=dn.IndexRange(8), epsilon=2.0, source=source()).ranges(
        [(0, 3), (2, 7)]
    ),
    "degrees": lambda: Degrees(nodes=90, epsilon=2.0).run(Graph.of([(i, (i + 1) % 90) for i in range(90)], nodes=90), source=source()),
    "series": lambda: LPA(points=12, epsilon=1.0).release(np.full(12, 500.0), source=source()),
    "counters": counters,
    "clusters": clusters,
    "moves": lambda: Movement(grid=SQUARE, epsilon=3.0, longest=2, people=N).run(
        Tracks.of(SQUARE, [[(0.5, 0.5), (1.5, 0.5)]] * N), source=source()
    ),
    "new words": lambda: NewWords(known=["good"], longest=7, k=2, epsilon=4.0, people=N).run(TEXTS, source=source()),
    "next words": lambda: Bigrams(vocabulary=["good", "morning", "night"], epsilon=4.0, people=N).run(TEXTS, source=source()),
    "pairs of words": lambda: WordPairs(vocabulary=["good", "morning", "night"], epsilon=4.0, people=N).run(TEXTS, source=source()),
}


@pytest.mark.parametrize("name", FOUND)
def test_results_are_held_alike(name):
    found = FOUND[name]()
    assert isinstance(found, Table)
    assert len(repr(found).splitlines()) > 1
    assert found.to_arrow().num_rows == len(next(iter(found.rows().values()))) > 0
    drawn = found.chart().altair.to_dict()
    json.dumps(drawn, allow_nan=False)  # a browser reads no NaN
    assert "mark" in str(drawn)
    if name == "clusters":  # no interval of a model is known to hold
        with pytest.raises(ParameterError, match="no interval is known"):
            found.interval()
        return
    low, high, lowest, highest = (side for together in (False, True) for side in found.interval(0.9, simultaneous=together))
    known = np.isfinite(low)
    assert known.any()
    assert ((lowest <= low) & (low <= high) & (high <= highest))[known].all()
    assert (highest - lowest > high - low).any()
    if name not in ("series", "rules"):  # a series has points, and rules come from several groups
        assert np.all(np.asarray(found.n) > 0)
        assert np.all(np.asarray(found.n) <= N)


def test_a_search_tells_what_it_cost_and_who_counted():
    found = FOUND["heavy hitters"]()
    assert found.guarantee == PEM(domain=dn.Text(4), k=2, epsilon=4.0, people=N).guarantee
    assert 0 < found.n < N  # the last group only
    assert found.screening.how.startswith("PEM: ")
    assert found.screening.how in repr(found)
    twice = PEM(domain=dn.Text(2), k=2, epsilon=4.0, people=N, rounds=2).run(["ab"] * N, source=source())
    assert (twice.epsilon, twice.guarantee.epsilon) == (8.0, 8.0)
    assert "epsilon = 8" in twice.headline()


def test_the_error_of_a_confidence_is_half_of_its_interval():
    shares, errors, asked = np.array([0.5, 0.4, 0.3]), np.array([0.01, 0.01, 0.02]), np.array([9000, 9000, 8000])
    rules = association_rules(set_estimate([("tea",), ("milk",), ("tea", "milk")], shares, errors, asked, Guarantee(epsilon=2.0)))
    low, high = rules.interval(0.6827)  # one standard error to each side, where no list is cut
    assert rules.stderr == pytest.approx((high - low) / 2, rel=0.01)


def test_charts_leave_out_what_is_no_number_and_keep_the_order():
    shares = FOUND["shares of the seen and the unseen"]()
    [drawn] = shares.chart(k=5).altair.to_dict()["datasets"].values()
    assert {record["place"] for record in drawn} == {"bar", "spa"}  # nobody can be seen at the inn
    assert [(record["place"], record["mood"]) for record in drawn] == [value for value in shares.values[:5] if value[0] != "inn"]
    with pytest.raises(ParameterError, match="k: got 0"):
        shares.chart(0)


def test_whole_numbers_people_and_tallies_are_refused_in_one_manner():
    check_whole("k", 5, 1, 5)
    for bad in (0, 6, 2.0, True, "3", None, np.int64(3)):
        with pytest.raises(ParameterError, match=r"k: got .*; allowed: an integer from 1 to 5"):
            check_whole("k", bad, 1, 5)
    with pytest.raises(ParameterError, match="an integer from 2 on; leave it out"):
        check_whole("k", 1, 2, fix="leave it out")
    check_people(0)
    with pytest.raises(ParameterError, match="people: got -1"):
        check_people(-1)
    asked = PEM(bits=8, k=2, epsilon=1.0).open()
    asked.check_tallies(dict.fromkeys(question.name for question in asked.questions))
    for wrong in ({}, {"other": None}, dict.fromkeys([asked.questions[0].name, "other"])):
        with pytest.raises(ProtocolError, match="one for each of"):
            asked.check_tallies(wrong)
