"""Several histograms of the same people in one chart: what was true, what a curator released, what local reports say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.core.chart import Chart
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError

COLORS = ["#e45756", "#4c78a8", "#f58518", "#72b7b2", "#54a24b"]


@typed
def side_by_side(values: Sequence[Any], title: str = "The same people", **counts: Any) -> Chart:
    """Return a chart of counts, one color for each keyword: a list of exact counts, or an estimate with its 95 % intervals.

    ``title`` stands above the chart.

    >>> chart = side_by_side(["tea", "coffee"], plain=[52, 48], other=[50, 50])
    >>> len(chart.altair.to_dict()["layer"])
    2
    """
    import altair as alt

    records = []
    for name, found in counts.items():
        if isinstance(found, FrequencyEstimate):
            if list(found.values) != list(values):
                raise ParameterError(
                    name, list(found.values)[:5], allowed="an estimate of the same values", fix="estimate all with the same list of values"
                )
            numbers, (low, high) = found.counts, found.interval(0.95)
        else:
            numbers = low = high = np.asarray(found, dtype=float)
        if len(numbers) != len(values):
            raise ParameterError(name, f"{len(numbers)} counts", allowed=f"{len(values)}, one for each value", fix="count all values")
        records += [
            {"value": str(value), "histogram": name.replace("_", " "), "count": float(number), "low": float(a), "high": float(b)}
            for value, number, a, b in zip(values, numbers, low, high, strict=True)
        ]
    names = [name.replace("_", " ") for name in counts]
    offset = alt.YOffset("histogram:N", sort=names)
    base = alt.Chart(alt.InlineData(values=records)).encode(
        y=alt.Y("value:N", sort=[str(value) for value in values], title=None), yOffset=offset
    )
    bars = base.mark_bar(opacity=0.8).encode(
        x=alt.X("count:Q", title="people"), color=alt.Color("histogram:N", sort=names, title=None, scale=alt.Scale(range=COLORS))
    )
    lines = base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    return Chart(alt.layer(bars, lines).properties(title=alt.Title(title, subtitle="lines: 95 % intervals"), width=480))
