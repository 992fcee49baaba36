"""Intervals and tests of a change agree: where a single interval excludes 0, the test rejects "no change" at that level."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable
import deniable as dn
from deniable.central import Session
from deniable.central.histogram import LaplaceCounts, released_counts
from deniable.central.local_gaussian import SubGaussianCounts
from deniable.central.number import LaplaceNumber, released_number
from deniable.central.release import Release
from deniable.client.frequency import FrequencySpec
from deniable.client.rr import RR
from deniable.contract.spec import MECHANISMS
from deniable.core.comparison import Comparison
from deniable.core.estimate import NumberEstimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.law import CountLaw
from deniable.core.mean import MeanEstimate
from deniable.core.regression import Regression
from deniable.core.scores import Scores
from deniable.core.supports import Supports
from deniable.shuffle.poisson_histogram import PoissonCounts
from deniable.tasks.graphs.degree_estimate import DegreeCounts
from deniable.tasks.itemsets.estimate import PaddedSupports, item_estimate
from deniable.tasks.marginals import Marginals
from deniable.tasks.marginals.estimate import CellScores
from deniable.tasks.text import trending
from deniable.testing import ReplaySource
from tests.conftest import asked_of, candidates_of, frequency_specs, mean_specs, some_values
from tests.estimates import of_scores, of_supports, with_law

SPEC = dn.GRR(domain_size=3, epsilon=1.0)
ALPHAS = (0.2, 0.05, 1e-4)


def excluded(change, alpha):
    low, high = (np.atleast_1d(limit) for limit in change.interval(1 - alpha))
    nothing = 0 * low  # of changes, or of times
    return (low > nothing) | (high < nothing)


def p_of(change):
    return change.p_values


def check(change):
    """At usual levels, and just below each p-value, where the test does not reject: no interval may exclude 0 there."""
    p = p_of(change)
    for alpha in (*ALPHAS, *(0.9999 * each for each in p[:3] if each > 1e-9)):
        assert np.all(p[excluded(change, alpha)] < alpha), (alpha, p)


def counted(spec, values, key):
    reports = spec.privatize(values, source=ReplaySource.from_key(key))
    return spec.estimate(spec.tally(reports, candidates=candidates_of(spec)), candidates=asked_of(spec))


# --- what the property is about ---


def modules():
    for found in pkgutil.walk_packages(deniable.__path__, "deniable."):
        if not found.name.startswith(("deniable.engines.", "deniable.cli.")):
            yield importlib.import_module(found.name)


def test_nothing_with_an_interval_and_a_p_value_is_left_out():
    """Single numbers have a test of 0, which their own tests compare with their intervals."""
    found = {cls for module in modules() for _, cls in inspect.getmembers(module, inspect.isclass) if cls.__module__.startswith("deniable")}
    both = {cls for cls in found if hasattr(cls, "interval") and {"p_value", "p_values"} & {*dir(cls), *inspect.get_annotations(cls)}}
    assert both == {Comparison, NumberEstimate, MeanEstimate}
    laws = {cls for cls in found if issubclass(cls, CountLaw) and not inspect.isabstract(cls)}
    tried = {Supports, Scores, Regression, LaplaceCounts, SubGaussianCounts, PoissonCounts, PaddedSupports, CellScores}
    assert laws - tried == {DegreeCounts} & laws  # counts of degrees are compared by no test here: they have one value each


# --- every mechanism ---


@pytest.mark.parametrize("spec", [spec for spec in frequency_specs() if spec.domain_size <= 100], ids=repr)
def test_counts_agree(spec):
    values = some_values(spec, 7)
    for n, m, share in ((60, 300, 0.3), (3000, 2500, 0.05), (900, 1000, 0.9)):
        first = counted(spec, [values[0]] * n, "first")
        second = counted(spec, [values[-1]] * int(share * m) + [values[0]] * (m - int(share * m)), "second")
        check(first.compare(second))


ORACLES = [name for name, cls in sorted(MECHANISMS.items()) if issubclass(cls, FrequencySpec)]


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("n", [2000, 60_000])
def test_a_total_change_is_always_seen(name, n):
    """Everybody moves from one value to another: by an interval, by the test, and between two specs too."""
    size = {} if name == "RR" else {"domain_size": 8}
    spec, other = (MECHANISMS[name](**size, epsilon=epsilon) for epsilon in (6.0, 5.0))
    before, after = (counted(spec, np.full(n, value), f"moves to {value}") for value in (0, 1))
    change = before.compare(after)
    assert excluded(change, 0.05)[:2].all()
    assert np.all(change.adjusted[:2] < 1e-6)
    assert (trending(before, after).risen(1e-6), trending(before, after).fallen(1e-6)) == ([1], [0])
    assert np.all(before.compare(counted(other, np.full(n, 1), "other")).adjusted[:2] < 1e-6)


@pytest.mark.parametrize("spec", mean_specs(), ids=repr)
def test_means_agree(spec):
    ends = spec.domain.value(0), spec.domain.value(spec.domain.size - 1)
    for n, m in ((30, 200), (5000, 4000)):
        first, second = (
            spec.estimate(spec.tally(spec.privatize([end] * size, source=ReplaySource.from_key(f"{end}"))))
            for end, size in zip(ends, (n, m), strict=True)
        )
        change = (first.mean if hasattr(first, "mean") else first).compare(second.mean if hasattr(second, "mean") else second)
        check(change)
    assert spec.epsilon < 1 or change.p_value < 1e-6


# --- every kind of estimate, near the edge ---


@settings(max_examples=40)
@given(st.data())
def test_supports_agree(data):
    """From nobody to everybody, in crowds from 1 to far above what the normal test needs, by one law or two."""
    sides = []
    for law in data.draw(st.sampled_from([(0, 0), (0, 1), (2, 2), (1, 2)])):
        p, q = [(0.75, 0.25), (0.5, 0.01), (0.9, 0.0004)][law]
        n = data.draw(st.sampled_from([1, 20, 500, 3000, 100_000]))
        supports = data.draw(st.lists(st.integers(0, n), min_size=3, max_size=3))
        sides.append(of_supports(SPEC, list("abc"), n, np.array(supports), np.array(p), np.array(q)))
    check(sides[0].compare(sides[1]))
    check(with_law(sides[0], collisions=1e-6, squares=1e4, jump=3.0).compare(sides[1]))


@settings(max_examples=30)
@given(
    st.sampled_from([50, 700, 40_000]),
    st.sampled_from([50, 900, 40_000]),
    st.lists(st.floats(-0.1, 1.1), min_size=6, max_size=6),
    st.floats(0.05, 8.0),
    st.booleans(),
    st.sampled_from([0.0, 20.0]),
)
def test_sums_of_scores_agree(n, m, shares, noise, known, shared):
    first, second = (
        of_scores(
            SPEC, list("abc"), size, size * np.array(part), np.full(3, size * noise), slope=-1.0, reach=1 + noise, worst=(1 + noise) ** 2,
            least=0.01, known=known, shared=shared, jump=shared**0.5,
        )
        for size, part in ((n, shares[:3]), (m, shares[3:]))
    )  # fmt: skip
    check(first.compare(second))


@settings(max_examples=10)
@given(st.lists(st.integers(0, 400), min_size=6, max_size=6), st.sampled_from([2.0, 300.0, 5000.0]), st.booleans())
def test_counts_with_central_noise_agree(counts, noise, public):
    parts = np.array(counts[:3]), np.array(counts[3:])
    release = Release("r1", "histogram", "Laplace", 0.5, "add-remove")
    histograms = [released_counts(release, list("abc"), part, 2.0, rows=1200 if public else None) for part in parts]
    laws = (
        [SubGaussianCounts(1200, part.astype(float), noise, 1.1 * noise) for part in parts],
        [PoissonCounts(1200, int(noise) + part, noise) for part in parts],
    )
    counted = [[FrequencyEstimate.of(SPEC, list("abc"), law) for law in pair] for pair in laws]
    for first, second in (histograms, *counted, (histograms[0], counted[0][1]), (counted[1][0], histograms[1])):
        check(first.compare(second))
    single = [released_number(release, "count", LaplaceNumber(None, int(part[0]), 2.0)) for part in parts]
    check(single[0].compare(single[1]))


@settings(max_examples=10)
@given(st.lists(st.integers(0, 3000), min_size=6, max_size=6), st.integers(100, 500))
def test_items_agree(supports, cut):
    overflow = of_supports(RR(epsilon=2.0), [0, 1], 500, np.array([500 - cut, cut]), np.array(0.88), np.array(0.12)).law
    laws = [
        PaddedSupports(3000, np.array(part), np.array(0.5), np.array(0.1), length=1, overflow=overflow)
        for part in (supports[:3], supports[3:])
    ]
    for pair in (laws, [law.unscaled for law in laws]):
        first, second = (item_estimate(SPEC, list("abc"), law, SPEC.guarantee) for law in pair)
        check(first.compare(second))


def test_longer_lists_are_no_change():
    """Half of 40,000 people hold the item, before and after; then each of them holds one more, and their lists are cut to one item.

    The overflow is a quarter, and most other items come from short lists: on average over items, counts are scaled by 1.1 only.
    """

    def found(supports, cut, scale):
        overflow = of_supports(RR(epsilon=2.0), [0, 1], 4000, np.array([4000 - cut, cut]), np.array(0.88), np.array(0.12)).law
        plain = PaddedSupports(40_000, np.array([supports]), np.array(0.5), np.array(0.1), length=1)
        return item_estimate(SPEC, ["a"], plain.scaled(scale, 0.001, overflow), SPEC.guarantee)

    before, after = found(12_000, 480, 1.0), found(8000, 1240, 1.1)
    assert (before.frequencies.item(), after.frequencies.item()) == (pytest.approx(0.5), pytest.approx(0.275))
    assert before.compare(after).p_values.item() > 0.05
    assert before.compare(found(4100, 480, 1.0)).p_values.item() < 1e-6


def test_tables_agree():
    tables = []
    for key in range(2):
        columns = {"first": (np.arange(4000) % 4 == 0).astype(int) * key, "second": np.arange(4000) % 2}
        survey = Marginals(columns={"first": dn.IndexRange(3), "second": dn.IndexRange(2)}, epsilon=2.0, people=4000)
        tables.append(survey.run(columns, source=ReplaySource.from_key(f"table {key}"))["first", "second"])
    check(tables[0].compare(tables[1]))
    assert tables[0].compare(tables[1]).p_values.min() < 1e-6


def test_sessions_see_a_total_change():
    moved = [
        Session(pl.DataFrame({"x": [value] * 500}), budget=2.0, neighbors="add-remove", source=ReplaySource.from_key(value))
        for value in "ab"
    ]
    before, after = (session.histogram("x", values=["a", "b"], epsilon=1.0) for session in moved)
    assert np.all(before.compare(after).adjusted < 1e-6)
