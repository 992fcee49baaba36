"""Maps of people: counts of cells with errors, and counts of boxes and polygons from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.core.estimate import NumberEstimate, PeopleEstimate
from deniable.core.law import Law
from deniable.core.postprocess import norm_sub
from deniable.kernels.compiled import Array
from deniable.tasks.places.cells import Cells
from deniable.tasks.places.grid import Grid

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.tasks.places.polygon import Polygon, Region


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlacesEstimate(PeopleEstimate):
    """Counts of cells, which are blocks of a fine grid. They are unbiased, and add up to n where nobody is outside.

    Single counts may be negative. The law knows how errors of different cells go together. Values are the numbers of the cells: positions
    in ``blocks``.
    """

    grid: Grid
    blocks: Array
    """First column, first row, and the columns and rows after the last, for each cell."""
    law: Cells

    kind: str = "places"
    falling: bool = True

    @classmethod
    def of(cls, grid: Grid, blocks: Array, cells: Cells, how: str, guarantee: Guarantee) -> Self:
        """The map behind the counts of some blocks of a grid, found by a method that ``how`` names."""
        about = f"{cells.n:,} people in {len(blocks):,} cells; {how}"
        drawn = {"mark": "map", "number": "density", "axis": "people in a cell\nof average size", "interval": "", **grid.box.frame}
        told: dict[str, Any] = {"about": about, "guarantee": guarantee, "figure": drawn}
        return cls(grid=grid, blocks=blocks, values=list(range(len(blocks))), law=cells, **told)

    # --- what is asked of it ---

    def count(self, region: Region) -> NumberEstimate:
        """Return the number of people in a box or a polygon, or in several polygons that do not overlap.

        Cells that lie partly inside count in proportion to their area inside: people are assumed to be spread evenly over a cell. The
        error counts what that gets wrong on average over all places of the people in the cell. The interval does not rest on it: a region
        that goes through a cell holds between nobody and everybody there. Parts of the region outside of the box hold nobody that was
        counted.
        """
        weights = self.grid.covered(region, self.blocks)
        cut = (weights > 0) & (weights < 1)
        held = float(np.maximum(self._whole.point, 0.0)[cut].sum())
        edge = f"cells on its edge hold {held:,.0f} people, assumed to be spread evenly" if cut.any() else None
        return self._number("region", self._whole.linear(weights[None, :]), edge)

    @property
    def elsewhere(self) -> NumberEstimate | None:
        """The number of people outside of the box, if they were counted."""
        return self._number("elsewhere", self.law.elsewhere) if self.law.outside else None

    def nonnegative(self) -> Array:
        """Return the nearest non-negative counts with the same sum (norm-sub). They are biased: use them for maps, not for sums."""
        total = max(float(self.counts.sum()), 0.0)
        return norm_sub(self.counts, total) if total > 0 else np.zeros(len(self.values))

    def fine(self) -> Array:
        """Return the people in each cell of the fine grid, row by row, with larger cells spread evenly."""
        steps = np.zeros((self.grid.rows + 1, self.grid.columns + 1))
        west, south, east, north = self.blocks.T
        level = self._whole.point / ((east - west) * (north - south))
        for rows, columns, sign in ((south, west, 1), (south, east, -1), (north, west, -1), (north, east, 1)):
            np.add.at(steps, (rows, columns), sign * level)
        return np.asarray(steps.cumsum(axis=0).cumsum(axis=1)[: self.grid.rows, : self.grid.columns])

    def to_geojson(self) -> dict[str, Any]:
        """Return a FeatureCollection: every cell as a polygon, with its count, stderr, low, high and the density by area."""
        from deniable.tasks.places.geojson import cells_to_geojson

        return cells_to_geojson(self)

    def outlined(self, regions: Mapping[str, Sequence[Polygon]], *, title: str | None = None) -> Chart:
        """Return the map with some regions outlined on top, by name. The ``title`` is the headline, unless another is given."""
        from deniable.core.chart import Chart

        drawn = dict(self.chart(title=title).to_dict())
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

    def settled(self) -> Self:
        """This estimate as it is: regions need its law."""
        return self

    # --- how it is done ---

    @cached_property
    def _whole(self) -> Cells:
        """The law of all cells, also where only some are selected."""
        return self.law if self.law.at is None else replace(self.law, at=None)

    def _number(self, name: str, law: Law, bias: str | None = None) -> NumberEstimate:
        return NumberEstimate(values=[name], law=law, about=self.about, guarantee=self.guarantee, quantity="count", bias=bias)

    # --- what people see ---

    @cached_property
    def bounds(self) -> Array:
        """West, south, east and north of each cell."""
        return self.grid.block_bounds(self.blocks)[list(self.values)]

    @property
    def area(self) -> Array:
        """The area of each cell, in square units of the coordinates."""
        west, south, east, north = self.bounds.T
        return np.asarray((east - west) * (north - south))

    def further(self) -> dict[str, Any]:
        west, south, east, north = self.bounds.T
        average = self.grid.box.width * self.grid.box.height / max(len(self.blocks), 1)
        return {"west": west, "south": south, "east": east, "north": north, "density": self.counts / self.area * average}
