"""A chart of numbers that were estimated: points with their intervals where there are any, in the units of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import altair as alt

from deniable.core.chart import Chart
from deniable.core.rounding import level_text


def number_chart(names: Sequence[str], found: Sequence[Any], low: Sequence[Any], high: Sequence[Any], *, title: str, level: float) -> Chart:
    """Means and quantiles, or a change of a mean, each on a line of its own."""
    rows = [
        {"name": name, "found": _plain(a), "low": _plain(b), "high": _plain(c)}
        for name, a, b, c in zip(names, found, low, high, strict=True)
    ]
    kind = "T" if any(isinstance(each, datetime) for each in found) else "Q"
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("name:N", title=None, sort=list(names)))
    points = base.mark_point(filled=True, size=60).encode(x=alt.X(f"found:{kind}", title=None, scale=alt.Scale(zero=False)))
    lines = base.mark_rule(strokeWidth=1.5).encode(x=f"low:{kind}", x2="high")
    told = alt.Title(title, subtitle=f"point: estimate, line: {level_text(level)} interval")
    return Chart(alt.layer(lines, points).properties(title=told, width=480))


def dot_chart(names: Sequence[str], found: Sequence[float], *, title: str) -> Chart:
    """Numbers of which no interval is known, each on a line of its own."""
    rows = [{"name": name, "found": number} for name, number in zip(names, found, strict=True)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=alt.Y("name:N", title=None, sort=list(names)))
    points = base.mark_point(filled=True, size=60).encode(x=alt.X("found:Q", title=None))
    return Chart(points.properties(title=alt.Title(title, subtitle="point: estimate; no interval is known"), width=480))


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
