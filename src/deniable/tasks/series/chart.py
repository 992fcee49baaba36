"""Charts of time series: a line for each value, or for a noisy sum, with the band of its 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from deniable.core.chart import Chart

if TYPE_CHECKING:
    from deniable.tasks.series.estimate import SeriesEstimate
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


def noisy_chart(series: SeriesEstimate) -> Chart:
    """One noisy series over time."""
    low, high = series.interval()
    columns = zip(series.values.tolist(), low.tolist(), high.tolist(), strict=True)
    records = [{"time": time, "sum": value, "low": least, "high": most} for time, (value, least, most) in enumerate(columns)]
    base = alt.Chart(alt.InlineData(values=records)).encode(x=alt.X("time:Q", axis=alt.Axis(tickMinStep=1)))
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title="sum"), y2="high:Q")
    title = alt.Title(f"{series.name}, epsilon = {series.guarantee.epsilon:g}", subtitle="band: 95 % intervals, noise only")
    return Chart((band + base.mark_line().encode(y="sum:Q")).properties(title=title, width=480))
