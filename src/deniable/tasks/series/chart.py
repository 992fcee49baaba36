"""A chart of time series: a line for each value, with the band of its 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from deniable.core.chart import Chart

if TYPE_CHECKING:
    from deniable.tasks.series.repeated import RepeatedEstimate


def series_chart(series: RepeatedEstimate, positions: Any) -> Chart:
    """Counts over time of the values at some positions."""
    low, high = series.interval()
    records = [
        {
            "period": period,
            "value": str(series.values[place]),
            "count": float(series.counts[period, place]),
            "low": float(low[period, place]),
            "high": float(high[period, place]),
        }
        for period in range(len(series.periods))
        for place in positions
    ]
    base = alt.Chart(alt.InlineData(values=records)).encode(
        x=alt.X("period:Q", axis=alt.Axis(tickMinStep=1)), color=alt.Color("value:N", title=None)
    )
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title="people"), y2="high:Q")
    title = alt.Title("People over time", subtitle="bands: 95 % intervals, each by itself; their errors repeat from period to period")
    return Chart((band + base.mark_line(point=True).encode(y="count:Q")).properties(title=title, width=480))
