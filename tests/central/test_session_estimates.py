"""What a session answers is of the family of estimates: it compares, selects and shows itself."""

from __future__ import annotations

import polars as pl
import pytest

from deniable.central import Session, side_by_side
from deniable.central.histogram import released_counts
from deniable.errors import MergeError, ParameterError
from deniable.testing import ReplaySource
from tests.central.sessions import SPENT


def histogram(counts, scale=2.0, rows=None):
    return released_counts(SPENT, ["a", "b", "c"], counts, scale, rows=rows)


@pytest.mark.parametrize("rows", [None, 1000])
def test_histograms_compare_select_and_show_themselves(rows):
    one, other = histogram([500, 300, 200], rows=rows), histogram([300, 500, 200], rows=rows)
    assert one.compare(other).changed(0.01) == ["a", "b"]
    assert one.compare(one).changed(0.2) == []
    assert one.compare(one).p_values.min() > 0.9
    low, high = one.compare(other).interval(0.95)
    assert (low <= one.compare(other).difference).all()
    assert (one.compare(other).difference <= high).all()
    top = one.top(2)
    assert top.values == ["a", "b"]
    assert top.interval()[1][0] == one.interval()[1][0]
    assert top.interval(simultaneous=True)[1][0] > one.interval()[1][0]
    wide = one.interval(population=True)
    assert (wide[0] < one.interval()[0]).all()
    assert (wide[1] > one.interval()[1]).all()
    assert one.postprocess("norm-sub").counts.sum() == pytest.approx(one.n)
    assert one.to_arrow().column_names == ["value", "count", "stderr", "low", "high", "frequency"]
    assert one.chart().altair.to_dict()
    assert side_by_side(one.values, plain=[500, 300, 200], central=one).altair.to_dict()
    for wrong in (lambda: one.postprocess("mle"), lambda: top.postprocess("norm"), one.distribution, lambda: one.compare(3)):
        with pytest.raises(ParameterError):
            wrong()
    with pytest.raises(MergeError):
        one.compare(one.top(2))
    with pytest.raises(ParameterError):
        side_by_side(["a"], plain=[1, 2])


def test_numbers_compare_and_show_themselves():
    session = Session({"x": list(range(2000))}, budget=9.0, neighbors="add-remove", source=ReplaySource.from_key("numbers"))
    below = session.count(where=pl.col("x") < 500, epsilon=0.5)
    above = session.count(where=pl.col("x") >= 500, epsilon=0.5)
    change = below.compare(above)
    assert change.changed(0.001)
    assert not below.compare(session.count(where=pl.col("x") < 501, epsilon=0.5)).changed(0.01)
    assert change.interval()[0] < change.difference < change.interval()[1]
    mean = session.mean("x", low=0, high=2000, epsilon=0.5)
    assert mean.interval()[0] < 999.5 < mean.interval()[1]
    with pytest.raises(MergeError):
        below.compare(mean)
    with pytest.raises(MergeError):
        below.compare(session.sum("x", low=0, high=1, epsilon=0.5))
    found = session.quantiles("x", [0.25, 0.5], low=0, high=2000, steps=200, epsilon=2.0)
    assert found.only(0.5).value == found.point[1]
    assert [limit.tolist() for limit in found.interval(simultaneous=True)] == [[0, 0], [2000, 2000]]  # all that is known of a smaller error
    assert found.select([1]).to_arrow()["missed"].to_pylist() == [found.law.missed[1]]
    for wrong in (lambda: found.only(0.4), lambda: found.interval(0.99)):
        with pytest.raises(ParameterError):
            wrong()
