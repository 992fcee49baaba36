"""Charts that several tasks draw alike."""

from __future__ import annotations

import altair as alt
import numpy as np

from deniable.core.chart import Chart, bar_chart
from deniable.core.interval import Limits
from deniable.core.table import Table
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole


def row_chart(table: Table, column: str, k: int, *, title: str | None = None, together: bool, axis: str) -> Chart:
    """The first k rows of a table as bars, by one column, with its ``low`` and ``high``. What is no number is left out.

    ``together`` says whether these limits hold for all rows at once; ``axis`` is what the column is called.
    """
    check_whole("k", k, 1, fix="ask for at least one row")
    rows, shown = table.rows(), table.order()[:k]
    numbers = np.array([rows[name] for name in (column, "low", "high")], dtype=float)
    shown = shown[np.isfinite(numbers[:, shown]).all(axis=0)]
    values = [rows["value"][place] for place in shown]
    return bar_chart(values, *numbers[:, shown], title=title or table.headline(), together=together, axis=axis)


def line_chart(values: Array, limits: Limits, *, title: str, subtitle: str, time: str, axis: str) -> Chart:
    """One series over ``time``, with the band of its limits."""
    columns = zip(values.tolist(), *(side.tolist() for side in limits), strict=True)
    records = [{"time": place, "value": value, "low": low, "high": high} for place, (value, low, high) in enumerate(columns)]
    base = alt.Chart(alt.InlineData(values=records)).encode(x=alt.X("time:Q", title=time, axis=alt.Axis(tickMinStep=1)))
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title=axis), y2="high:Q")
    return Chart((band + base.mark_line().encode(y="value:Q")).properties(title=alt.Title(title, subtitle=subtitle), width=480))
