"""The chart of a distribution: shares, and below them how they add up, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from deniable.core.chart import Chart

if TYPE_CHECKING:
    from deniable.core.distribution import DistributionEstimate

_COLOR = "#4c78a8"
_TRUTH = "#e45756"
_BARS = 64
"""The most bars: single points of a fine grid are hardly ever known well."""


def distribution_chart(estimate: DistributionEstimate, truth: Any = None) -> Chart:
    """Shares as bars, neighboring points together; cumulative shares as a line with 95 % intervals; ``truth``, the true shares, in red."""
    rows = estimate.rows()
    places, kind = [_plain(value) for value in rows["value"]], "T" if estimate.domain.times else "Q"
    together = -(-len(places) // _BARS)
    starts = range(0, len(places), together)
    bars: list[dict[str, Any]] = [
        {
            "zero": 0.0,
            "from": places[i],
            "to": places[min(i + together, len(places) - 1)],
            "share": float(rows["frequency"][i : i + together].sum()),
        }
        for i in starts
    ]
    if len(bars) > 1 and bars[-1]["from"] == bars[-1]["to"]:  # the last point has no step behind it: it joins the bar before
        bars[-2]["share"] += bars.pop()["share"]
    lines = [
        {"value": place, "cdf": float(a), "low": float(b), "high": float(c)}
        for place, a, b, c in zip(places, rows["cdf"], rows["low"], rows["high"], strict=True)
    ]
    x = alt.X(f"from:{kind}", title=None)
    height = alt.Y("share:Q", title="share of people")
    top = _base(bars).mark_rect(color=_COLOR, opacity=0.75).encode(x=x, x2="to", y=height, y2="zero")
    base = _base(lines).encode(x=alt.X(f"value:{kind}", title=None))
    layers = [
        base.mark_area(color=_COLOR, opacity=0.25).encode(y=alt.Y("low:Q", title="at or below"), y2="high:Q"),
        base.mark_line(color=_COLOR).encode(y="cdf:Q"),
    ]
    if truth is not None:
        known = [{"value": place, "truth": float(t)} for place, t in zip(places, np.cumsum(truth), strict=True)]
        layers.append(_base(known).mark_line(color=_TRUTH, strokeWidth=1.5).encode(x=f"value:{kind}", y="truth:Q"))
    first, *rest = estimate.headline().splitlines()
    legend = "area: 95 % interval" + ("" if truth is None else ", red: truth")
    bottom = alt.layer(*layers).properties(width=480, height=160)
    heading = alt.Title(first, subtitle=[*rest, legend])
    return Chart(alt.vconcat(top.properties(width=480, height=160), bottom).properties(title=heading))


def _base(records: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=records))


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
