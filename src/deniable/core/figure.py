"""Figures: what a table looks like, as data.

A table declares which of its columns is drawn and how (``Figure``); notebooks, files, the command line and the dashboard draw it alike, by
``core.vega``. Marks have the names of styles (``accent``, ``ink``, ``other``, ``second``), which ``themed`` gives their colors, and a web
page its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]
COLORS = {
    "light": {"text": "#40464d", "grid": "#e4e7ea", "accent": "#2b66a8", "ink": "#16191d", "other": "#b9c0c7", "second": "#b4540a"},
    "dark": {"text": "#b6bec8", "grid": "#2f353c", "accent": "#6aa5e3", "ink": "#e8ebee", "other": "#525b65", "second": "#f0a35e"},
}
"""The same as in the dashboard's style sheet, for pictures that no page styles."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """How a table is drawn: by its column ``number``, with its columns ``low`` and ``high``, if it has them, as the interval."""

    mark: str = "points"
    """What is drawn: bars, points, curve, steps (a histogram), map (cells with bounds), flows (lines between places) or matrix."""
    number: str
    """The column that is drawn."""
    axis: str = ""
    """What the numbers are called; the column's name if left out."""
    label: str = "value"
    """The column that says what each number is about; several are named as in "place x mood"."""
    group: str = ""
    """A column: a curve or a panel for each of its values, or the other side of a matrix."""
    log: bool = False
    """For curves: whether both axes are logarithmic."""
    at: tuple[float | None, ...] = ()
    """For curves: a place on the label's axis and a number, where dashed lines go; None for no line."""
    percent: bool = False
    """Whether the numbers are shares, shown in percent."""
    interval: str = "95 % interval"
    """What the limits are, in words; empty where there are none."""
    ends: tuple[Any, ...] | None = None
    """The ends of the number's axis; for maps west, south, east and north."""
    plane: bool = True
    """For maps: whether coordinates are lengths, and no degrees."""
    most: int | None = None
    """For flows: how many lines are drawn, the largest numbers first; all if left out."""

    @property
    def legend(self) -> str:
        """What the marks are, in a line."""
        kind = {"bars": "bars: estimate, lines", "points": "points: estimate, lines", "curve": "line: estimate, area"}
        return f"{kind[self.mark]}: {self.interval}" if self.mark in kind and self.interval else ""


def themed(spec: Spec, theme: str = "light") -> Spec:
    """Return the figure with the colors of a theme, light or dark, for pictures that stand alone."""
    colors = COLORS[theme]
    style: Spec = {name: {"color": colors[name]} for name in ("accent", "ink", "other", "second")}
    style["second"]["strokeWidth"] = 2
    axis = {"labelColor": colors["text"], "titleColor": colors["text"], "titleFontWeight": "normal", "labelFontSize": 12}
    axis |= {"titleFontSize": 12, "gridColor": colors["grid"], "domainColor": colors["grid"], "tickColor": colors["grid"]}
    words = {"labelColor": colors["text"], "titleColor": colors["text"]}
    named = {"title": {"color": colors["ink"], "subtitleColor": colors["text"]}, "legend": words, "header": words}
    return spec | {"config": {"background": "transparent", "view": {"stroke": None}, "axis": axis, "style": style, **named}}
