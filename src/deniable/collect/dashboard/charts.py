"""Charts of pages: as Vega-Lite, as figures that a script draws, and as pictures for pages without script.

Estimates declare their figures themselves (``core.figure``); the planner's lines are here. Labels are data, never part of a formula. Every
chart is next to a table that says the same. Vega brings a whole JavaScript engine: in the process that collects it would cost memory
permanently, and a crash of the engine would end the collector. So it runs in a process of its own, which ends afterwards. Nothing is
fetched: the libraries are part of the package, and charts contain their data.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from deniable.collect.dashboard.html import Element, element
from deniable.collect.kit.answers import Refusal
from deniable.collect.kit.log import note
from deniable.core.estimate import Estimate
from deniable.core.figure import Spec, themed
from deniable.core.vega import draw_all
from deniable.core.vega_axes import WIDTH
from deniable.errors import ParameterError

LARGEST = 1 << 20
"""Larger charts (in bytes) are left out: the table shows the same."""
PAGE = 720
"""The width of a page's column, for standalone pictures."""
WIDE: Spec = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
"""As wide as the column around it."""
PATIENCE = 60.0
MOST = 32
_BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
_CHART = (
    "import json, sys, vl_convert; spec = json.load(sys.stdin.buffer); "
    "sys.stdout.buffer.write(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode())"
)


def charts_for(estimate: Estimate, k: int) -> list[tuple[str, Spec]]:
    """Return the figures of an estimate with their captions; those that are too large are left out."""
    try:
        drawn = list(zip(estimate.figures(), draw_all(estimate, k), strict=True))
    except ParameterError:  # too large to draw
        return []
    found = []
    for figure, chart in drawn:
        told = f"{(figure.axis or figure.number).capitalize()}. {figure.legend.capitalize()}".rstrip()
        wide = figure.mark not in ("map", "flows", "matrix") and chart.get("width") == WIDTH
        spec = {"description": f"{told}; the table shows the same.", **chart, **(WIDE if wide else {})}
        if len(json.dumps(spec)) <= LARGEST:
            found.append((told, spec))
    return found


def alone(spec: Spec, theme: str) -> Spec:
    """Return the chart as a standalone picture, light or dark, as wide as a page's column."""
    return themed(spec, theme) | ({"width": PAGE} if spec.get("width") == WIDE["width"] else {})


def error_chart(points: Sequence[Mapping[str, Any]], epsilon: float) -> Spec:
    """Return the chart of standard errors against epsilon: the best mechanism, the others, a shuffler, and a trusted collector."""
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
    description = "Standard error of a share against epsilon: each mechanism, a shuffler, a trusted collector; the page shows the same."
    return {"description": description, "data": {"values": [dict(point) for point in points]}, "layer": layers, "height": 280} | WIDE


KINDS: dict[str, Spec] = {
    "other": {"style": "other"},
    "best": {"style": "accent"},
    "shuffled": {"style": "second", "strokeDash": [5, 4]},
    "central": {"style": "second"},
}
"""The planner's lines, and their colors."""


def chart_name(place: int, number: int = 0) -> str:
    """Return the name of a chart of the question at this place."""
    return f"chart-{place}-{number}" if number else f"chart-{place}"


def chart_figure(name: str, picture: str, caption: str) -> Element:
    """Return a chart that JavaScript draws; without JavaScript, its picture, light or dark."""
    join = "&" if "?" in picture else "?"
    alternative = "Chart; the table below shows the same."
    drawn = element(
        "picture",
        element("source", srcset=f"{picture}{join}theme=dark", media="(prefers-color-scheme: dark)"),
        element("img", src=picture, alt=alternative),
    )
    return element(
        "figure",
        element("div", data_chart=name, class_="chart", role="img", aria_label=alternative),
        element("noscript", drawn),
        element("figcaption", caption),
    )


class Drawing:
    """Draws one picture at a time, and caches the latest."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._bundle = b""
        self._charts: dict[bytes, bytes] = {}

    def bundle(self) -> bytes:
        """Return Vega, Vega-Lite and Vega-Embed as one gzipped script, made on the first request."""
        with self._turn:
            if not self._bundle:
                self._bundle = gzip.compress(_run(_BUNDLE, b""), 6, mtime=0)
            return self._bundle

    def svg(self, spec: dict[str, Any]) -> bytes:
        """Return a chart as an SVG."""
        content = json.dumps(spec).encode()
        key = hashlib.sha256(content).digest()
        with self._turn:
            if key not in self._charts:
                while len(self._charts) >= MOST:
                    del self._charts[next(iter(self._charts))]
                self._charts[key] = _run(_CHART, content)
            return self._charts[key]


def _run(code: str, content: bytes) -> bytes:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}  # a password may be in there
    try:
        done = subprocess.run(  # noqa: S603  # ourselves
            [sys.executable, "-I", "-c", code], input=content, capture_output=True, timeout=PATIENCE, env=environment, check=True
        )
    except (subprocess.SubprocessError, OSError) as error:
        note("a chart could not be drawn", level="warning", error=type(error).__name__)
        raise Refusal(503, "no_chart", "this chart cannot be drawn now; see the table next to it, or try again", retry=5) from error
    return done.stdout
