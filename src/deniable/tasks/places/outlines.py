"""Regions drawn on a map of cells. Nothing is fetched: there is no background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deniable.core.chart import Chart
from deniable.tasks.places.polygon import Polygon

if TYPE_CHECKING:
    from deniable.tasks.places.estimate import PlacesEstimate


def outlined(estimate: PlacesEstimate, regions: Mapping[str, Sequence[Polygon]], title: str | None) -> Chart:
    """The map of an estimate, with the rings of some polygons on top."""
    drawn = dict(estimate.chart(title=title).to_dict())
    records = [
        {"west": x, "south": y, "ring": f"{name} {part} {number}", "order": place}
        for name, parts in regions.items()
        for part, polygon in enumerate(parts)
        for number, ring in enumerate(polygon.rings)
        for place, (x, y) in enumerate(ring)
    ]
    axes = {axis: drawn["encoding"][axis] for axis in ("x", "y")}
    lines = {
        "data": {"values": records},
        "mark": {"type": "line", "style": "second", "strokeWidth": 1.5, "clip": True},
        "encoding": {**axes, "detail": {"field": "ring", "type": "nominal"}, "order": {"field": "order", "type": "quantitative"}},
    }
    cells = {name: drawn.pop(name) for name in ("data", "mark", "encoding")}
    return Chart({**drawn, "layer": [cells, lines]})
