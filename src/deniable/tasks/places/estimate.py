"""How many people are where: counts of cells with errors, and counts of boxes and polygons from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.contract.guarantee import Guarantee
from deniable.core.interval import Limits, check_level
from deniable.core.postprocess import norm_sub
from deniable.core.table import Table
from deniable.kernels.compiled import Array
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.grid import Grid
from deniable.tasks.places.joint import Joint
from deniable.tasks.ranges.tree_estimate import GROWN

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.tasks.places.polygon import Polygon, Region


NORMAL_FROM = 100
"""How many people a group needs for its errors to be taken as normal; with fewer, Chebyshev's inequality holds whatever they are."""


@dataclass(frozen=True)
class Reach:
    """How many standard errors an interval goes to each side.

    Where cells have ``grown``, earlier reports decided which cells there are: a square's own count decides whether it is split, and with
    that its weight next to what its parts say. So intervals are longer, as in ``TreeEstimate.reach``.

    >>> round(Reach()(0.95), 2), round(Reach(grown=True)(0.95), 2), round(Reach(fewest=99)(0.95), 2)
    (1.96, 2.08, 4.47)
    """

    grown: bool = False
    fewest: int = NORMAL_FROM
    """How many people the smallest group has."""

    def __call__(self, level: float, values: int = 1) -> float:
        """For so many ``values`` at once."""
        check_level("level", level)
        alpha = (1 - level) / max(values, 1)
        normal = float(stats.norm.isf(alpha / 2)) if self.fewest >= NORMAL_FROM else alpha**-0.5
        return normal * (GROWN if self.grown else 1.0)


@dataclass(frozen=True)
class RegionCount:
    """The number of people in a region, with its standard error.

    ``cut`` is how many people are in cells that lie partly inside, by the same estimate. The count takes them to be spread evenly over each
    cell. ``stderr`` counts what that gets wrong on average over all places of the people in the cell. Intervals hold wherever they are: a
    region that goes through a cell holds between nobody and everybody there.

    >>> found = RegionCount(420.0, 30.0, cut=100.0, inner=(370.0, 11.0), outer=(470.0, 13.0))
    >>> found, [round(limit, 1) for limit in found.interval(0.95)]
    (420 +- 30 people; cells on its edge hold 100, taken to be spread evenly, [348.4, 495.5])
    """

    count: float
    stderr: float
    cut: float = 0.0
    inner: tuple[float, float] | None = None
    """Count and standard error of the cells that lie inside as a whole; None where no cell lies partly inside."""
    outer: tuple[float, float] | None = None
    """The same for all cells that the region touches."""
    reach: Reach = Reach()
    """How many standard errors intervals go to each side."""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high) for the count, by the normal law, however people are spread within cells."""
        z = self.reach(level)
        low, high = self.count - z * self.stderr, self.count + z * self.stderr
        if self.inner and self.outer:
            low = min(low, min(self.count, self.inner[0]) - z * self.inner[1])
            high = max(high, max(self.count, self.outer[0]) + z * self.outer[1])
        return low, high

    def __repr__(self) -> str:
        error = f"{self.stderr:,.0f}" if self.stderr >= 100 else f"{self.stderr:.3g}"
        told = f"{self.count:,.0f} +- {error} people"
        even = f"; cells on its edge hold {self.cut:,.0f}, taken to be spread evenly" if self.inner else ""
        return told + even


@dataclass(frozen=True, eq=False, repr=False)
class PlacesEstimate(Table):
    """Counts of cells, which are blocks of a fine grid. They are unbiased, and add up to n where nobody is outside.

    Single counts may be negative. How errors of different cells go together, ``tree`` knows. ``outside``
    is the position of the leaf that stands for everywhere else, if there is one: it is the last.
    """

    grid: Grid
    blocks: Array
    """First column, first row, and the columns and rows after the last, for each cell."""
    tree: Joint | Flat
    n: int
    how: str
    guarantee: Guarantee
    """What a person's report costs."""
    outside: bool = False
    reach: Reach = Reach()
    """How many standard errors intervals go to each side."""

    @cached_property
    def counts(self) -> Array:
        """The estimated number of people in each cell."""
        return np.asarray(self.tree.counts[self.tree.leaves][: len(self.blocks)])

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each count."""
        return np.asarray(np.sqrt(self.tree.variances[self.tree.leaves][: len(self.blocks)]))

    @property
    def frequencies(self) -> Array:
        """The counts as shares of all people."""
        return self.counts / max(self.n, 1)

    @property
    def elsewhere(self) -> RegionCount | None:
        """The people outside of the box, if they were counted."""
        if not self.outside:
            return None
        place = self.tree.leaves[-1]
        return RegionCount(float(self.tree.counts[place]), float(self.tree.variances[place] ** 0.5), reach=self.reach)

    @cached_property
    def bounds(self) -> Array:
        """West, south, east and north of each cell."""
        return self.grid.block_bounds(self.blocks)

    @property
    def area(self) -> Array:
        """The area of each cell, in square units of the coordinates."""
        west, south, east, north = self.bounds.T
        return np.asarray((east - west) * (north - south))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each cell, by the normal law; ``simultaneous=True`` makes all hold at once (Bonferroni)."""
        away = self.reach(level, len(self.blocks) if simultaneous else 1) * self.stderr
        return self.counts - away, self.counts + away

    def count(self, region: Region) -> RegionCount:
        """The number of people in a box or a polygon, or in several polygons that do not overlap.

        Cells that lie partly inside count in proportion to their area inside: people are taken to be spread evenly over a cell. The
        interval does not rest on that. Parts of the region outside of the box hold nobody that was counted.
        """
        weights = self.grid.covered(region, self.blocks)
        value, variance = self._total(weights)
        cut = (weights > 0) & (weights < 1)
        if not cut.any():
            return RegionCount(value, variance**0.5, reach=self.reach)
        held, some = np.maximum(self.counts, 0.0)[cut], weights[cut]
        uneven = float((some * (1 - some)) @ (held**2 + self.stderr[cut] ** 2))  # if all people of a cell were at one place of it
        inner, outer = ((found, noise**0.5) for found, noise in (self._total(np.floor(weights)), self._total(np.ceil(weights))))
        return RegionCount(value, (variance + uneven) ** 0.5, float(held.sum()), inner, outer, self.reach)

    def _total(self, weights: Array) -> tuple[float, float]:
        """The weighted sum of all cells, and its variance."""
        return self.tree.total(np.append(weights, 0.0) if self.outside else weights)

    def nonnegative(self) -> Array:
        """The nearest counts that are not negative and add up as before (norm-sub). Biased: for maps, not for sums."""
        total = max(float(self.counts.sum()), 0.0)
        return norm_sub(self.counts, total) if total > 0 else np.zeros(len(self.blocks))

    def fine(self) -> Array:
        """The people in each cell of the fine grid, those of larger cells spread evenly: one row of cells after the other."""
        steps = np.zeros((self.grid.rows + 1, self.grid.columns + 1))
        west, south, east, north = self.blocks.T
        level = self.counts / ((east - west) * (north - south))
        for rows, columns, sign in ((south, west, 1), (south, east, -1), (north, west, -1), (north, east, 1)):
            np.add.at(steps, (rows, columns), sign * level)
        return np.asarray(steps.cumsum(axis=0).cumsum(axis=1)[: self.grid.rows, : self.grid.columns])

    def chart(
        self, *, regions: Mapping[str, Sequence[Polygon]] | None = None, significant: bool = False, title: str | None = None
    ) -> Chart:
        """A map: cells colored by people per area, so that large cells and small ones compare. Negative counts are drawn as none.

        ``regions`` are outlined on top, by name. With ``significant=True`` only cells are colored that are above zero by 95 % intervals
        that hold together. The ``title`` is the headline, unless another is given.
        """
        from deniable.tasks.places.chart import map_chart

        return map_chart(self, regions=regions, significant=significant, title=title)

    def to_geojson(self) -> dict[str, Any]:
        """A FeatureCollection: every cell as a polygon, with its count, stderr, low, high and the density by area."""
        from deniable.tasks.places.geojson import cells_to_geojson

        return cells_to_geojson(self)

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        west, south, east, north = self.bounds.T
        counts = {"count": self.counts, "stderr": self.stderr, "low": low, "high": high}
        return {"value": list(range(len(self.blocks))), **counts, "west": west, "south": south, "east": east, "north": north}

    def headline(self) -> str:
        return f"{self.n:,} people in {len(self.blocks):,} cells; {self.how}; low and high: 95 %, noise only"

    def order(self) -> Array:
        return np.argsort(-self.counts, kind="stable")
