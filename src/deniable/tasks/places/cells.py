"""The law of the cells of a map: their counts, and how they err together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.kernels.compiled import Array
from deniable.tasks.enclosed import Enclosed
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.joint import Joint

NORMAL_FROM = 100
"""How many people a group needs for its errors to be taken as normal; with fewer, Chebyshev's inequality holds whatever they are."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(Law):
    """Counts of the leaves of a tree, or of cells without one.

    Where cells have ``grown``, earlier reports decided which cells there are: a square's own count decides whether it is split, and with
    that its weight next to what its parts report. So intervals are longer (``GROWN``).
    """

    n: int
    tree: Joint | Flat
    """All nodes, made to add up."""
    fewest: int
    """How many people the smallest group has."""
    outside: bool = False
    """Whether the last leaf stands for everywhere else; it is no cell."""
    grown: bool = False
    at: Array | None = None
    """The cells that the law is about; None for all."""

    @cached_property
    def _leaves(self) -> Array:
        """The positions of the cells among the nodes."""
        return self.tree.leaves[:-1] if self.outside else self.tree.leaves

    @property
    def _chosen(self) -> Array:
        return self._leaves if self.at is None else self._leaves[self.at]

    @property
    def point(self) -> Array:
        return np.asarray(self.tree.counts[self._chosen])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self.tree.variances[self._chosen] + (drawn(at, self.n) if population else 0.0))

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        return self.settled().limits(alpha, population=population)

    def settled(self) -> Enclosed:
        return self._whole(self.point, self.variance(self.point))

    def select(self, positions: Array) -> Cells:
        return replace(self, at=positions if self.at is None else self.at[positions])

    def linear(self, weights: Array) -> Enclosed:
        """Return the law of sums of all cells, one for each row of weights: the part of each cell that lies inside of a region."""
        value, variance = self._totals(weights)
        counts, variances = self.tree.counts[self._leaves], self.tree.variances[self._leaves]
        parts = weights * (1 - weights)  # above 0 on the edge only
        uneven = parts @ (np.maximum(counts, 0.0) ** 2 + variances)  # if all people of a cell were at one place of it
        (inner, within), (outer, touched) = self._totals(np.floor(weights)), self._totals(np.ceil(weights))
        sides = {name: _errors(number, noise, self.n) for name, number, noise in (("inner", inner, within), ("outer", outer, touched))}
        return replace(
            self._whole(value, variance + uneven),
            inner=inner,
            inner_errors=sides["inner"],
            outer=outer,
            outer_errors=sides["outer"],
        )

    @property
    def elsewhere(self) -> Enclosed:
        """The law of the count of everywhere else."""
        last = self.tree.leaves[-1:]
        return self._whole(self.tree.counts[last], self.tree.variances[last])

    def _totals(self, weights: Array) -> tuple[Array, Array]:
        """The weighted sums of all cells, and their variances."""
        rows = np.hstack([weights, np.zeros((len(weights), int(self.outside)))])
        found = np.array([self.tree.total(row) for row in rows]).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _whole(self, numbers: Array, noise: Array) -> Enclosed:
        """Sums of whole cells."""
        errors = _errors(numbers, noise, self.n)
        sides: dict[str, Any] = {"inner": numbers, "inner_errors": errors, "outer": numbers, "outer_errors": errors}
        return Enclosed(n=self.n, numbers=numbers, errors=errors, normal=self.fewest >= NORMAL_FROM, grown=self.grown, **sides)


def drawn(counts: Array, n: int) -> Array:
    """Return the variance of counts among n people through drawing these at random."""
    held = np.clip(counts, 0.0, n)
    return np.asarray(held * (1 - held / max(n, 1)))


def _errors(numbers: Array, noise: Array, n: int) -> Array:
    return np.asarray(np.sqrt(np.stack([noise, noise + drawn(numbers, n)])))
