"""The chart of a line: shares, and below them how they add up, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from deniable.contract.domain import Categories
from deniable.core.chart import Chart

if TYPE_CHECKING:
    from deniable.tasks.ranges.estimate import RangeEstimate

_COLOR = "#4c78a8"
_TRUTH = "#e45756"
_BARS = 64
"""The most bars: single values of a long line are hardly ever known well."""


def range_chart(estimate: RangeEstimate, truth: Any = None) -> Chart:
    """Shares as bars, neighbors together; cumulative shares as a line with 95 % intervals; ``truth``, the true shares, in red."""
    rows = estimate.rows()
    places = [value.isoformat() if hasattr(value, "isoformat") else value for value in rows["value"]]
    kind = "O" if isinstance(estimate.domain, Categories) else "T" if getattr(estimate.domain, "times", False) else "Q"
    together = -(-len(places) // _BARS)
    ends = {"scale": alt.Scale(nice=False, zero=False, padding=8)} if kind == "Q" else {"sort": None} if kind == "O" else {}
    x = alt.X(f"value:{kind}", title=None, **ends)
    bars = [{"value": places[i], "share": float(rows["frequency"][i : i + together].sum())} for i in range(0, len(places), together)]
    lines = [
        {"value": place, "cdf": float(a), "low": float(b), "high": float(c)}
        for place, a, b, c in zip(places, rows["cdf"], rows["low"], rows["high"], strict=True)
    ]
    width = max(2, min(40, 440 // len(bars)))
    top = _base(bars).mark_bar(color=_COLOR, opacity=0.75, size=width).encode(x=x, y=alt.Y("share:Q", title="share of people"))
    base = _base(lines).encode(x=x)
    layers = [
        base.mark_area(color=_COLOR, opacity=0.25).encode(y=alt.Y("low:Q", title="at or below"), y2="high:Q"),
        base.mark_line(color=_COLOR).encode(y="cdf:Q"),
    ]
    if truth is not None:
        known = [{"value": place, "truth": float(t)} for place, t in zip(places, np.cumsum(truth), strict=True)]
        layers.append(_base(known).mark_line(color=_TRUTH, strokeWidth=1.5).encode(x=x, y="truth:Q"))
    first, *rest = estimate.headline().splitlines()
    heading = alt.Title(first, subtitle=[*rest, "area: 95 % interval" + ("" if truth is None else ", red: truth")])
    stacked = alt.vconcat(*(part.properties(width=480, height=160) for part in (top, alt.layer(*layers))))
    return Chart(stacked.properties(title=heading))


def _base(records: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=records))
