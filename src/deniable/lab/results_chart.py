"""Charts of experiments: a panel for each metric and crowd, a color for each mechanism."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from deniable.core.chart import Chart
from deniable.lab.outcome import METRICS

WIDTH, HEIGHT = 300, 220
REACH = 1.96
"""How many standard errors are drawn on each side of a mean."""
MARKS = 12
"""How many places of the horizontal axis are marked as they are."""


def results_chart(means: pl.DataFrame, *, against: str, title: str) -> Chart:
    """Means as points, against epsilon or the number of people; lines: theory where it is known, else the means.

    Around each point are its standard errors. They are not a 95 % interval: runs are few, and squared errors of few values are skewed.
    """
    summary = means.with_columns(
        low=pl.col("mean") - REACH * pl.col("stderr").fill_null(0),
        high=pl.col("mean") + REACH * pl.col("stderr").fill_null(0),
        line=pl.coalesce("predicted", "mean"),
    )
    other = "n" if against == "epsilon" else "epsilon"
    order = summary["mechanism"].unique(maintain_order=True).to_list()
    rows = []
    for (metric,), of_metric in summary.group_by("metric", maintain_order=True):
        panels = []
        for (population, fixed), records in of_metric.group_by("population", other, maintain_order=True):
            at = f"{other} = {fixed:,}" if other == "n" else f"{other} = {fixed:g}"
            panels.append(_panel(records, str(metric), against, f"{population}, {at}", order))
        rows.append(alt.hconcat(*panels))
    runs = int(summary["repetitions"].max())  # type: ignore[arg-type]  # a column of counts
    points = f"points: means of {runs:,} runs ± {REACH} standard errors" if runs > 1 else "points: one run"
    heading = alt.Title(title, subtitle=f"{points}; lines: prediction where there is one, else the means")
    return Chart(alt.vconcat(*rows).properties(title=heading))


def _panel(records: pl.DataFrame, metric: str, against: str, title: str, order: list[str]) -> Any:
    logarithmic = METRICS[metric].logarithmic and float(records["low"].min() or 0) > 0  # type: ignore[arg-type]  # a column of floats
    places = records[against].unique().sort().to_list()
    wide = places[-1] > 5 * places[0]
    x = alt.X(
        f"{against}:Q",
        title=against,
        scale=alt.Scale(type="log" if wide else "linear", nice=False, zero=False, padding=8),
        axis=alt.Axis(values=places) if len(places) <= MARKS else alt.Axis(),
    )
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale()
    color = alt.Color("mechanism:N", sort=order, scale=alt.Scale(scheme="category20", domain=order), title=None)
    drawn = records.filter(pl.col("mean").is_finite())
    base = alt.Chart(alt.InlineData(values=drawn.to_dicts())).encode(x=x, color=color)
    axis = alt.Axis(minExtent=48)  # so that panels line up
    y = {name: alt.Y(f"{name}:Q", title=metric.replace("_", " "), scale=scale, axis=axis) for name in ("line", "low", "mean")}
    layers = [
        base.mark_line(strokeWidth=1.2, opacity=0.8).encode(y=y["line"]),
        base.mark_rule(strokeWidth=1.5).encode(y=y["low"], y2="high:Q"),
        base.mark_point(filled=True, size=28, opacity=1).encode(y=y["mean"]),
    ]
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT)
