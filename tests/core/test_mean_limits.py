"""Means, vectors and their changes from numbers that can be checked by hand: limits are where the promised test has the level."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import exp, inf, sqrt

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.average import Average
from deniable.core.mean import MeanEstimate
from deniable.core.vector import mean_vector, vector_of_means
from deniable.errors import ParameterError
from tests.estimates import with_law

SPEC = dn.Duchi(low=-1, high=9, epsilon=1.0)
HOUR = dn.Duchi(low=datetime(2026, 5, 1, 12, tzinfo=UTC), high=datetime(2026, 5, 1, 13, tzinfo=UTC), epsilon=1.0)
FEW = MeanEstimate.of(SPEC, 400, 4.0, noise=0.04, drawn=0.09, span=(-6.0, 14.0), worst=80.0)
MANY = with_law(FEW, kurtosis=2.0)
"""Exactly 200 reports' worth of noise: just enough for the normal law."""
LATE = MeanEstimate.of(HOUR, 400, float(HOUR.domain.start) + 600.0, noise=400.0, drawn=900.0, span=(0.0, 1.0), worst=1.0, kurtosis=1.0)


def bernstein(x, variance, jump):
    return 2 * exp(-(x**2) / (2 * (variance + jump * x / 3)))


def records(chart):
    return chart["data"]["values"]


def test_enough_is_how_many_reports_the_kurtosis_leaves():
    assert MANY.law.enough == 200
    assert FEW.law.enough == pytest.approx(400 / (20**2 / (400 * 0.04)))  # at most the squared width over a score's variance
    assert with_law(FEW, kurtosis=0.5).law.enough == 400
    assert with_law(FEW, noise=0.0).law.enough < 1e-9
    assert with_law(FEW, n=0).law.enough == 0
    with pytest.raises(TypeError, match="positional"):
        Average(400, 4.0, 0.04, 0.09, (-6.0, 14.0), 80.0, (-1.0, 9.0))  # numbers in a row would be mixed up
    clipped = MeanEstimate.of(
        dn.Duchi(low=-1, high=9, clip=True, epsilon=1.0), 400, 4.0, noise=0.04, drawn=0.09, span=(-6.0, 14.0), worst=80.0
    )
    assert ("clipped" in clipped.bias, FEW.bias) == (True, None)


@pytest.mark.parametrize("population", [False, True])
def test_limits_of_a_mean(population):
    low, high = MANY.interval(0.96, population=population)
    reach = stats.norm.isf(0.02) * (0.3 if population else 0.2)
    assert (low, high) == pytest.approx((4 - reach, 4 + reach))
    for span, jump in (((-6.0, 12.0), 15.0), ((-2.0, 18.0), 19.0)):  # the largest score less the smallest value, or the other way round
        low, high = with_law(FEW, span=span).interval(0.96, population=population)
        assert high - 4 == pytest.approx(4 - low)
        assert low < high
        assert bernstein(400 * (high - 4), 400 * (80 + (25 if population else 0)), jump) == pytest.approx(0.04)
    assert FEW.interval(0.96) == FEW.bound(0.96) == FEW.bound(0.96, "bernstein")
    low, high = FEW.bound(0.96, "hoeffding")
    assert (4 - low, 2 * exp(-2 * 400 * (high - 4) ** 2 / 20**2)) == pytest.approx((high - 4, 0.04))
    assert (MANY.value, MANY.stderr, with_law(MANY, n=0).stderr) == (4.0, 0.2, inf)
    assert with_law(FEW, n=0).interval() == with_law(FEW, n=0).bound() == (-1.0, 9.0)


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (MANY, "mean 4.00 0.20 3.61 4.39"),
        (with_law(MANY, noise=0.0025), "mean 4.000 0.050 3.902 4.098"),
        (with_law(MANY, noise=400.0), "mean 4 20 -35 43"),
        (with_law(MANY, noise=1.0), "mean 4.0 1.0 2.0 6.0"),
        (with_law(MANY, noise=0.0), "mean 4.000 0.000 4.000 4.000"),
        (with_law(MANY, n=0), "mean – inf -1.000 9.000"),
        (with_law(MANY, noise=1e-40), "mean 4.000000000000 0.000000000000 4.000000000000 4.000000000000"),
        (LATE, "mean 2026-05-01 12:10:00+00:00 0:00:20 2026-05-01 12:09:20+00:00 2026-05-01 12:10:39+00:00"),
    ],
    ids=range(8),
)
def test_a_mean_is_shown_with_as_many_digits_as_its_error_leaves(estimate, shown):
    assert " ".join(repr(estimate).splitlines()[2].split()).startswith(shown)
    assert repr(estimate).splitlines()[1].split() == ["value", "mean", "stderr", "low", "high"]


def test_charts_of_numbers_hold_what_was_estimated():
    plain = MANY.chart().to_dict()
    (record,) = records(plain)
    low, high = MANY.interval(0.95)
    assert record == {"value": "mean", "mean": 4.0, "low": pytest.approx(low), "high": pytest.approx(high)}
    assert plain["layer"][1]["encoding"]["x"]["scale"] == {"domain": [-1.0, 9.0], "zero": False, "nice": True}
    times = LATE.chart().to_dict()
    (record,) = records(times)
    assert record["mean"] == "2026-05-01T12:10:00.000Z"  # as it is written, wherever the reader is
    drawn = times["layer"][1]["encoding"]["x"]
    ends = [1000 * LATE.domain.shown(end).timestamp() for end in LATE.law.ends]
    assert (drawn["type"], drawn["scale"]) == ("temporal", {"type": "utc", "domain": ends})


# --- changes ---


def test_a_change_of_means_by_the_normal_law():
    other = with_law(MANY, n=900, center=4.9, drawn=0.16, kurtosis=4.5)  # 200 on either side: just enough
    change = MANY.compare(other)
    assert (change.difference, change.stderr) == pytest.approx((0.9, 0.5))
    assert change.p_value == pytest.approx(2 * (1 - stats.norm.cdf(1.8)))
    assert change.interval(0.96) == pytest.approx((0.9 - 0.5 * stats.norm.isf(0.02), 0.9 + 0.5 * stats.norm.isf(0.02)))
    assert (other.compare(MANY).difference, other.compare(MANY).p_value) == pytest.approx((-0.9, change.p_value))
    assert (change.changed(change.p_value), change.changed(change.p_value / 2), change.changed()) == (["mean"], [], [])
    assert MANY.compare(with_law(other, center=14.0)).changed() == ["mean"]
    rows = change.rows()
    assert {name: column[0] for name, column in rows.items()} == {
        "value": "mean", "before": 4.0, "after": 4.9, "change": change.difference,
        "low": change.interval()[0], "high": change.interval()[1], "p": change.p_value,
    }  # fmt: skip
    assert repr(change).splitlines()[0].startswith("Comparison of 400 with 900 reports")


@pytest.mark.parametrize("span", [(-6.0, 14.0), (-50.0, 150.0)])
def test_a_change_of_means_of_few(span):
    """Bernstein, for a sum of 400 + 100 parts: each of at most its span over n, and at worst with people at both ends of the range."""
    other = with_law(MANY, n=100, center=14.0, span=span, worst=30.0)
    change = MANY.compare(other)
    most, jump = (80 + 25) / 400 + (30 + 25) / 100, max(20 / 400, (span[1] - span[0]) / 100)
    assert change.p_value == pytest.approx(bernstein(10.0, most, jump))
    low, high = change.interval(0.96)
    assert bernstein(high - 10, most, jump) == pytest.approx(0.04)
    assert high - 10 == pytest.approx(10 - low)
    assert low < high
    assert with_law(other, center=4.0).compare(MANY).p_value == 1.0
    with pytest.raises(ParameterError):
        MANY.compare(with_law(other, n=0))
    with pytest.raises(ParameterError):
        with_law(other, n=0).compare(MANY)


def test_a_change_of_moments_is_a_time():
    change = LATE.compare(with_law(LATE, center=LATE.law.center + 90.0))
    assert (change.difference, change.stderr) == (timedelta(seconds=90), timedelta(seconds=sqrt(1800)))
    assert change.interval(0.95)[0] < timedelta(seconds=90) < change.interval(0.95)[1]


# --- vectors ---


def test_limits_of_a_vector():
    vector = mean_vector(SPEC, 500, np.array([1.0, -3.0]), np.array([0.04, 0.09]), np.array([0.16, 0.25]))
    assert np.linalg.norm(vector.stderr) == pytest.approx(sqrt(0.13))
    assert vector.stderr.tolist() == pytest.approx([0.2, 0.3])
    for population, errors in ((False, [0.2, 0.3]), (True, [0.4, 0.5])):
        for simultaneous, z in ((False, stats.norm.isf(0.02)), (True, stats.norm.isf(0.01))):
            low, high = vector.interval(0.96, population=population, simultaneous=simultaneous)
            assert (high - vector.point).tolist() == pytest.approx([z * error for error in errors])
            assert (vector.point - low).tolist() == pytest.approx([z * error for error in errors])
    assert vector.rows()["high"].tolist() == pytest.approx([1 + 0.2 * stats.norm.isf(0.025), -3 + 0.3 * stats.norm.isf(0.025)])
    assert vector.order().tolist() == [1, 0]
    assert vector.rows()["value"] == [0, 1]
    assert "noise only" in repr(vector)
    chart = vector.chart(1).to_dict()
    (record,) = records(chart)
    low, high = vector.interval(0.95, simultaneous=True)
    assert {name: record[name] for name in ("value", "mean")} == {"value": "1", "mean": -3.0}
    assert (record["low"], record["high"]) == pytest.approx((low[1], high[1]))
    assert "for all 2 values together" in chart["title"]["text"]
    named = vector_of_means({"east": MANY, "north": replace(with_law(MANY, n=0), spec=dn.Piecewise(low=-1, high=9, epsilon=1.0))})
    assert named.spec == SPEC
    assert (named.n, list(named.values), named.point.tolist(), named.law.noise.tolist()) == (400, ["east", "north"], [4, 4], [0.09, inf])
    assert "noise and sampling" in repr(named)
