"""Charts of estimates: one Vega-Lite form for notebooks, files and web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

if TYPE_CHECKING:
    from deniable.core.comparison import Comparison
    from deniable.core.frequency import FrequencyEstimate

_BAR = "#4c78a8"
_TRUTH = "#e45756"


def count_chart(estimate: FrequencyEstimate, truth: Any = None, title: str | None = None) -> Any:
    """Estimated counts as bars with 95 % intervals; ``truth``, where it is known, as ticks."""
    low, high = estimate.interval(0.95)
    labels = [str(value) for value in estimate.values]
    records = [
        {"value": label, "count": float(count), "low": float(a), "high": float(b)}
        for label, count, a, b in zip(labels, estimate.counts, low, high, strict=True)
    ]
    base = _chart(records).encode(y=alt.Y("value:N", sort=labels, title=None))
    layers = [
        base.mark_bar(color=_BAR, opacity=0.75).encode(x=alt.X("count:Q", title="people")),
        base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q"),
    ]
    if truth is not None:
        known = [{"value": label, "truth": float(t)} for label, t in zip(labels, np.asarray(truth), strict=True)]
        ticks = _chart(known).mark_tick(color=_TRUTH, thickness=3, size=14)
        layers.append(ticks.encode(y=alt.Y("value:N", sort=labels), x="truth:Q"))
    legend = "bars: estimate, lines: 95 % interval" + ("" if truth is None else ", red: truth")
    heading = alt.Title(title or estimate.headline(), subtitle=legend)
    return alt.layer(*layers).properties(title=heading, width=480)


def change_chart(comparison: Comparison, positions: Any) -> Any:
    """Changes of frequencies as points with 95 % intervals."""
    low, high = comparison.interval(0.95)
    labels = [str(comparison.values[i]) for i in positions]
    records = [
        {"value": label, "change": float(comparison.difference[i]), "low": float(low[i]), "high": float(high[i])}
        for label, i in zip(labels, positions, strict=True)
    ]
    base = _chart(records).encode(y=alt.Y("value:N", sort=labels, title=None))
    points = base.mark_point(color=_BAR, filled=True, size=50).encode(x=alt.X("change:Q", title="change of frequency"))
    return (base.mark_rule().encode(x="low:Q", x2="high:Q") + points).properties(title=comparison.headline(), width=480)


def save_chart(chart: Any, path: str) -> None:
    """Write a chart as SVG, PNG, JSON or self-contained HTML, by the path's ending; nothing is fetched from a network."""
    if path.endswith(".html"):
        chart.save(path, inline=True)
    else:
        chart.save(path)


def _chart(records: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=records))
