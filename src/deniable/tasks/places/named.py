"""Counts of named places and of the regions that hold them, from several groups of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.core.estimate import NumberEstimate, PeopleEstimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.core.normal import Normal
from deniable.kernels.compiled import Array
from deniable.tasks.places.cells import drawn
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.taxonomy import Taxonomy


@dataclass(frozen=True, eq=False)
class Groups(Law):
    """Counts of ``places`` in a row; each group reports on a range of them. Groups are different people: counts and variances add up."""

    places: int
    parts: tuple[tuple[int, Flat], ...]
    """What each group counted, and its first place."""
    at: Array | None = None
    """The places that the law is about; None for all."""

    @property
    def n(self) -> int:
        """How many people there are."""
        return sum(int(flat.n) for _, flat in self.parts)

    def _added(self, numbers: list[Array]) -> Array:
        total = np.zeros(self.places)
        for (start, _), part in zip(self.parts, numbers, strict=True):
            total[start : start + part.size] += part
        return total if self.at is None else total[self.at]

    @property
    def point(self) -> Array:
        return self._added([flat.counts for _, flat in self.parts])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self._added([flat.variances for _, flat in self.parts]) + (drawn(at, self.n) if population else 0.0))

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        return self.settled().limits(alpha, population=population)

    def settled(self) -> Normal:
        found, noise = self.point, self.variance(self.point)
        return Normal(self.n, found, noise, noise + drawn(found, self.n))

    def select(self, positions: Array) -> Groups:
        return replace(self, at=positions if self.at is None else self.at[positions])

    def linear(self, weights: Array) -> Normal:
        """Return the law of sums of all places, one for each row of weights."""
        found = np.zeros((len(weights), 2))
        for start, flat in self.parts:
            found += [flat.total(row[start : start + flat.measured.size]) for row in weights]
        value, noise = found.T
        return Normal(self.n, value, noise, noise + drawn(value, self.n))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NamedPlaces(PeopleEstimate):
    """Unbiased counts of all places of a ``taxonomy``, with errors.

    >>> town = Taxonomy(["north/hill", "north/mill", "south/lake"])
    >>> anywhere = (0, Flat(np.array([60.0, 30.0, 10.0]), np.full(3, 25.0), 100))
    >>> in_the_north = (0, Flat(np.array([7.0, 3.0]), np.ones(2), 10))
    >>> found = NamedPlaces.of(town, (anywhere, in_the_north), "an example", Guarantee(epsilon=1.0))
    >>> found.count("north")
    110 people at 3 places; an example; low and high: 95 %, noise only
    value  count  stderr  low  high
    north    100    4.08   92   108
    """

    taxonomy: Taxonomy
    law: Groups

    falling: bool = True

    @classmethod
    def of(cls, taxonomy: Taxonomy, parts: Sequence[tuple[int, Flat]], how: str, guarantee: Guarantee) -> Self:
        """The counts behind what each group counted, from its first place on, by a method that ``how`` names."""
        law = Groups(len(taxonomy.leaves), tuple(parts))
        about = f"{law.n:,} people at {len(taxonomy.leaves):,} places; {how}"
        return cls(taxonomy=taxonomy, values=list(taxonomy.leaves), law=law, about=about, guarantee=guarantee)

    def count(self, region: str) -> NumberEstimate:
        """Return the number of people in a region. Those who declared it, or a region inside it, are counted without error."""
        first, end = self.taxonomy.span(region)
        places = np.arange(self.law.places)
        law = self.law.linear(((places >= first) & (places < end)).astype(float)[None, :])
        return NumberEstimate(values=[region], law=law, about=self.about, guarantee=self.guarantee, quantity="count")

    def settled(self) -> Self:
        """This estimate as it is: regions need its law."""
        return self
