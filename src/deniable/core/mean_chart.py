"""The chart of a mean: a point with its interval, on the range that was declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from deniable.core.chart import Chart

if TYPE_CHECKING:
    from deniable.core.mean import MeanEstimate


def mean_chart(estimate: MeanEstimate) -> Chart:
    """The mean with its 95 % interval; the axis shows the whole range, so that the error is seen in proportion."""
    domain = estimate.domain
    low, high = estimate.interval(0.95)
    record = {"name": estimate.name, "mean": _plain(estimate.value), "low": _plain(low), "high": _plain(high)}
    ends = [_plain(domain.shown(float(end))) for end in (domain.start, domain.start + domain.width)]
    kind = "T" if domain.times else "Q"
    base = alt.Chart(alt.InlineData(values=[record])).encode(y=alt.Y("name:N", title=None))
    scale = alt.Scale(domain=ends, nice=True) if not domain.times else alt.Undefined
    points = base.mark_point(filled=True, size=60).encode(x=alt.X(f"mean:{kind}", title="mean", scale=scale))
    lines = base.mark_rule(strokeWidth=1.5).encode(x=f"low:{kind}", x2="high")
    title = alt.Title(estimate.headline().splitlines()[0], subtitle="point: estimate, line: 95 % interval")
    return Chart(alt.layer(lines, points).properties(title=title, width=480))


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
