"""Estimates of distributions: the quick steps against a dense matrix, what is asked of an estimate, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from deniable.client import GRR, OUE, SHE, SquareWave
from deniable.contract.numbers import Numbers
from deniable.core import resampling
from deniable.core.replicates import Fit
from deniable.core.resampling import REPLICATES, patiently, resample
from deniable.core.tally import Tally
from deniable.core.wave import Wave
from deniable.errors import MergeError, ParameterError
from deniable.testing import ReplaySource

AGES = np.arange(40_000) % 41 + 30


def wave(epsilon=2.0, steps=100, values=AGES, key="wave"):
    spec = SquareWave(low=0, high=100, steps=steps, epsilon=epsilon)
    return spec.estimate(spec.tally(spec.privatize(values, source=ReplaySource.from_key(key))))


def again(estimate, replicates=50):
    return estimate.resampled(replicates, source=ReplaySource.from_key("again"))


def dense(spec, counters, *, smooth, tolerance):
    """The textbook's loop with the whole matrix, as public code has it."""
    cells, points = spec.outputs, spec.steps + 1
    matrix = np.full((cells, points), float(spec.outside))
    for i in range(points):
        matrix[i : i + spec.window, i] = float(spec.inside)
    kernel = np.zeros((points, points))
    for i in range(points):
        near = {i - 1: 1, i: 2, i + 1: 1}
        near = {j: weight for j, weight in near.items() if 0 <= j < points}
        for j, weight in near.items():
            kernel[i, j] = weight / sum(near.values())
    shares, before = np.full(points, 1 / points), None
    while True:
        shares = shares * (matrix.T @ (counters / (matrix @ shares)))
        shares = kernel @ shares if smooth else shares
        shares = shares / shares.sum()
        likelihood = counters @ np.log(matrix @ shares)
        if before is not None and abs(likelihood - before) < tolerance:
            return shares
        before = likelihood


@pytest.mark.parametrize("steps", [1, 2, 3, 40, 101])
@pytest.mark.parametrize("method", ["em", "ems"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_quick_steps_are_the_textbooks(steps, method, epsilon):
    found = wave(epsilon, steps).using(method)
    tolerance = 1e-3 * (1 if method == "ems" else np.exp(epsilon))
    expected = dense(found.spec, found.law.fit.counters, smooth=method == "ems", tolerance=tolerance)
    # The first step has nothing to be compared with in the textbook's loop, which may make it one longer.
    assert found.frequencies == pytest.approx(expected, abs=2e-4 if steps < 4 else 1e-9)
    assert found.frequencies.sum() == pytest.approx(1.0, abs=1e-12)


def test_smoothing_is_usual_where_points_are_many():
    assert [wave(steps=steps).law.fit.method for steps in (31, 32)] == ["em", "ems"]
    assert "smoothing" in wave().bias
    assert "early" in wave().using("em").bias
    with pytest.raises(ParameterError, match="method"):
        wave().using("mle")


@pytest.mark.parametrize("make", [wave, lambda: counted(OUE).distribution()], ids=["wave", "histogram"])
def test_what_is_asked_of_a_distribution(make):
    found = again(make())
    assert found.cdf(50) == pytest.approx(21 / 41, abs=0.08)
    assert found.cdf([-1, 200]).tolist() == [0.0, pytest.approx(1.0)]
    assert found.quantile(0.5) == pytest.approx(50, abs=3)
    low, high = found.quantile_interval(0.5)
    assert low <= found.quantile(0.5) <= high
    below, above = found.cdf_interval([40, 50, 100, -1])
    assert np.all(below <= above)
    assert below[2:].tolist() == above[2:].tolist() == [1.0, 0.0]
    assert np.all(np.diff(found.rows()["low"]) >= 0)
    assert np.all(np.diff(found.rows()["high"]) >= 0)
    wide, narrow = found.cdf_interval(45, 0.99), found.cdf_interval(45, 0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    lowest, highest = found.interval(0.95)
    assert np.all((lowest >= 0) & (lowest <= highest) & (highest <= 1))
    assert (lowest.tolist(), highest.tolist()) == (found.rows()["low"].tolist(), found.rows()["high"].tolist())
    table = found.to_polars()
    assert table.columns == ["value", "cdf", "stderr", "low", "high", "frequency"]
    assert table["value"].to_list() == list(found.values)
    assert table["cdf"][-1] == pytest.approx(1.0)
    assert abs(found.mean.value - AGES.mean()) < 5 * found.mean.stderr
    assert "50 % at most" in repr(found)
    assert found.bias in repr(found)
    assert found.chart().to_dict()["vconcat"]
    for bad in ({"level": 95}, {"level": 0}):
        with pytest.raises(ParameterError):
            found.cdf_interval(50, **bad)
    for replicates in (19, True, 2.5):
        with pytest.raises(ParameterError, match="replicates"):
            found.resampled(replicates)
    with pytest.raises(ParameterError, match="q"):
        found.quantile(50)


def test_errors_are_drawn_once_and_from_the_estimate():
    found = wave(steps=40)
    assert found.interval()[0].tolist() == found.interval()[0].tolist()  # not drawn again
    first, same = (again(found).law.replicates for _ in range(2))
    assert np.array_equal(first, same)
    assert first.shape == (50, 41)
    assert again(found).stderr[:-1] == pytest.approx(np.cumsum(first, axis=1).std(axis=0, ddof=1)[:-1])


def test_nobody_said_anything():
    found = wave(values=[])
    assert found.n == 0
    assert found.quantile(0.5) is None
    assert found.cdf_interval(50) == (0.0, 1.0)
    assert found.quantile_interval(0.5) == (0, 100)
    assert np.isnan(found.mean.value)
    assert "0 reports" in repr(found)


def test_points_in_time():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    spec = SquareWave(low=start, high=start + timedelta(days=64), epsilon=4.0, steps=64)
    days = [start + timedelta(days=10 + i % 20) for i in range(5000)]
    found = again(spec.estimate(spec.tally(spec.privatize(days, source=ReplaySource.from_key("days")))))
    assert abs(found.quantile(0.5) - (start + timedelta(days=19))) < timedelta(days=3)
    assert found.cdf(start - timedelta(days=1)) == 0.0
    assert "2026-01" in repr(found)
    assert found.chart().to_dict()["vconcat"]


def test_tallies_that_are_none_are_refused():
    spec = SquareWave(low=0, high=100, steps=10, epsilon=1.0)
    good = spec.tally(spec.privatize([50] * 9, source=ReplaySource.from_key("good")))
    more = good.counters.copy()
    more[0] += 1
    for counters in (more, good.counters[:-1]):
        with pytest.raises(MergeError, match="counters"):
            spec.estimate(Tally(spec, 9 if counters is more else 8, counters))
    with pytest.raises(ParameterError, match="candidates"):
        spec.estimate(good, candidates=[1])
    assert isinstance(spec.estimate(good).law.fit, Wave)


# --- histograms ---


def counted(oracle, epsilon=2.0, domain=None):
    spec = oracle(domain=domain or Numbers(0, 100, steps=20), epsilon=epsilon)
    return spec.estimate(spec.tally(spec.privatize(AGES, source=ReplaySource.from_key("counted"))))


@pytest.mark.parametrize("oracle", [GRR, OUE, SHE])
def test_any_oracle_makes_a_histogram(oracle):
    found = again(counted(oracle).distribution())
    truth = np.bincount(np.floor(AGES / 5 + 0.5).astype(int), minlength=21) / AGES.size  # the nearest point, the upper one of two
    assert np.abs(np.cumsum(found.frequencies) - np.cumsum(truth)).max() < 0.08
    low, high = found.cdf_interval(list(range(0, 101, 5)))
    assert np.mean((low <= np.cumsum(truth) + 1e-9) & (np.cumsum(truth) <= high + 1e-9)) > 0.8
    assert found.mean.value == pytest.approx(AGES.mean(), abs=4 * found.mean.stderr + 0.2)


def test_only_whole_grids_of_numbers_are_distributions():
    few, words = counted(GRR).top(3), GRR(domain_size=4, epsilon=1.0)
    for estimate in (few, words.estimate(words.tally(words.privatize([0, 1, 2, 3])))):
        with pytest.raises(ParameterError, match="domain"):
            estimate.distribution()


# --- drawing tallies anew ---


def test_resampling_takes_the_same_time_for_any_crowd():
    """No word is drawn for each person: a million times the people take no more words."""
    used = []
    for people in (10**5, 10**11):
        source = ReplaySource.from_key("few words")
        drawn = resample(np.ones(50), people, 40, source)
        assert np.all(drawn.sum(axis=1) == people)
        used.append(source.consumed)
    assert max(used) < 40 * 50 * 4


def test_the_same_tally_is_solved_once_and_another_one_anew(monkeypatch):
    """What a page shows is what it would be without the memory of it, to the last digit."""
    oracle = SquareWave(low=0, high=100, epsilon=2.0, steps=40)
    tallies = [oracle.tally(oracle.privatize(AGES, source=ReplaySource.from_key(key))) for key in ("one", "two")]
    first = oracle.estimate(tallies[0]).settled().law.replicates
    key = f"deniable replicates 1 {oracle.digest.hex()} {AGES.size}"
    assert np.array_equal(first, Fit.replayed(oracle.estimate(tallies[0]).law.fit, key))
    solved = []
    solve = Wave._solve
    monkeypatch.setattr(Wave, "_solve", lambda self, counters: solved.append(1) or solve(self, counters))
    assert oracle.estimate(tallies[0]).settled().law.replicates is first
    assert not solved
    assert not np.array_equal(oracle.estimate(tallies[1]).settled().law.replicates, first)
    assert len(solved) == 1 + REPLICATES
    assert oracle.estimate(tallies[0]).using("em").settled().law.fit.how == "EM"


def test_whoever_waits_is_told(monkeypatch, capsys):
    seen = []
    patiently(lambda i: i, range(30), lambda done, of: seen.append((done, of)))
    assert seen[-1] == (30, 30)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(resampling, "PATIENCE", -1.0)
    assert patiently(lambda i: i * i, range(30)) == [i * i for i in range(30)]
    assert capsys.readouterr().err.count("resampling the tally") == 1
