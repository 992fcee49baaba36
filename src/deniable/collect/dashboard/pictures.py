"""Charts of pages as Vega-Lite: estimates as they declare themselves (``core.figure``), and the planner's lines.

Labels are data, never part of a formula. Every chart stands beside a table that says the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from deniable.core.estimate import Estimate
from deniable.core.figure import Spec, themed
from deniable.core.vega import draw_all
from deniable.core.vega_axes import WIDTH
from deniable.errors import ParameterError

LARGEST = 1 << 20
"""A chart of more bytes is left out: the table says the same."""
PAGE = 720
"""How wide a page's column is, for pictures that stand alone."""
WIDE: Spec = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
"""As wide as the column that it stands in."""


def charts_for(estimate: Estimate, k: int) -> list[tuple[str, Spec]]:
    """The figures of an estimate, each with what it shows in words; those that are too large are left out."""
    try:
        drawn = list(zip(estimate.figures(), draw_all(estimate, k), strict=True))
    except ParameterError:  # too much to be drawn, it says
        return []
    found = []
    for figure, chart in drawn:
        told = f"{(figure.axis or figure.number).capitalize()}. {figure.legend.capitalize()}".rstrip()
        wide = figure.mark not in ("map", "flows", "matrix") and chart.get("width") == WIDTH
        spec = {"description": f"{told}; the table says the same.", **chart, **(WIDE if wide else {})}
        if len(json.dumps(spec)) <= LARGEST:
            found.append((told, spec))
    return found


def alone(spec: Spec, theme: str) -> Spec:
    """The chart for a picture that stands alone, light or dark, as wide as a page's column."""
    return themed(spec, theme) | ({"width": PAGE} if spec.get("width") == WIDE["width"] else {})


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
    return {"description": description, "data": {"values": [dict(point) for point in points]}, "layer": layers, "height": 280} | WIDE


KINDS: dict[str, Spec] = {
    "other": {"style": "other"},
    "best": {"style": "accent"},
    "shuffled": {"style": "second", "strokeDash": [5, 4]},
    "central": {"style": "second"},
}
"""What is drawn in the planner, and in which of the page's colors."""
