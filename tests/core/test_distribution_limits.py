"""What is said about a distribution whose shares and replicates are given: by hand, point by point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import sqrt
from statistics import mean, variance

import numpy as np
import pytest
from scipy import stats

from deniable.client import GRR, OUE, SquareWave
from deniable.contract.numbers import Numbers
from deniable.core import resampling
from deniable.core.distribution import DistributionEstimate
from deniable.core.mean import MeanEstimate
from deniable.core.replicates import Fit
from deniable.core.resampling import patiently
from deniable.errors import ParameterError
from deniable.testing import ReplaySource
from tests.estimates import of_supports

SPEC = OUE(domain=Numbers(0, 4, steps=4), epsilon=1.0)
SHARES = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
AGAIN = np.array([[0.1, 0.1, 0.4, 0.3, 0.1], [0.2, 0.2, 0.2, 0.2, 0.2], [0.0, 0.3, 0.36, 0.34, 0.0]])


@dataclass(frozen=True)
class ByHand(Fit):
    spec: object
    n: int
    given: np.ndarray
    how, bias = "hand", "not at all"

    @property
    def shares(self):
        return self.given

    @property
    def mean(self):
        return MeanEstimate.of(self.spec, self.n, 2.15, noise=0.01, drawn=0.04, span=(0.0, 4.0), worst=1.0, kurtosis=1.0)

    def draw(self, replicates, source, progress):
        return np.tile(AGAIN, (replicates, 1))[:replicates]


def known(spec, n, shares=SHARES, replicates=None):
    found = DistributionEstimate.of(spec, n, ByHand(spec, n, shares))
    return replace(found, law=replace(found.law, replicates=replicates))


FOUND = known(SPEC, 1000, replicates=AGAIN)


def limits(found, drawn, level):
    """What is missed on average is taken away, and counts as an error beside the scatter."""
    missed = mean(drawn) - found
    reach = stats.norm.isf((1 - level) / 2) * sqrt(variance(drawn) + missed**2)
    return min(max(found - missed - reach, 0.0), 1.0), min(max(found - missed + reach, 0.0), 1.0)


def test_cumulative_shares():
    places = {-1: 0.0, -1e-9: 0.1, 0: 0.1, 0.99: 0.1, 1: 0.3, 3.5: 0.85, 4: 1.0, 99: 1.0}
    assert [FOUND.cdf(x) for x in places] == pytest.approx(list(places.values()))
    for several in (list(places), tuple(places), np.array(list(places), dtype=float)):
        assert FOUND.cdf(several).tolist() == pytest.approx(list(places.values()))
    tenths = known(OUE(domain=Numbers(2, 3, steps=10), epsilon=1.0), 10, shares=np.full(11, 1 / 11))
    assert [round(11 * tenths.cdf(2 + i / 10)) for i in range(11)] == list(range(1, 12))  # 2.3 as a double is below itself


def test_quantiles():
    expected = {0.01: 0, 0.1: 0, 0.1001: 1, 0.3: 1, 0.31: 2, 0.6: 2, 0.85: 3, 0.9: 4, 0.999999: 4}
    assert [FOUND.quantile(q) for q in expected] == list(expected.values())
    assert list(FOUND.values) == [0, 1, 2, 3, 4]
    assert all(isinstance(value, int) for value in FOUND.values)
    halves = known(OUE(domain=Numbers(0, 2, steps=4), epsilon=1.0), 10)
    assert list(halves.values) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert all(isinstance(value, float) for value in halves.values)


def test_limits_of_cumulative_shares():
    sums = np.cumsum(AGAIN, axis=1)
    assert FOUND.stderr.tolist() == pytest.approx([*(sqrt(variance(sums[:, i].tolist())) for i in range(4)), 0.0])
    single = [limits(below, sums[:, i].tolist(), 0.9) for i, below in enumerate([0.1, 0.3, 0.6, 0.85])]
    rising = [max(pair[0] for pair in single[: i + 1]) for i in range(4)], [min(pair[1] for pair in single[i:]) for i in range(4)]
    low, high = FOUND.cdf_interval([-1, 0, 1, 2, 3, 4], 0.9)
    assert low.tolist() == pytest.approx([0.0, *rising[0], 1.0])
    assert high.tolist() == pytest.approx([0.0, *rising[1], 1.0])
    assert FOUND.cdf_interval(2, 0.9) == pytest.approx((low[3], high[3]))
    assert [limit.tolist() for limit in FOUND.interval(0.9)] == [low[1:].tolist(), high[1:].tolist()]
    for q in (0.2, 0.5, 0.8):
        first, last = FOUND.quantile_interval(q, 0.9)
        assert first == int(np.argmax(high[1:] >= q))
        assert last == int(np.argmax(low[1:] >= q))
    assert FOUND.rows()["cdf"].tolist() == pytest.approx([0.1, 0.3, 0.6, 0.85, 1.0])
    assert FOUND.order().tolist() == [0, 1, 2, 3, 4]


def test_nobody_is_anywhere():
    nobody = known(SPEC, 0)
    assert (nobody.quantile(0.5), nobody.cdf_interval(2), nobody.cdf_interval(4)) == (None, (0.0, 1.0), (0.0, 1.0))
    assert nobody.quantile_interval(0.5) == (0, 4)
    assert nobody.stderr.tolist() == [np.inf] * 5
    assert [limit.tolist() for limit in nobody.interval()] == [[0.0] * 5, [1.0] * 5]
    assert nobody.resampled().law.replicates.shape == (0, 5)
    assert repr(nobody).splitlines()[2:] == ["  value  low  high"]


def test_replicates_are_as_many_as_were_asked_for():
    assert [FOUND.resampled(count).law.replicates.shape[0] for count in (20, 21, 100_000)] == [20, 21, 100_000]
    assert known(SPEC, 10).resampled().law.replicates.shape == (200, 5)
    assert known(SPEC, 10).law.again.shape == (200, 5)
    for wrong in (19, 100_001, True, 50.0):
        with pytest.raises(ParameterError, match="from 20 to 100000"):
            FOUND.resampled(wrong)
    seen = []
    assert patiently(lambda i: -i, range(9), lambda done, of: seen.append((done, of))) == [-i for i in range(9)]
    assert seen[-1] == (9, 9)


def test_waiting_is_estimated_from_what_was_done(monkeypatch, capsys):
    """Eight of twenty take 3 s: twelve more take about 4.5 s. It is said once, and not at the end."""
    clock = iter([5.0, 8.0, 11.0, 14.0])
    monkeypatch.setattr(resampling, "cores", lambda: 2)
    monkeypatch.setattr(resampling.time, "monotonic", lambda: next(clock))
    assert patiently(str, range(20)) == [str(i) for i in range(20)]
    assert capsys.readouterr().err == "deniable: resampling the tally, 8 of 20 done, about 4 s more ...\n"
    clock = iter([5.0, 7.0, 19.0])
    assert patiently(str, range(16)) == [str(i) for i in range(16)]
    assert capsys.readouterr().err == ""  # two seconds are not longer than two, and at the end nobody waits


@pytest.mark.parametrize(
    ("high", "steps", "text"), [(4, 4, "2.0"), (100, 20, "10.0"), (0.4, 4, "0.20"), (80, 4, "40"), (400, 4, "200"), (4000, 4, "2,000")]
)
def test_quantiles_are_shown_with_the_digits_of_the_grid(high, steps, text):
    spec = OUE(domain=Numbers(0, high, steps=steps), epsilon=1.0)
    shares = np.eye(steps + 1)[2]
    lines = [line.split() for line in repr(known(spec, 9, shares=shares, replicates=np.tile(shares, (3, 1)))).splitlines()]
    assert lines[3][0] == "mean"
    assert [line[:2] for line in lines[4:]] == [[share, "%"] for share in ("5", "10", "25", "50", "75", "90", "95")]
    assert lines[7][4:] == [text] * 3


def charted(shares, domain, **options):
    found = known(OUE(domain=domain, epsilon=1.0), 9, shares=shares, replicates=np.tile(shares, (3, 1)))
    plain = found.chart(**options).to_dict()
    return plain, *(part["data"]["values"] for part in plain["vconcat"])


def test_charts_of_distributions():
    plain, bars, line = charted(SHARES, Numbers(0, 4, steps=4))
    assert [(bar["value"], bar["to"], bar["frequency"]) for bar in bars] == [
        (0, 1, 0.1),
        (1, 2, 0.2),
        (2, 3, 0.3),
        (3, 4, pytest.approx(0.4)),
    ]
    assert {bar["zero"] for bar in bars} == {0.0}
    assert [point["cdf"] for point in line] == pytest.approx([0.1, 0.3, 0.6, 0.85, 1.0])
    assert [point["value"] for point in line] == [0, 1, 2, 3, 4]
    assert plain["title"]["subtitle"][-1] == "line: estimate, area: 95 % interval"
    plain, bars, line = charted(SHARES, Numbers(0, 4, steps=4), truth=np.cumsum([0.2] * 5))
    assert [point["truth"] for point in line] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert plain["title"]["subtitle"][-1].endswith("orange: truth")
    for steps, count, first, last in (
        (1, 1, (0, 1), (0, 1)),
        (63, 63, (0, 1), (62, 63)),
        (64, 32, (0, 2), (62, 64)),
        (130, 44, (0, 3), (129, 130)),
    ):
        bars = charted(np.full(steps + 1, 1 / (steps + 1)), Numbers(0, steps, steps=steps))[1]
        assert (len(bars), sum(bar["frequency"] for bar in bars)) == (count, pytest.approx(1.0))
        assert [(bar["value"], bar["to"]) for bar in (bars[0], bars[-1])] == [first, last]
    assert repr(FOUND).splitlines()[3].split() == ["mean", "2.1", "1.8", "2.5"]  # 2.15, and twice 0.2: noise and sampling
    start = datetime(2026, 1, 1, tzinfo=UTC)
    plain, bars, line = charted(SHARES, Numbers(start, start + timedelta(days=4), steps=4))
    assert bars[1]["value"] == "2026-01-02T00:00:00.000Z"
    assert plain["vconcat"][0]["encoding"]["x"]["type"] == "temporal"
    dated = known(OUE(domain=Numbers(start, start + timedelta(days=4), steps=4), epsilon=1.0), 9, replicates=AGAIN)
    assert repr(dated).splitlines()[7].split()[4:6] == ["2026-01-03", "00:00:00+00:00"]
    with pytest.raises(ParameterError, match="distribution"):
        FOUND.compare(FOUND.mean)
    assert FOUND.compare(FOUND).difference == 0


def test_the_mean_of_counted_points_weighs_each_count():
    """Sum of points times counts over n, and of squared distances from the middle times variances over n^2."""
    spec = GRR(domain=Numbers(10, 18, steps=2), epsilon=1.0)
    raw = of_supports(spec, [10, 14, 18], 800, np.array([500, 250, 150]), np.array(0.75), np.array(0.25))  # counts 600, 100, -100
    found = raw.distribution()
    assert found.mean.value == pytest.approx((10 * 600 + 14 * 100 - 18 * 100 + 14 * 200) / 800)  # whoever is missing is in the middle
    for some, variance_of in ((False, found.mean.law.noise), (True, found.mean.law.drawn)):
        errors = raw.law.variance(np.array([600.0, 100.0, 0.0]), population=some)
        assert variance_of == pytest.approx(16 * (errors[0] + errors[2]) / 800**2)
    assert found.mean.law.span == pytest.approx((14 - 8 * spec.influence, 14 + 8 * spec.influence))
    assert (found.mean.law.worst, found.mean.law.kurtosis) == (pytest.approx(64 * spec.influence**2), 3.0)
    assert found.frequencies.tolist() == pytest.approx([650 / 800, 150 / 800, 0.0])  # norm-sub: 600 and 100 add up to 800 with 50 more
    drawn = found.resampled(4000, source=ReplaySource.from_key("drawn")).law.replicates
    assert drawn.shape == (4000, 3)
    assert drawn.sum(axis=1) == pytest.approx(1.0)
    nobody = of_supports(spec, [10, 14, 18], 0, np.zeros(3, dtype=int), np.array(0.75), np.array(0.25)).distribution()
    assert np.isnan(nobody.frequencies).all()


def test_replicates_scatter_as_the_counts_do():
    """All people far from the edges: the shares of replicates have the standard error of counts from drawn people; 4,000 draws, 6 sigma."""
    spec = GRR(domain=Numbers(0, 2, steps=2), epsilon=1.0)
    raw = of_supports(spec, [0, 1, 2], 90_000, np.array([37_500, 37_500, 37_500]), np.array(0.75), np.array(0.25))
    drawn = raw.distribution().resampled(4000, source=ReplaySource.from_key("scatter")).law.replicates
    single = raw.law.variance(np.full(3, 30_000.0), population=True) / 90_000**2
    expected = single * 2 / 3  # made to add up: each loses a third of the sum of three independent errors
    assert drawn.var(axis=0) == pytest.approx(expected, rel=6 * sqrt(2 / 4000))
    assert drawn.mean(axis=0) == pytest.approx([1 / 3] * 3, abs=6 * float(np.sqrt(expected[0] / 4000)))


def test_the_mean_of_a_wave_is_that_of_its_cells():
    """A cell of a window of ``inside`` chances: Piecewise, which reports the same cells, estimates the same mean from the same words."""
    spec = SquareWave(low=0, high=100, steps=31, epsilon=1.0)
    ages = np.arange(400) % 90
    wave, cells = (each.estimate(each.tally(each.privatize(ages, source=ReplaySource.from_key("w")))) for each in (spec, spec.piecewise))
    assert (wave.mean.value, wave.mean.stderr) == pytest.approx((cells.value, cells.stderr))
    assert (wave.law.fit.method, wave.using("ems").law.fit.method, wave.using("em").law.replicates) == ("em", "ems", None)
