"""Maps: cells colored by how many people there are, with regions drawn on top. Nothing is fetched: there is no background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, radians
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from deniable.core.chart import Chart
from deniable.errors import ParameterError
from deniable.tasks.places.polygon import Polygon

if TYPE_CHECKING:
    from deniable.tasks.places.box import Box
    from deniable.tasks.places.estimate import PlacesEstimate
    from deniable.tasks.places.flows import Flows

WIDTH = 480
MOST_DRAWN = 20_000
"""The most cells of a map: more make a file that no browser opens."""


def map_chart(
    estimate: PlacesEstimate, *, regions: Mapping[str, Sequence[Polygon]] | None = None, significant: bool = False, title: str | None = None
) -> Chart:
    """Cells colored by people per area, so that large cells and small ones compare. Negative counts are drawn as none.

    With ``significant=True`` only cells are colored that are above zero by 95 % intervals that hold together.
    """
    if len(estimate.blocks) > MOST_DRAWN:
        raise ParameterError("estimate", f"{len(estimate.blocks):,} cells", allowed=f"at most {MOST_DRAWN:,}", fix="draw a coarser grid")
    box = estimate.grid.box
    low, _ = estimate.interval(0.95, simultaneous=True)
    shown = np.flatnonzero(low > 0) if significant else np.arange(len(estimate.blocks))
    whole = estimate.area.sum()
    records = [
        {
            **dict(zip(("west", "south", "east", "north"), estimate.bounds[place].tolist(), strict=True)),
            "count": float(estimate.counts[place]),
            "stderr": float(estimate.stderr[place]),
            "density": max(float(estimate.counts[place] / estimate.area[place] * whole / max(len(estimate.blocks), 1)), 0.0),
        }
        for place in shown
    ]
    color = alt.Color("density:Q", scale=alt.Scale(scheme="blues", type="sqrt"), title=["people in a cell", "of average size"])
    cells = (
        alt.Chart(alt.InlineData(values=records))
        .mark_rect(stroke="#ddd", strokeWidth=0.2)
        .encode(**_axes(box), x2="east:Q", y2="north:Q", color=color, tooltip=["count:Q", "stderr:Q"])
    )
    note = "cells above zero by 95 % intervals that hold together" if significant else f"standard error {np.median(estimate.stderr):,.3g}"
    return _framed([cells, *_outlines(regions, box)], box, title or estimate.headline(), note)


def flow_chart(flows: Flows, k: int) -> Chart:
    """The k most frequent moves from one cell to another, as lines that are thicker the more people move; staying is not drawn."""
    grid = flows.moves.grid
    start, way = np.divmod(np.arange(flows.moves.jump), flows.moves.ways)
    end = flows.moves.targets[start, way]
    share = np.where((end >= 0) & (end != start), flows.shares.ravel(), -np.inf)
    centers, records = grid.centers, []
    for place in np.argsort(-share, kind="stable")[:k]:
        if share[place] > 0:
            (west, south), (east, north) = centers[start[place]].tolist(), centers[end[place]].tolist()
            records.append({"west": west, "south": south, "east": east, "north": north, "share": float(share[place])})
    width = alt.Size("share:Q", scale=alt.Scale(range=[0.5, 8]), title="share of reports")
    lines = alt.Chart(alt.InlineData(values=records)).mark_rule(color="#4c78a8", opacity=0.7)
    told = f"the {k} most frequent moves; standard error of a share {np.median(flows.move.frequency_stderr):.2g}"
    return _framed([lines.encode(**_axes(grid.box), x2="east:Q", y2="north:Q", size=width)], grid.box, flows.headline(), told)


def _axes(box: Box) -> dict[str, Any]:
    names = ("x", "y") if box.plane else ("longitude", "latitude")
    limits = ((box.west, box.east), (box.south, box.north))
    fields = ("west:Q", "south:Q")
    return {
        axis: kind(field, title=name, scale=alt.Scale(domain=list(span), nice=False, zero=False))
        for axis, kind, field, name, span in zip(("x", "y"), (alt.X, alt.Y), fields, names, limits, strict=True)
    }


def _outlines(regions: Mapping[str, Sequence[Polygon]] | None, box: Box) -> list[Any]:
    records = [
        {"west": x, "south": y, "ring": f"{name} {part} {number}", "order": place}
        for name, parts in (regions or {}).items()
        for part, polygon in enumerate(parts)
        for number, ring in enumerate(polygon.rings)
        for place, (x, y) in enumerate(ring)
    ]
    if not records:
        return []
    lines = alt.Chart(alt.InlineData(values=records)).mark_line(color="#e45756", strokeWidth=1.5, clip=True)
    return [lines.encode(**_axes(box), detail="ring:N", order="order:Q")]


def _framed(layers: list[Any], box: Box, title: str, note: str) -> Chart:
    """A frame in proportion: a degree of longitude is narrower by the cosine of the latitude."""
    across = box.width * (1.0 if box.plane else max(cos(radians((box.south + box.north) / 2)), 0.1))
    height = int(min(max(WIDTH * box.height / across, 80), 2 * WIDTH))
    return Chart(alt.layer(*layers).properties(title=alt.Title(title, subtitle=note), width=WIDTH, height=height))
