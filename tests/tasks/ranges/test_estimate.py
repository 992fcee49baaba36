"""What is asked of an estimate of ranges: every kind of line, crowds at the edge, pictures and tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.contract.encoder import encoder_from_json
from deniable.contract.lines import Interval, Parity
from deniable.core.cells import intervals, parities
from deniable.errors import DomainError, ParameterError
from deniable.tasks.enclosed import GROWN, reach
from deniable.tasks.ranges.ahead import AHEAD
from deniable.tasks.ranges.choice import private_ranges
from deniable.tasks.ranges.haar import HaarHRR
from deniable.tasks.ranges.hierarchy import Hierarchy
from deniable.testing import ReplaySource

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SIZES = dn.Categories("tiny", "small", "medium", "large", "huge")
PROTOCOLS = [Hierarchy, HaarHRR, AHEAD]


def found_by(values, domain, epsilon=6.0, **options):
    return private_ranges(values, domain=domain, epsilon=epsilon, source=ReplaySource.from_key("estimate"), **options)


def test_numbers_on_a_grid():
    values = np.concatenate([np.linspace(0, 1, 15_000), np.linspace(1, 5, 5000)])
    found = found_by(values, dn.Numbers(0, 5, steps=50))
    assert found.n == 20_000
    within = found.ranges([(0, 0.94), (0.95, 5), (1.96, 3.04)])  # the nearest of the points 0, 0.1, ... 5
    truth = [np.sum(values < 0.95), np.sum(values >= 0.95), np.sum((values > 1.95) & (values < 3.05))]
    assert np.all(np.abs(within.counts - truth) < 5 * within.stderr)
    assert within.counts[0] + within.counts[1] == pytest.approx(20_000, abs=1e-6)
    assert within.stderr[0] == pytest.approx(within.stderr[1])  # one is what the other is not
    low, high = within.interval(0.999)
    assert np.all((low < truth) & (truth < high))
    wide = within.interval(0.999, simultaneous=True, population=True)
    assert np.all((wide[0] < low) & (wide[1] > high))
    assert found.count(0, 5) == pytest.approx(20_000)
    assert found.cdf([-1, 2.5, 9]).tolist() == pytest.approx([0, float(np.mean(values < 2.55)), 1], abs=0.02)
    assert found.cdf_interval(2.5)[0] < np.mean(values < 2.55) < found.cdf_interval(2.5)[1]
    assert found.quantile(0.5) == pytest.approx(np.median(values), abs=0.11)
    assert found.quantile_interval(0.5)[0] <= 0.7 <= found.quantile_interval(0.5)[1]
    assert found.mean_interval(0.999)[0] < values.mean() < found.mean_interval(0.999)[1]
    assert found.mean_interval(population=True)[0] < found.mean_interval()[0]
    with pytest.raises(DomainError, match="range"):
        found.count(3, 2)
    with pytest.raises(DomainError, match="range"):
        found.count(2.01, 2.09)  # no grid point in between


def test_points_in_time_and_what_is_out_of_range():
    line = dn.Numbers(NOON, NOON + timedelta(hours=24), steps=48)
    times = [NOON + timedelta(minutes=(i * 37) % 720) for i in range(4000)]
    found = found_by(times, line)
    assert abs(found.quantile(0.5) - (NOON + timedelta(hours=6))) <= timedelta(hours=1)
    assert abs(found.mean - (NOON + timedelta(hours=6))) < timedelta(minutes=40)
    assert found.count(NOON, NOON + timedelta(hours=12)) == pytest.approx(4000, rel=0.05)
    outside = [*times[:9], NOON - timedelta(days=9)]
    with pytest.raises(DomainError, match=r"values\[9\]"):
        private_ranges(outside, domain=line, epsilon=1.0)
    with pytest.raises(DomainError, match=r"values\[1\]"):
        HaarHRR(domain=dn.Integers(0, 9), epsilon=1.0).run([3, 10])
    clipped = dn.Numbers(line.low, line.high, steps=48, clip=True)
    assert found_by([NOON - timedelta(days=9)] * 3000, clipped).quantile(0.5) == NOON


def test_labels_have_an_order_but_no_mean():
    found = found_by(["small", "medium", "medium", "huge"] * 1000, SIZES, adaptive=True)
    assert found.count("small", "medium") == pytest.approx(3000, rel=0.1)
    assert found.quantile(0.5) == "medium"
    assert found.cdf("medium") == pytest.approx(0.75, abs=0.06)
    with pytest.raises(ParameterError, match="median"):
        found.mean  # noqa: B018  # refused when it is read
    with pytest.raises(DomainError):
        found.count("small", "enormous")
    svg = found.chart(truth=[0, 0.25, 0.75, 0.75, 1])._repr_svg_()
    assert svg.startswith("<svg")
    assert all(label in svg for label in SIZES.labels)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
@pytest.mark.parametrize("size", [2, 16])
def test_everybody_at_one_value_of_a_short_or_longer_line(protocol, size):
    found = protocol(domain=dn.IndexRange(size), epsilon=4.0).run([1] * 4000, source=ReplaySource.from_key("constant"))
    [low], [high] = found.ranges([(1, 1)]).interval(0.9999)
    assert low < 4000 < high
    assert found.count(1, 1) == pytest.approx(4000, rel=0.15)
    assert found.quantile(0.5) == 1
    assert found.quantile_interval(0.5)[0] <= 1 <= found.quantile_interval(0.5)[1]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_nobody_and_hardly_anybody(protocol):
    asked = protocol(domain=dn.Integers(0, 63), epsilon=1.0)
    empty = asked.run([])
    assert empty.n == 0
    assert empty.quantile(0.5) is None
    assert np.isnan(empty.frequencies).all()
    assert np.isnan(empty.mean)
    assert empty.cdf_interval(10) == (0.0, 1.0)
    nobody = empty.ranges([(0, 9)])
    assert (nobody.stderr.tolist(), [limit.tolist() for limit in nobody.interval()]) == ([0.0], [[0.0], [0.0]])
    assert "0 reports" in repr(empty)
    alone = asked.run([7])  # some levels were told by nobody: nothing is known
    assert alone.n == 1
    assert alone.cdf_interval(10) == (0.0, 1.0)
    assert alone.quantile_interval(0.5) == (0, 63)
    assert np.isinf(alone.ranges([(0, 9)]).stderr).all()
    few = asked.run([7] * 60, source=ReplaySource.from_key("few"))
    if min(few.line.groups):  # errors of a few people are not normal: Chebyshev's inequality
        assert reach(0.05, normal=few.line.normal, grown=few.line.grown) == pytest.approx(20**0.5 * (GROWN if protocol is AHEAD else 1.0))


# --- the encoders behind them ---

LINES = [dn.IndexRange(7), dn.Integers(-3, 12), SIZES, dn.Numbers(0, 1, steps=9)]


@given(line=st.sampled_from(LINES), data=st.data())
def test_scalar_equals_bulk(line, data):
    starts = tuple(sorted(data.draw(st.sets(st.integers(1, line.size - 1), max_size=5)) | {0}))
    mask = data.draw(st.integers(1, (1 << line.key_bits) - 1))
    values = [line.value(key) for key in range(line.size)]
    for encoder, bulk in ((Interval(line, starts), intervals), (Parity(line, mask), parities)):
        one_by_one = [encoder.encode(value, None) for value in values]
        assert bulk(encoder, values).tolist() == one_by_one
        assert max(one_by_one) < encoder.inputs
        assert encoder_from_json(encoder.to_json()) == encoder
    assert len(set(intervals(Interval(line, starts), values).tolist())) == len(starts)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Interval(dn.Text(4), (0,)),
        lambda: Interval(dn.IndexRange(4), ()),
        lambda: Interval(dn.IndexRange(4), (1, 2)),
        lambda: Interval(dn.IndexRange(4), (0, 4)),
        lambda: Interval(dn.IndexRange(4), (0, True)),
        lambda: Parity(dn.IndexRange(4), 0),
        lambda: Parity(dn.IndexRange(4), 4),
        lambda: Parity("line", 1),
    ],
)
def test_encoders_of_no_line_are_refused(make):
    with pytest.raises(ParameterError):
        make()
