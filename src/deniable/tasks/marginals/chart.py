"""The picture of a marginal: shares with intervals, a panel for each value of its first column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from deniable.core.chart import Chart

if TYPE_CHECKING:
    from deniable.tasks.marginals.estimate import MarginalEstimate

_BAR, _TRUTH = "#4c78a8", "#e45756"


def marginal_chart(estimate: MarginalEstimate, truth: Any = None) -> Chart:
    """Shares as bars with 95 % intervals, cut at 0 and 1; ``truth``, where it is known, as ticks."""
    low, high = (np.clip(limit / max(estimate.n, 1), 0.0, 1.0) for limit in estimate.interval(0.95, simultaneous=estimate.picked))
    known = np.full(len(estimate.values), np.nan) if truth is None else np.asarray(truth, dtype=float)
    records = [
        {
            "panel": str(value[0]) if len(value) > 1 else "",
            "value": ", ".join(map(str, value[1:] or value)),
            "share": float(share),
            "low": float(a),
            "high": float(b),
            **({"truth": float(true)} if np.isfinite(true) else {}),
        }
        for value, share, a, b, true in zip(estimate.values, estimate.frequencies, low, high, known, strict=True)
    ]
    order = list(dict.fromkeys(str(record["value"]) for record in records))
    base = alt.Chart().encode(y=alt.Y("value:N", sort=order, title=None))
    layers = [
        base.mark_bar(color=_BAR, opacity=0.75).encode(x=alt.X("share:Q", title="share of the people")),
        base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q"),
    ]
    if truth is not None:
        layers.append(base.mark_tick(color=_TRUTH, thickness=3, size=12).encode(x="truth:Q"))
    panels = list(dict.fromkeys(str(record["panel"]) for record in records))
    first = estimate.columns[0] if len(estimate.columns) > 1 else None
    facets = alt.layer(*layers, data=alt.InlineData(values=records)).properties(width=420)
    drawn = facets.facet(row=alt.Row("panel:N", sort=panels, title=first, header=alt.Header(labelAngle=0, labelAlign="left")))
    legend = f"bars: estimate, lines: 95 % interval{'' if truth is None else ', red: truth'}"
    return Chart(drawn.properties(title=alt.Title(estimate.headline().partition(";")[0], subtitle=legend)))
