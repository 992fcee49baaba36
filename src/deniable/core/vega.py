"""The one builder of charts: from a table's columns and its ``Figure`` to Vega-Lite, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from deniable.core.figure import Figure, Spec
from deniable.core.vega_axes import WIDTH, Rows, datum, label_axis, map_axes, map_frame, number_axis, records_of
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.core.table import Table

STEP = 26
"""The height of a line of a bar or a point, in pixels."""
STACKED = 160
"""The height of a figure of two."""
BARS = 64
"""The most columns of a histogram: single points of a fine grid are hardly ever known well."""
POINTS = 512
"""The most points of a single curve."""
MOST_CELLS = 20_000
"""The most cells of a map: more make a file that no browser opens."""


def draw(rows: Rows, figure: Figure, *, truth: Sequence[float] | None = None) -> Spec:
    """Return the Vega-Lite specification of a table's columns; ``truth``, where it is known, is drawn as well."""
    known: dict[str, Sequence[Any]] = {} if truth is None else {"truth": [float(each) for each in truth]}
    if figure.label not in rows:  # several columns together
        known[figure.label] = list(zip(*(rows[name] for name in figure.label.split(" x ")), strict=True))
    return MARKS[figure.mark]({**rows, **known}, figure)


def draw_all(table: Table, k: int, *, truth: Sequence[float] | None = None) -> list[Spec]:
    """Return all figures of a table: the first k rows where rows are bars or points, the k highest curves, otherwise all rows."""
    figures = [replace(figure, most=k) for figure in table.figures()]
    if not figures:
        return []
    columns, order, first = table.rows(), table.order(), figures[0]
    shown = order[:k] if first.mark in ("bars", "points") else _highest(columns, first, k) if first.group else range(len(order))
    rows = {name: [column[i] for i in shown] for name, column in columns.items()}
    known = None if truth is None else [truth[i] for i in shown]
    return [draw(rows, figure, truth=known if figure is figures[-1] else None) for figure in figures]


def _highest(rows: Rows, figure: Figure, k: int) -> list[int]:
    """The rows of the k curves that are highest on average; of any other figure, all rows."""
    places: dict[Any, list[int]] = {}
    for place, group in enumerate(rows[figure.group]):
        places.setdefault(group, []).append(place)
    if figure.mark != "curve" or len(places) <= k:
        return list(range(len(rows[figure.group])))
    highest = sorted(places, key=lambda group: -sum(rows[figure.number][place] for place in places[group]) / len(places[group]))[:k]
    return sorted(place for group in highest for place in places[group])


# --- marks ---


def _bars(rows: Rows, figure: Figure) -> Spec:
    if figure.group:
        return _panels(rows, figure)
    return _lines(rows, figure, {"type": "bar", "style": "accent", "height": {"band": 0.62}}, behind=False)


def _points(rows: Rows, figure: Figure) -> Spec:
    return _lines(rows, figure, {"type": "point", "style": "accent", "filled": True, "size": 60, "opacity": 1}, behind=True)


def _lines(rows: Rows, figure: Figure, mark: Spec, *, behind: bool) -> Spec:
    """A line for each label, with the interval before or behind the mark."""
    records = records_of(rows, figure)
    y = {"field": figure.label, "type": "nominal", "sort": [each[figure.label] for each in records], "title": None}
    x = number_axis(figure.number, rows, figure, zero=not behind)
    layers = [{"mark": mark, "encoding": {"y": y, "x": x}}, *_rules(rows, y, x["type"])]
    layers = layers[::-1] if behind else layers
    if figure.number == "change":  # a line at no change
        zero = {"type": "rule", "style": "second", "strokeDash": [4, 4]}
        layers.append({"data": {"values": [{}]}, "mark": zero, "encoding": {"x": {"datum": 0}}})
    if "truth" in rows:
        tick = {"type": "tick", "style": "second", "thickness": 3, "size": 14}
        layers.append({"mark": tick, "encoding": {"y": y, "x": {"field": "truth", "type": "quantitative"}}})
    return {"data": {"values": records}, "layer": layers, "width": WIDTH, "height": STEP * max(len(records), 1)}


def _rules(rows: Rows, y: Spec, kind: str) -> list[Spec]:
    if "low" not in rows:
        return []
    return [{"mark": {"type": "rule", "style": "ink"}, "encoding": {"y": y, "x": {"field": "low", "type": kind}, "x2": {"field": "high"}}}]


def _panels(rows: Rows, figure: Figure) -> Spec:
    """Bars in a panel for each value of the group."""
    whole = _lines(rows, figure, {"type": "bar", "style": "accent", "height": {"band": 0.62}}, behind=False)
    order = list(dict.fromkeys(each[figure.group] for each in whole["data"]["values"]))
    header = {"labelAngle": 0, "labelAlign": "left"}
    inner = {"layer": whole["layer"], "width": WIDTH - 60, "height": {"step": STEP}}
    facet = {"row": {"field": figure.group, "type": "nominal", "sort": order, "title": figure.group, "header": header}}
    return {"data": whole["data"], "facet": facet, "spec": inner, "resolve": {"scale": {"y": "independent"}}}


def _curve(rows: Rows, figure: Figure) -> Spec:
    """A line along the labels, with the band of its limits; one for each value of the group."""
    records = records_of(rows, figure)
    if not figure.group and len(records) > POINTS:  # a fine grid: some of its points, both ends among them
        records = [records[round(i * (len(records) - 1) / (POINTS - 1))] for i in range(POINTS)]
    x = label_axis(rows, figure)
    y = number_axis(figure.number, rows, figure, zero=False)
    shared: Spec = {"color": {"field": figure.group, "type": "nominal", "title": None}} if figure.group else {}
    style: Spec = {} if figure.group else {"style": "accent"}  # each curve of several has a color of its own
    layers: list[Spec] = []
    if "low" in rows:
        band = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers.append({"mark": {"type": "area", "opacity": 0.25, **style}, "encoding": {"x": x, **band, **shared}})
    layers.append({"mark": {"type": "line", **style}, "encoding": {"x": x, "y": y, **shared}})
    if "truth" in rows:
        known = {"x": x, "y": {"field": "truth", "type": "quantitative"}}
        layers.append({"mark": {"type": "line", "style": "second", "strokeWidth": 1.5}, "encoding": known})
    for axis, place in zip(("x", "y"), figure.at, strict=False):
        if place is not None:
            dashed = {"type": "rule", "style": "ink", "strokeDash": [4, 4]}
            layers.append({"data": {"values": [{}]}, "mark": dashed, "encoding": {axis: {"datum": place, "type": "quantitative"}}})
    return {"data": {"values": records}, "layer": layers, "width": WIDTH, "height": 240}


def _steps(rows: Rows, figure: Figure) -> Spec:
    """A histogram along the labels, neighbors together."""
    labels, numbers = list(map(datum, rows[figure.label])), [float(each) for each in rows[figure.number]]
    together = -(-len(labels) // BARS)
    records = [
        {
            figure.label: labels[i],
            "to": labels[min(i + together, len(labels) - 1)],
            figure.number: sum(numbers[i : i + together]),
            "zero": 0,
        }
        for i in range(0, len(labels), together)
    ]
    records = [each for each in records if isfinite(each[figure.number])]  # of nobody, nothing is known
    x, y = label_axis(rows, figure), {"field": figure.number, "type": "quantitative", "title": figure.axis or figure.number, "stack": None}
    if x["type"] == "ordinal":
        mark: Spec = {"type": "bar", "style": "accent", "opacity": 0.75}
        return {"data": {"values": records}, "mark": mark, "encoding": {"x": x, "y": y}, "width": WIDTH, "height": STACKED}
    if len(records) > 1 and records[-1][figure.label] == records[-1]["to"]:  # the last point has no step behind it: it joins the bar before
        records[-2][figure.number] += records.pop()[figure.number]
    encoding = {"x": x, "x2": {"field": "to"}, "y": y, "y2": {"field": "zero"}}
    mark = {"type": "rect", "style": "accent", "opacity": 0.75}
    return {"data": {"values": records}, "mark": mark, "encoding": encoding, "width": WIDTH, "height": STACKED}


def _map(rows: Rows, figure: Figure) -> Spec:
    """Cells colored by a number; those below 0 are drawn as none."""
    records = records_of(rows, figure)
    if len(records) > MOST_CELLS:
        raise ParameterError("estimate", f"{len(records):,} cells", allowed=f"at most {MOST_CELLS:,}", fix="draw a coarser grid")
    for each in records:
        each[figure.number] = max(each[figure.number] or 0.0, 0.0)
    scale = {"scheme": "blues", "type": "sqrt"}
    color = {"field": figure.number, "type": "quantitative", "scale": scale, "title": (figure.axis or figure.number).split("\n")}
    shown = [{"field": name, "type": "quantitative"} for name in ("count", "stderr") if name in rows]
    encoding = {**map_axes(figure), "color": color, "tooltip": shown}
    return {"data": {"values": records}, "mark": {"type": "rect", "stroke": "#ddd", "strokeWidth": 0.2}, "encoding": encoding} | map_frame(
        figure
    )


def _flows(rows: Rows, figure: Figure) -> Spec:
    """Lines from place to place that are thicker the larger their number is; staying is not drawn."""
    moves = [each for each in records_of(rows, figure) if each[figure.number] > 0]
    moves = [each for each in moves if (each["west"], each["south"]) != (each["east"], each["north"])]
    moves = sorted(moves, key=lambda each: -float(each[figure.number]))[: figure.most]
    size = {"field": figure.number, "type": "quantitative", "scale": {"range": [0.5, 8]}, "title": figure.axis or figure.number}
    mark = {"type": "rule", "style": "accent", "opacity": 0.7}
    return {"data": {"values": moves}, "mark": mark, "encoding": {**map_axes(figure), "size": size}} | map_frame(figure)


def _matrix(rows: Rows, figure: Figure) -> Spec:
    """A cell for each pair of a label and a group, colored by the number."""
    records = records_of(rows, figure)
    sides = {
        axis: {"field": name, "type": "nominal", "sort": list(dict.fromkeys(each[name] for each in records)), "title": name}
        for axis, name in (("y", figure.label), ("x", figure.group))
    }
    color = {"field": figure.number, "type": "quantitative", "scale": {"scheme": "blues"}, "title": figure.axis or figure.number}
    return {"data": {"values": records}, "mark": {"type": "rect"}, "encoding": {**sides, "color": color}, "width": {"step": STEP}}


MARKS: dict[str, Callable[[Rows, Figure], Spec]] = {
    "bars": _bars,
    "points": _points,
    "curve": _curve,
    "steps": _steps,
    "map": _map,
    "flows": _flows,
    "matrix": _matrix,
}
