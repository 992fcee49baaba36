"""The estimate of a mean: what it says, in whose units, and how two of them are compared."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from math import inf, isnan

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.core.tally import Tally
from deniable.errors import MergeError, ParameterError
from deniable.testing import ReplaySource

AGES = dn.Hybrid(low=0, high=100, epsilon=2.0)
PEOPLE = np.random.default_rng(5).normal(42, 12, 40_000).clip(0, 100)
YEAR = dn.Numbers(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
BIT = dn.OneBitMean(low=0, high=1, epsilon=1.0)


def estimate_of(spec, values, key="mean"):
    return spec.estimate(spec.tally(spec.privatize(values, source=ReplaySource.from_key(key))))


def test_in_the_units_of_the_values():
    """Six standard errors: 2e-9."""
    estimate = estimate_of(AGES, PEOPLE)
    assert estimate.n == 40_000
    assert abs(estimate.value - PEOPLE.mean()) < 6 * estimate.stderr
    assert estimate.stderr == pytest.approx(AGES.variance(40_000) ** 0.5, rel=0.01)
    low, high = estimate.interval(0.95)
    assert (high - low) / 2 == pytest.approx(1.95996 * estimate.stderr, rel=1e-5)
    wide, wider = estimate.interval(0.95, population=True), estimate.bound(0.95, "bernstein")
    assert wider[0] < wide[0] < low < estimate.value < high < wide[1] < wider[1]
    assert wide[1] - estimate.value == pytest.approx(1.95996 * np.sqrt(estimate.stderr**2 + PEOPLE.var() / 40_000), rel=0.02)
    assert estimate.bias is None


def test_views(tmp_path):
    estimate = estimate_of(AGES, PEOPLE)
    text = repr(estimate)
    assert text.startswith("40,000 reports, Hybrid, epsilon = 2; low and high: 95 %, noise only")
    assert f"{estimate.value:.2f}" in text
    assert "mean" in estimate._repr_html_()
    (row,) = estimate.to_arrow().to_pylist()
    assert row == {"value": "mean", "mean": estimate.value, "stderr": estimate.stderr} | dict(
        zip(("low", "high"), estimate.interval(), strict=True)
    )
    assert estimate.to_polars().columns == ["value", "mean", "stderr", "low", "high"]
    estimate.chart().save(tmp_path / "mean.json")
    content = json.loads((tmp_path / "mean.json").read_text())
    assert [layer["mark"]["type"] for layer in content["layer"]] == ["rule", "point"]
    estimate.chart().save(tmp_path / "mean.svg")


def test_points_in_time(tmp_path):
    spec = dn.Piecewise(domain=YEAR, epsilon=4.0)
    days = np.datetime64("2026-03-01", "us") + np.arange(20_000) % 61 * np.timedelta64(86_400_000_000, "us")
    estimate = estimate_of(spec, days)
    truth = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=float((np.arange(20_000) % 61).mean()))
    assert isinstance(estimate.stderr, timedelta)
    assert abs(estimate.value - truth) < 6 * estimate.stderr
    low, high = estimate.interval()
    assert low < estimate.value < high
    assert high - low < timedelta(days=3)
    assert "2026-0" in repr(estimate)
    assert estimate.to_polars()["mean"][0] == estimate.value.replace(microsecond=estimate.value.microsecond)
    estimate.chart().save(tmp_path / "time.svg")
    change = estimate.compare(estimate_of(spec, days, "other"))
    assert isinstance(change.difference, timedelta)
    assert change.p_value > 1e-6


def test_clipping_is_said():
    spec = dn.OneBitMean(low=0, high=50, clip=True, epsilon=3.0)
    estimate = estimate_of(spec, PEOPLE)
    clipped = np.minimum(PEOPLE, 50).mean()
    assert abs(estimate.value - clipped) < 6 * estimate.stderr < PEOPLE.mean() - clipped
    assert "clipped values" in estimate.bias
    assert estimate.bias in repr(estimate)


def test_nobody():
    estimate = BIT.estimate(BIT.tally([]))
    assert estimate.n == 0
    assert isnan(estimate.value)
    assert estimate.stderr == inf
    assert estimate.interval() == estimate.bound() == (0.0, 1.0)
    assert "0 reports" in repr(estimate)
    times = dn.Duchi(domain=YEAR, epsilon=1.0)
    nobody = times.estimate(times.tally([]))
    assert nobody.value is None
    assert nobody.interval() == (YEAR.low, YEAR.high)
    with pytest.raises(ParameterError, match="reports on both sides"):
        estimate.compare(estimate)


def test_few_reports_are_held_to_an_inequality():
    few = BIT.estimate(Tally(BIT, 100, np.array([50])))
    assert few.law.enough < 200
    assert few.interval() == few.bound(0.95, "bernstein")
    many = BIT.estimate(Tally(BIT, 2000, np.array([1000])))
    assert many.law.enough == pytest.approx(500)
    assert many.interval()[1] < many.bound(0.95, "hoeffding")[1] < many.bound(0.95, "bernstein")[1]


def test_comparing_two_crowds():
    """A shift of 5 among 40,000 is seen; none among the same crowd is not, at the level that it is tested at."""
    first, same, moved = (
        estimate_of(AGES, people, key) for people, key in ((PEOPLE, "a"), (PEOPLE, "b"), (np.clip(PEOPLE + 5, 0, 100), "c"))
    )
    change = first.compare(moved)
    assert change.p_value < 1e-6
    low, high = change.interval()
    assert low < 5 < high
    assert change.difference == moved.value - first.value
    assert first.compare(same).p_value > 1e-6
    z = change.difference / change.stderr
    assert change.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert "before" in repr(change)
    assert change.to_polars().columns == ["value", "before", "after", "change", "low", "high", "p"]
    with pytest.raises(ParameterError, match="same kind, mean"):
        first.compare(5)
    with pytest.raises(MergeError, match="units"):
        first.compare(estimate_of(dn.Duchi(domain=YEAR, epsilon=1.0), np.array(["2026-02-01"], dtype="M8[s]")))


def test_few_reports_never_prove_a_change_by_luck():
    """Bernstein's p-value for small crowds: below 5 % for at most 5 % of pairs of equal crowds; here the law is summed up exactly."""
    n, chance = 40, float(BIT.output_law(BIT.steps // 2)[1])
    weights = stats.binom.pmf(np.arange(n + 1), n, chance)
    found = [BIT.estimate(Tally(BIT, n, np.array([ones]))) for ones in range(n + 1)]
    wrong = sum(weights[i] * weights[j] for i in range(n + 1) for j in range(n + 1) if found[i].compare(found[j]).p_value < 0.05)
    assert wrong <= 0.05
    low, high = found[20].compare(found[20]).interval()
    assert low < 0 < high


def test_tallies_that_cannot_be_are_refused():
    spec = dn.Piecewise(low=0, high=1, steps=4, epsilon=1.0)
    for counters in ([9, 8], [0, 9], [1, 2, 3]):
        with pytest.raises(MergeError):
            spec.estimate(Tally(spec, 10, np.array(counters)))
    with pytest.raises(ParameterError, match="candidates"):
        spec.tally([1, 2], candidates=[0.5])
    with pytest.raises(ParameterError, match="tally"):
        spec.estimate([1, 2])
    for wrong in ("95", 95, 0):
        with pytest.raises(ParameterError, match="level"):
            BIT.estimate(BIT.tally([1])).interval(wrong)
    with pytest.raises(ParameterError, match="hoeffding or bernstein"):
        BIT.estimate(BIT.tally([1])).bound(0.95, "normal")


def test_a_survey_asks_for_a_mean_beside_a_count():
    survey = dn.Survey.of(age=AGES, smoker=dn.RR(epsilon=1.0))
    result = survey.run({"age": PEOPLE, "smoker": np.arange(40_000) % 4 == 0}, source=ReplaySource.from_key("survey"))
    assert abs(result["age"].value - PEOPLE.mean()) < 6 * np.sqrt(AGES.variance(20_000) + PEOPLE.var() / 20_000)
    assert dn.protocol_from_json(survey.canonical) == survey
