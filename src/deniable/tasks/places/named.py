"""Counts of named places and of the regions that hold them, from several groups of people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.kernels.compiled import Array
from deniable.tasks.places.estimate import RegionCount
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.taxonomy import Taxonomy

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@dataclass(frozen=True, eq=False)
class Part:
    """What one group says: counts of the places from ``start`` on, which add up to its n people."""

    start: int
    counted: Flat
    n: int


@dataclass(frozen=True, eq=False, repr=False)
class NamedPlaces(Table):
    """Unbiased counts of all places, with errors; groups are different people, so counts and variances add up.

    >>> town = Taxonomy(["north/hill", "north/mill", "south/lake"])
    >>> anywhere = Part(0, Flat(np.array([60.0, 30.0, 10.0]), np.full(3, 25.0), 100), 100)
    >>> in_the_north = Part(0, Flat(np.array([7.0, 3.0]), np.ones(2), 10), 10)
    >>> found = NamedPlaces(town, (anywhere, in_the_north), "an example")
    >>> found.count("north"), found.count("everywhere")
    (100 +- 4.08 people, 110 +- 0 people)
    """

    taxonomy: Taxonomy
    """The places and their regions."""
    parts: tuple[Part, ...]
    """What each group says."""
    how: str
    """The method, in a few words."""

    @property
    def n(self) -> int:
        """How many people there are."""
        return sum(part.n for part in self.parts)

    @cached_property
    def counts(self) -> Array:
        """The estimated number of people at each place."""
        return self._added([part.counted.counts for part in self.parts])

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each count."""
        return np.asarray(np.sqrt(self._added([part.counted.variances for part in self.parts])))

    def _added(self, numbers: list[Array]) -> Array:
        total = np.zeros(len(self.taxonomy.leaves))
        for part, of_nodes in zip(self.parts, numbers, strict=True):
            leaves = of_nodes[part.counted.leaves]
            total[part.start : part.start + leaves.size] += leaves
        return total

    def count(self, region: str) -> RegionCount:
        """The number of people in a region. Those who declared it, or a region inside it, are counted without error."""
        first, end = self.taxonomy.span(region)
        value = variance = 0.0
        for part in self.parts:
            places = np.arange(part.start, part.start + part.counted.leaves.size)
            told, noise = part.counted.total(((places >= first) & (places < end)).astype(float))
            value, variance = value + told, variance + noise
        return RegionCount(value, variance**0.5)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each place, by the normal law; ``simultaneous=True`` makes all hold at once (Bonferroni)."""
        check_level("level", level)
        reach = stats.norm.isf((1 - level) / (2 * (len(self.counts) if simultaneous else 1))) * self.stderr
        return self.counts - reach, self.counts + reach

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": list(self.taxonomy.leaves), "count": self.counts, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        return f"{self.n:,} people at {len(self.taxonomy.leaves):,} places; {self.how}; low and high: 95 %, noise only"

    def order(self) -> Array:
        return np.argsort(-self.counts, kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k largest counts with their 95 % intervals."""
        from deniable.core.chart import bar_chart

        shown, together = self.order()[:k], k < len(self.counts)
        low, high = self.interval(simultaneous=together)
        values = [self.taxonomy.leaves[place] for place in shown]
        return bar_chart(values, self.counts[shown], low[shown], high[shown], title=self.headline(), together=together)
