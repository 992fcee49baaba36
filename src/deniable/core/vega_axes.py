"""Data and axes of charts, as Vega-Lite reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from math import cos, isfinite, radians
from numbers import Real
from typing import Any

from deniable.core.figure import Figure, Spec

Rows = Mapping[str, Sequence[Any]]
WIDTH = 480


def records_of(rows: Rows, figure: Figure) -> list[dict[str, Any]]:
    """The columns as Vega-Lite reads them; a label is text, but along a curve. Rows whose number is unknown are left out."""
    along, text = figure.mark in ("curve", "steps"), {figure.label, figure.group}
    others = ("west", "south", "east", "north", "count", "stderr") if figure.mark in ("map", "flows") else ("low", "high", "truth")
    names = [name for name in dict.fromkeys([figure.label, figure.group, figure.number, *others]) if name in rows]
    words = text - {figure.label} if along else text
    columns = [[label_text(each) if name in words else datum(each) for each in rows[name]] for name in names]
    records = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return [each for each in records if each[figure.number] is not None]


def label_text(value: Any) -> str:
    """Return a label as text that is safe to draw."""
    if isinstance(value, tuple):
        return ", ".join(map(label_text, value))
    text = str(value)
    return text if text.isprintable() else repr(text)  # a control character would end the process: SVG cannot hold it


def datum(value: Any) -> Any:
    """Return a value as Vega-Lite reads it; None where it is unknown."""
    if isinstance(value, datetime):  # drawn as it is written, wherever the reader is
        return f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, Real):
        return value if isinstance(value, str | bool) or value is None else str(value)
    return (int(value) if isinstance(value, int) else float(value)) if isfinite(value) else None


def number_axis(field: str, rows: Rows, figure: Figure, *, zero: bool) -> Spec:
    """The axis of the number: quantities, or points in time, from one end to the other, and beyond where a limit is."""
    title, numbers = figure.axis or figure.number, rows[field]
    shown = [each for name in (field, "low", "high") for each in rows.get(name, ()) if datum(each) is not None]
    domain = [] if figure.ends is None else [end([*shown, *figure.ends]) for end in (min, max)]
    if any(isinstance(each, datetime) for each in numbers):
        ends = {"domain": [1000 * end.replace(tzinfo=UTC).timestamp() for end in domain]} if domain else {}  # milliseconds, as Vega counts
        return {"field": field, "type": "temporal", "title": title, "scale": {"type": "utc", **ends}}
    if any(isinstance(each, timedelta) for each in numbers):
        title += ", seconds"
    scale: Spec = {} if zero else {"type": "log", "nice": False} if figure.log else {"zero": False, "nice": True}
    if domain:
        scale |= {"domain": [datum(end) for end in domain], "nice": True}
    form = {"axis": {"format": "~%", "tickCount": 6}} if figure.percent else {}
    return {"field": field, "type": "quantitative", "title": title, **({"scale": scale} if scale else {}), **form}


def label_axis(rows: Rows, figure: Figure) -> Spec:
    """The axis that a curve runs along: quantities, points in time, or labels in their order."""
    labels = rows[figure.label]
    if any(isinstance(each, datetime | date) for each in labels):
        return {"field": figure.label, "type": "temporal", "title": None, "scale": {"type": "utc"}}
    if all(isinstance(each, Real) for each in labels):
        whole = {"axis": {"tickMinStep": 1}} if all(isinstance(each, int) for each in labels) else {}
        title = None if figure.label == "value" else figure.label.replace("_", " ")
        scale = {"type": "log", "nice": False} if figure.log else {"zero": False, "nice": False}
        return {"field": figure.label, "type": "quantitative", "title": title, "scale": scale, **whole}
    return {"field": figure.label, "type": "ordinal", "title": None, "sort": None}


def map_axes(figure: Figure) -> Spec:
    """Return the axes of a map."""
    west, south, east, north = figure.ends or (0.0, 0.0, 1.0, 1.0)
    names = ("x", "y") if figure.plane else ("longitude", "latitude")
    spans = (("x", "west", (west, east)), ("y", "south", (south, north)))
    axes: Spec = {
        axis: {"field": field, "type": "quantitative", "title": name, "scale": {"domain": list(span), "nice": False, "zero": False}}
        for (axis, field, span), name in zip(spans, names, strict=True)
    }
    return {**axes, "x2": {"field": "east"}, "y2": {"field": "north"}}


def map_frame(figure: Figure) -> Spec:
    """A frame in proportion: a degree of longitude is narrower by the cosine of the latitude."""
    west, south, east, north = figure.ends or (0.0, 0.0, 1.0, 1.0)
    across = (east - west) * (1.0 if figure.plane else max(cos(radians((south + north) / 2)), 0.1))
    return {"width": WIDTH, "height": int(min(max(WIDTH * (north - south) / across, 80), 2 * WIDTH))}
