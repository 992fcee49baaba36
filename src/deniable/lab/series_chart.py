"""A picture of releases: the true series and a released one in each panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from deniable.contract.replay import ReplaySource
from deniable.core.chart import Chart
from deniable.lab.methods import Method
from deniable.lab.series_crowds import SeriesCrowd

DRAWN = 500
"""Points of a line, at most: more would only make the file larger."""
WIDTH, HEIGHT = 300, 180
COLORS = alt.Scale(domain=["released", "true"], range=["#f58518", "#4c78a8"])


def example_chart(crowds: Sequence[tuple[SeriesCrowd, int]], ways: Sequence[Method], *, epsilon: float = 1.0) -> Chart:
    """A row for each crowd, a panel for each way, one release in each; the scales differ."""
    rows = []
    for crowd, people in crowds:
        source = ReplaySource.from_key(f"example {crowd.describe()}")
        drawn = crowd.draw(people, source)
        panels = []
        for way in ways:
            outcome = way.run(way.setup(crowd, epsilon, people), drawn, source)
            each = max(1, drawn.sums.size // DRAWN)
            records = [
                {"time": time, "people": round(float(line[time]), 1), "line": name}
                for name, line in (("released", np.asarray(outcome.counts)), ("true", outcome.truth))
                for time in range(0, drawn.sums.size, each)
            ]
            panels.append(_panel(records, f"{way.label}: {crowd.describe()}, {people:,} people"))
        rows.append(alt.hconcat(*panels))
    heading = alt.Title(f"Released at epsilon = {epsilon:g}, and true", subtitle="one release each; look at the scales")
    return Chart(alt.vconcat(*rows).properties(title=heading))


def _panel(records: list[dict[str, Any]], title: str) -> Any:
    base = alt.Chart(alt.InlineData(values=records)).mark_line(strokeWidth=1.2)
    return base.encode(
        x=alt.X("time:Q", title=None),
        y=alt.Y("people:Q", title="people", scale=alt.Scale(zero=False), axis=alt.Axis(minExtent=48)),
        color=alt.Color("line:N", scale=COLORS, title=None),
    ).properties(title=alt.Title(title, fontSize=10), width=WIDTH, height=HEIGHT)
