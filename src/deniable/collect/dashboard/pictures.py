"""Charts as Vega-Lite. Plain data rather than Altair, whose checks would take the collector's time at every look; the tests do them.

Labels are data, never part of a formula. Every chart stands beside a table that says the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import floor, log10
from typing import Any

from deniable.collect.dashboard.figures import Row

STEP = 26
"""The height of a line, in pixels."""
COLORS = {
    "light": {"text": "#40464d", "grid": "#e4e7ea", "accent": "#2b66a8", "ink": "#16191d", "other": "#b9c0c7", "second": "#b4540a"},
    "dark": {"text": "#b6bec8", "grid": "#2f353c", "accent": "#6aa5e3", "ink": "#e8ebee", "other": "#525b65", "second": "#f0a35e"},
}
"""The same as in style.css, for pictures that no page styles."""
Spec = dict[str, Any]


def share_chart(rows: Sequence[Row]) -> Spec:
    """Shares as bars, their intervals as lines."""
    values = [{"value": row.label, "share": row.share, "low": row.low, "high": row.high} for row in rows]
    share = {"field": "share", "type": "quantitative", "title": "share of the people", "axis": {"format": "~%", "tickCount": 6}}
    layers = [_mark("bar", {"style": "accent", "height": {"band": 0.62}}, {"x": share})]
    layers += [_mark("rule", {"style": "ink"}, {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}})]
    return _across(values, layers, "Estimated shares with their intervals; the table says the same.")


def number_chart(ends: Sequence[Any], row: Mapping[str, Any]) -> Spec:
    """A mean as a point on the whole range, its interval as a line."""
    x = _axis("estimate", [row["estimate"], row["low"], row["high"], *ends]) | {"title": "on the range that was asked about"}
    line = {"x": {"field": "low", "type": x["type"]}, "x2": {"field": "high"}}
    point = _mark("point", {"style": "accent", "filled": True, "size": 70, "opacity": 1}, {"x": x})
    values = [{"value": row["value"]} | {name: _instant(row[name]) for name in ("estimate", "low", "high")}]
    return _across(values, [_mark("rule", {"style": "ink"}, line), point], "The mean with its interval; the table says the same.")


def curve_chart(curve: Sequence[Mapping[str, Any]]) -> Spec:
    """The share of people at or below each point, with its interval."""
    values = [dict(row) | {"value": _instant(row["value"])} for row in curve]
    x = _axis("value", [row["value"] for row in curve]) | {"title": None}
    share = {"type": "quantitative", "axis": {"format": "~%", "tickCount": 6}}
    layers = [_mark("area", {"style": "other", "opacity": 0.5}, {"x": x, "y": {"field": "low", **share}, "y2": {"field": "high"}})]
    layers += [_mark("line", {"style": "accent"}, {"x": x, "y": {"field": "cdf", "title": "share at or below", **share}})]
    return _chart(values, layers, "Shares of people at or below each point; the table says the same.") | {"height": 240}


def _axis(field: str, shown: Sequence[Any]) -> Spec:
    """Numbers or points in time, from the least to the largest; times are drawn as they are written, wherever the reader is."""
    least, most = min(shown), max(shown)
    if isinstance(least, datetime):
        ends = [1000 * end.replace(tzinfo=UTC).timestamp() for end in (least, most)]  # milliseconds, as Vega counts
        return {"field": field, "type": "temporal", "scale": {"type": "utc", "domain": ends}}
    return {"field": field, "type": "quantitative", "scale": {"domain": [least, most], "zero": False, "nice": True}}


def _instant(value: Any) -> Any:
    return f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z" if isinstance(value, datetime) else value


def change_chart(
    rows: Sequence[Mapping[str, Any]], labels: Sequence[str], *, title: str = "change of the share", form: str = "+~%"
) -> Spec:
    """Changes as points, their intervals as lines, and a line at no change."""
    values = [
        {"value": label, "change": row["change"], "low": row["low"], "high": row["high"]} for label, row in zip(labels, rows, strict=True)
    ]
    change = {"field": "change", "type": "quantitative", "title": title, "axis": {"format": form, "tickCount": 6}}
    layers = [_mark("rule", {"style": "ink"}, {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}})]
    layers += [_mark("point", {"style": "accent", "filled": True, "size": 70, "opacity": 1}, {"x": change})]
    layers += [
        {"data": {"values": [{}]}, "mark": {"type": "rule", "style": "second", "strokeDash": [4, 4]}, "encoding": {"x": {"datum": 0}}}
    ]
    return _across(values, layers, "Changes with their intervals; the table says the same.")


def error_chart(points: Sequence[Mapping[str, Any]], epsilon: float) -> Spec:
    """Standard errors of a share against epsilon: the best mechanism, the others, a shuffler, and a trusted collector."""
    axis = {"type": "log", "nice": False}
    ends = [floor(log10(end(point["error"] for point in points))) for end in (min, max)]
    tens = [10.0**power for power in range(ends[0], ends[1] + 1)]
    encoding = {
        "x": {"field": "epsilon", "type": "quantitative", "scale": axis, "title": "epsilon", "axis": {"values": [0.1, 0.3, 1, 3, 10]}},
        "y": {"field": "error", "type": "quantitative", "scale": axis, "title": "± share", "axis": {"format": "~%", "values": tens}},
        "detail": {"field": "name"},
    }
    layers: list[Spec] = [
        {"transform": [{"filter": {"field": "kind", "equal": kind}}], "mark": {"type": "line", **style}, "encoding": encoding}
        for kind, style in KINDS.items()
    ]
    here = {"x": {"datum": epsilon, "type": "quantitative"}}
    layers.append({"data": {"values": [{}]}, "mark": {"type": "rule", "style": "ink", "strokeDash": [4, 4]}, "encoding": here})
    description = "Standard error of a share against epsilon: each mechanism, a shuffler, a trusted collector; the page says the same."
    return _chart([dict(point) for point in points], layers, description) | {"height": 280}


KINDS: dict[str, Spec] = {
    "other": {"style": "other"},
    "best": {"style": "accent"},
    "shuffled": {"style": "second", "strokeDash": [5, 4]},
    "central": {"style": "second"},
}
"""What is drawn in the planner, and in which of the page's colors."""


def themed(spec: Spec, theme: str) -> Spec:
    """The chart for a picture that stands alone, light or dark, as wide as a page's column."""
    colors = COLORS[theme]
    style: Spec = {name: {"color": colors[name]} for name in ("accent", "ink", "other", "second")}
    style["second"]["strokeWidth"] = 2
    axis = {
        "labelColor": colors["text"],
        "titleColor": colors["text"],
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
    }
    axis |= {"gridColor": colors["grid"], "domainColor": colors["grid"], "tickColor": colors["grid"]}
    words = {"color": colors["ink"], "subtitleColor": colors["text"], "labelColor": colors["text"], "titleColor": colors["text"]}
    named = dict.fromkeys(("title", "legend", "header"), words)
    config = {"background": "transparent", "view": {"stroke": None}, "axis": axis, "style": style, **named}
    return spec | {"config": config} | ({"width": 720} if spec.get("width") == "container" else {})


def _across(values: list[dict[str, Any]], layers: list[Spec], description: str) -> Spec:
    lines = {"field": "value", "type": "nominal", "sort": [value["value"] for value in values], "title": None}
    layers = [
        layer if "data" in layer else layer | {"encoding": {"y": lines | {"axis": {"labelLimit": 150}}} | layer["encoding"]}
        for layer in layers
    ]
    return _chart(values, layers, description) | {"height": STEP * max(len(values), 1)}


def _chart(values: list[dict[str, Any]], layers: list[Spec], description: str) -> Spec:
    sizes = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    return {"description": description, "data": {"values": values}, "layer": layers} | sizes


def _mark(kind: str, how: Mapping[str, Any], encoding: Mapping[str, Any]) -> Spec:
    return {"mark": {"type": kind, **how}, "encoding": dict(encoding)}
