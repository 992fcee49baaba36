"""Means and quantiles as people read them: texts in the units of the answers, with as many digits as the error leaves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import floor, log10
from typing import Any, NamedTuple

from deniable.collect.analysis.answer import picked_rows
from deniable.core.rounding import level_text


class NumberTable(NamedTuple):
    """The names of the columns, the lines, what their intervals cover, all that is to be said, and whether the test found a change."""

    names: tuple[str, ...]
    lines: list[list[str]]
    reach: str
    caption: str
    changed: bool = False


def estimate_table(answer: Mapping[str, Any]) -> NumberTable:
    """The estimate of one question, from its part of the JSON."""
    lines = []
    for row in picked_rows(answer, 1):
        width, cells = row_width(row), [row[name] for name in ("estimate", "low", "high")]
        estimate, low, high = (written(cell, width) for cell in cells)
        lines.append([row["value"], estimate, written(row["stderr"], width, seconds=answer["seconds"]), low, high])
    return NumberTable(("value", "estimate", "± std. err.", "from", "to"), lines, _reach(answer), _caption(answer))


def changes_table(answer: Mapping[str, Any]) -> NumberTable:
    """The change of one question's mean, from its part of the JSON."""
    (row,) = picked_rows(answer, 1)
    width, seconds = row_width(row), answer["seconds"]
    ends = [written(row[name], width) for name in ("before", "after")]
    moved = [written(row[name], width, seconds=seconds) for name in ("change", "low", "high")]
    names = ("value", "before", "after", "change", "from", "to", "p")
    line = [row["value"], *ends, *moved, f"{row['p_adjusted']:.2g}"]
    return NumberTable(names, [line], _reach(answer), _caption(answer), row["changed"])


def written(cell: Any, width: float, *, seconds: bool = False) -> str:
    """A number with as many digits as an interval of this width leaves, or a point in time; ``seconds`` are a distance of two.

    >>> written(41.23456, 0.8), written(-1234.5, 300.0), written(12.5, 0.0), written(5400.0, 60.0, seconds=True)
    ('41.23', '−1,234', '12.5', '1:30:00')
    """
    if cell is None:
        return "–"
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ", timespec="seconds")
    if seconds:
        return f"{'−' if cell < 0 else ''}{timedelta(seconds=round(abs(cell)))}"
    text = f"{cell:,.{min(max(0, 1 - floor(log10(width))), 12)}f}" if width > 0 else f"{cell:,.6g}"  # a grid point and no other
    return text.replace("-", "−")


def row_width(row: Mapping[str, Any]) -> float:
    """How wide the interval of a row is, in numbers or seconds."""
    width = row["high"] - row["low"]
    return float(width.total_seconds() if isinstance(width, timedelta) else width)


def _reach(answer: Mapping[str, Any]) -> str:
    level, _, covers = answer["interval"].partition(", ")
    return f"{level_text(float(level))}, {covers}"


def _caption(answer: Mapping[str, Any]) -> str:
    told = f"Intervals: {_reach(answer)}; {answer['domain']}"
    return f"{told}; {answer['biased']}" if "biased" in answer else told
