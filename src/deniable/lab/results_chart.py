"""Charts of experiments: a panel for each metric and crowd, a color for each mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from deniable.core.chart import Chart
from deniable.lab.outcome import METRICS

if TYPE_CHECKING:
    from deniable.lab.results import Results

WIDTH, HEIGHT = 300, 220


def results_chart(results: Results) -> Chart:
    """Means as points with 95 % intervals, against epsilon or the number of people; lines: theory where it is known, else the means."""
    summary = results.summary().with_columns(
        low=pl.col("mean") - 1.96 * pl.col("stderr").fill_null(0),
        high=pl.col("mean") + 1.96 * pl.col("stderr").fill_null(0),
    )
    other = "n" if results.against == "epsilon" else "epsilon"
    order = summary["mechanism"].unique(maintain_order=True).to_list()
    rows = []
    for (metric,), of_metric in summary.group_by("metric", maintain_order=True):
        panels = []
        for (population, fixed), records in of_metric.group_by("population", other, maintain_order=True):
            told = f"{other} = {fixed:,}" if other == "n" else f"{other} = {fixed:g}"
            panels.append(_panel(records, str(metric), results.against, f"{population}, {told}", order))
        rows.append(alt.hconcat(*panels))
    heading = alt.Title(results.title, subtitle="points: means with 95 % intervals; lines: prediction where there is one, else the means")
    return Chart(alt.vconcat(*rows).properties(title=heading))


def _panel(records: pl.DataFrame, metric: str, against: str, title: str, order: list[str]) -> Any:
    logarithmic = METRICS[metric].logarithmic and float(records["low"].min() or 0) > 0  # type: ignore[arg-type]  # a column of floats
    ends = records[against].min(), records[against].max()
    wide = ends[1] > 5 * ends[0]  # type: ignore[operator]  # a column of numbers
    x = alt.X(f"{against}:Q", title=against, scale=alt.Scale(type="log" if wide else "linear", nice=False, zero=False, padding=8))
    scale = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale()
    color = alt.Color("mechanism:N", sort=order, scale=alt.Scale(scheme="category20", domain=order), title=None)
    drawn = records.filter(pl.col("mean").is_finite())
    base = alt.Chart(alt.InlineData(values=drawn.to_dicts())).encode(x=x, color=color)
    y = alt.Y("mean:Q", title=metric.replace("_", " "), scale=scale)
    predicted = drawn["predicted"].null_count() < drawn.height
    line = alt.Y("predicted:Q", title=metric.replace("_", " "), scale=scale) if predicted else y
    layers = [
        base.mark_line(strokeWidth=1.2, opacity=0.8).encode(y=line),
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_point(filled=True, size=28, opacity=1).encode(y=y),
    ]
    return alt.layer(*layers).properties(title=title, width=WIDTH, height=HEIGHT)
