"""Tests of integrity: honest crowds are left alone, made-up reports are named, and what cannot be seen is not.

Runs are replayed. A false alarm has probability ``ALPHA`` at most, so the number of alarms in so many honest batches has the stated bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.integrity import check_reports, manipulation_budget
from deniable.core.reports import Reports
from deniable.errors import ParameterError
from deniable.lab.attacks import craft
from deniable.testing import ReplaySource

ALPHA = 0.01
RUNS = 300
"""So many successes in as many runs refute, at level 0.05, that a success has a probability below 0.99."""
OUE = dn.OUE(domain_size=1024, epsilon=1.0)
TARGETS = np.arange(1014, 1024)
HONEST = [
    dn.OUE(domain_size=30, epsilon=1.0),
    dn.SUE(domain_size=30, epsilon=1.0),
    dn.THE(domain_size=30, epsilon=1.0),
    dn.CMS(domain_size=30, epsilon=1.0, hashes=8, width=16),
    dn.BloomRR(domain_size=30, epsilon=1.0, bits=16, hashes=2, cohorts=4),
    dn.DBitFlip(domain_size=30, epsilon=1.0, bits=4),
    dn.SubsetSelection(domain_size=30, epsilon=1.0),
    dn.OLH(domain_size=30, epsilon=1.0),
    dn.FLH(domain_size=30, epsilon=1.0, hashes=8),
    dn.HCMS(domain_size=30, epsilon=1.0, hashes=8, width=16),
    dn.RWS(domain_size=30, epsilon=1.0),
]


def crowd(n, size):
    """Skewed: most hold value 0, as many as is worst for tests that would take people for independent of their bits."""
    return np.minimum(np.arange(n) % (2 * size), size) % size


def joined(*batches):
    spec = batches[0].spec
    columns = {name: np.concatenate([batch.columns[name] for batch in batches]) for name in batches[0].columns}
    return Reports(spec, sum(batch.n for batch in batches), columns)


def test_naive_manipulation_by_one_percent_is_seen_and_honest_reports_are_not():
    """The reference's figures: power 0.99 or more at a false-alarm rate of 0.01 or less; here with 10 liars in 1,000."""
    source, liars, n = ReplaySource.from_key("integrity"), 10, 1000
    made_up = craft(OUE, "crafted", TARGETS, liars, source)
    alarms, seen = 0, 0
    for run in range(RUNS):
        honest = OUE.privatize(crowd(n, 1024), source=source)
        alarms += run % 3 == 0 and bool(check_reports(honest, ALPHA).suspicious)
        kept = Reports(OUE, n - liars, {"bits": honest.columns["bits"][liars:]})
        seen += "popcount" in check_reports(joined(kept, made_up), ALPHA).suspicious
    assert seen == RUNS
    assert alarms <= stats.binom.isf(1e-6, RUNS // 3, ALPHA)


@pytest.mark.parametrize("spec", HONEST, ids=lambda spec: spec.mechanism)
def test_honest_crowds_are_left_alone(spec):
    """At alpha = 0.2, where false alarms could be counted; values as one-sided as it gets, and spread."""
    source = ReplaySource.from_key(f"honest {spec.mechanism}")
    crowds = np.zeros(500, dtype=int), crowd(500, 30)
    alarms = sum(bool(check_reports(spec.privatize(crowds[run % 2], source=source), 0.2).suspicious) for run in range(200))
    assert alarms <= stats.binom.isf(1e-6, 200, 0.2)


def test_filters_whose_hash_functions_meet_are_left_alone():
    """A value may have one, two or three bits in a cohort: whichever it is, honest reports of nothing else are not suspected."""
    spec = dn.BloomRR(domain_size=200, epsilon=6.0, bits=6, hashes=3, cohorts=1)
    marked = {spec.filter(0, value).bit_count(): value for value in range(200)}
    assert set(marked) == {1, 2, 3}
    for bits, value in marked.items():
        reports = spec.privatize(np.full(20_000, value), source=ReplaySource.from_key(f"filters {bits}"))
        assert check_reports(reports).suspicious == []
    empty = Reports(spec, 20_000, {"cohort": reports.columns["cohort"], "bits": np.zeros_like(reports.columns["bits"])})
    assert check_reports(empty).suspicious == ["popcount"]


@pytest.mark.parametrize("name", ["OUE", "SUE", "THE", "CMS", "BloomRR", "DBitFlip"])
def test_another_epsilon_shows_in_the_bits(name):
    """The evil twin of an honest crowd: the same people with devices that use less noise than the task says."""
    spec = next(each for each in HONEST if each.mechanism == name)
    other = replace(spec, epsilon=3.0)
    reports = other.privatize(crowd(20_000, 30), source=ReplaySource.from_key("twin"))
    assert "popcount" in check_reports(Reports(spec, reports.n, reports.columns)).suspicious


def test_liars_who_match_the_popcount_are_seen_by_pairs_once_they_are_many():
    source = ReplaySource.from_key("hidden")
    for n, share, expected in ((50_000, 0.05, True), (20_000, 0.005, False)):  # the second is too few, and this says so
        made_up = craft(OUE, "hidden", TARGETS, round(share * n), source)
        honest = OUE.privatize(crowd(n - made_up.n, 1024), source=source)
        report = check_reports(joined(honest, made_up))
        assert report.suspicious == (["pairs"] if expected else [])
        if expected:
            [finding] = [finding for finding in report.findings if finding.test == "pairs"]
            named = {int(word) for word in finding.what.split("both ")[1].split(" and ")}
            assert named <= set(TARGETS.tolist())


def test_sets_with_the_same_members_are_seen_by_pairs():
    spec, source = dn.SubsetSelection(domain_size=60, epsilon=1.0), ReplaySource.from_key("sets")
    honest = spec.privatize(crowd(20_000, 60), source=source)
    bits = np.zeros((2_000, 64), dtype=np.uint8)
    bits[:, : spec.size] = 1
    made_up = Reports(spec, 2_000, {"members": np.packbits(bits, axis=1, bitorder="little")})
    assert check_reports(joined(honest, made_up)).suspicious == ["pairs"]


@pytest.mark.parametrize(
    ("spec", "column"),
    [
        (dn.OLH(domain_size=100, epsilon=1.0), "seed"),
        (dn.FLH(domain_size=100, epsilon=1.0, hashes=64), "function"),
        (dn.HRR(domain_size=100, epsilon=1.0), "row"),
        (dn.BloomRR(domain_size=100, epsilon=1.0), "cohort"),
        (dn.RWS(domain_size=100, epsilon=1.0), "step"),
    ],
    ids=lambda spec: getattr(spec, "mechanism", spec),
)
def test_a_device_that_always_draws_the_same_is_seen(spec, column):
    reports = spec.privatize(crowd(5_000, 100), source=ReplaySource.from_key("draws"))
    assert check_reports(reports).suspicious == []
    reports.columns[column][:100] = reports.columns[column][0]
    assert check_reports(reports).suspicious == [f"draws of {column}"]


def test_lying_and_single_values_show_nothing():
    source = ReplaySource.from_key("lies")
    grr = dn.GRR(domain_size=100, epsilon=1.0)
    lifted = craft(grr, "crafted", np.arange(90, 100), 500, source)
    report = check_reports(joined(grr.privatize(crowd(500, 100), source=source), lifted))
    assert report.findings == ()
    assert "nothing to test" in repr(report)
    lies = craft(OUE, "lying", TARGETS, 2_000, source)
    assert check_reports(lies).suspicious == []


def test_nobody_and_nonsense():
    assert check_reports(OUE.privatize([])).suspicious == []
    with pytest.raises(ParameterError, match="alpha"):
        check_reports(OUE.privatize([1]), 1.5)
    with pytest.raises(ParameterError, match="Reports"):
        check_reports([1, 2])


@pytest.mark.parametrize("name", ["GRR", "OUE", "OLH", "DBitFlip", "HRR", "BloomRR"])
def test_a_budget_of_liars_moves_the_headline_by_one_interval(name):
    """Made by the definition: so many reports that support the value move it at least so far; one less does not."""
    spec = {spec.mechanism: spec for spec in [*HONEST, dn.GRR(domain_size=30, epsilon=1.0), dn.HRR(domain_size=30, epsilon=1.0)]}[name]
    estimate = spec.estimate(spec.tally(spec.privatize(crowd(3_000, 30), source=ReplaySource.from_key("budget"))))
    budget = manipulation_budget(estimate)
    first = int(np.argmax(estimate.counts))
    low, high = estimate.interval(0.95)
    assert (budget - 1) * spec.influence < high[first] - low[first] <= budget * spec.influence
    assert manipulation_budget(estimate, 0.99) > budget
    assert manipulation_budget(estimate.top(3)) >= budget  # picked out of more: intervals that hold for all are wider


def test_a_budget_counts_reports_that_really_move_the_estimate():
    spec = dn.GRR(domain_size=4, epsilon=1.0)
    before = spec.estimate(spec.tally(spec.privatize(crowd(5_000, 4), source=ReplaySource.from_key("move"))))
    budget = manipulation_budget(before)
    first = int(np.argmax(before.counts))
    low, high = before.interval(0.95)
    lies = spec.tally(Reports.collect(spec, [first] * budget))
    honest = spec.tally(spec.privatize(crowd(5_000, 4), source=ReplaySource.from_key("move")))
    after = spec.estimate(honest + lies)
    assert after.counts[first] - before.counts[first] == pytest.approx(budget * spec.influence)
    assert after.counts[first] - before.counts[first] >= high[first] - low[first]
