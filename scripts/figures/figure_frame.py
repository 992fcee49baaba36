"""What figures share: a recipe that makes a chart, axes with both scales logarithmic, and theory as lines beside measurement as points."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import altair as alt

from deniable.core.chart import Chart

Recipe = Callable[[], Chart]
Entry = dict[str, Any]
"""A point of a figure: its ``name``, its ``error``, and where on the horizontal axis it is."""


def log_axes(entries: Iterable[Entry], against: str, error: str | None, *, title: str | None = None) -> Any:
    """``error`` against another number. Errors are rounded, so that the same file comes out again on any machine; a zero has no place."""
    scale = alt.Scale(type="log", nice=False)
    rounded = [entry | {"error": float(f"{entry['error']:.4g}")} for entry in entries if entry["error"]]
    return alt.Chart(alt.InlineData(values=rounded)).encode(
        x=alt.X(
            f"{against}:Q", scale=scale, axis=alt.Axis(labelOverlap="greedy", labelSeparation=8), title=title or against.replace("_", " ")
        ),
        y=alt.Y("error:Q", scale=scale, title=error),
    )


def lines_and_points(
    lines: Iterable[Entry],
    points: Iterable[Entry],
    against: str,
    error: str | None,
    *,
    title: str | None = None,
    color: alt.Color | None = None,
    size: int = 40,
) -> Any:
    """Theory as lines and measurement as points, a color for each name."""
    told = color or alt.Color("name:N", title=None)
    curves = log_axes(lines, against, error, title=title).mark_line(strokeWidth=1.5)
    dots = log_axes(points, against, error, title=title).mark_point(filled=True, size=size, opacity=1)
    return curves.encode(color=told) + dots.encode(color=told)


def framed(drawn: Any, title: str, subtitle: str | list[str], *, width: int = 460, height: int = 320) -> Chart:
    """One panel with a title, and below it what was measured."""
    return Chart(drawn.properties(title=alt.Title(title, subtitle=subtitle), width=width, height=height))
