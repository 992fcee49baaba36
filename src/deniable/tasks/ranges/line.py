"""A line of cells with shares, and the law of their sums. ``tree`` and ``haar`` know how the shares err together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.core.postprocess import norm_sub
from deniable.kernels.compiled import Array
from deniable.tasks.enclosed import Enclosed

NORMAL_FROM = 50
"""How many people a level needs for its errors to be taken as normal; with fewer, Chebyshev's inequality holds whatever they are."""
_ROUNDING = 1e-12
_BLOCK = 256
"""How many queries are worked on at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Line(ABC):
    """The shares of the cells of a line; some may be negative. Any sum of them is unbiased if the cells were fixed before anyone was asked.

    Errors are of the people who reported: the mechanism's noise, and that each level was asked of some of them only. Those of a sample
    also cover that the people are one. Where cells hold more than one value, both count an uneven spread of people there as it is on
    average over all places of a range in the cell. Limits do not rest on that: see ``Enclosed``.
    """

    size: int
    """How many values the line has."""
    starts: Array
    """Where the cells begin; within a cell, people are assumed to be spread evenly."""
    shares: Array
    """The estimated share of each cell."""
    groups: tuple[int, ...]
    """How many people reported on each level."""
    grown: bool = False
    """True if earlier levels decided the later ones."""

    @abstractmethod
    def variances(self, queries: Array) -> Array:
        """Return the variance of sums of shares, one query for each column, if the people are a sample."""

    @property
    def n(self) -> int:
        """The number of people who reported."""
        return sum(self.groups)

    @property
    def normal(self) -> bool:
        """True if every level has enough people for normal errors."""
        return min(self.groups) >= NORMAL_FROM

    @cached_property
    def widths(self) -> Array:
        """How many values each cell holds."""
        return np.diff(np.append(self.starts, self.size))

    @property
    def frequencies(self) -> Array:
        """The estimated share of people at each value."""
        return np.repeat(self.shares / self.widths, self.widths)

    def below(self, ends: Any) -> Array:
        """Return how much of each cell lies below each end: a row for each."""
        inside = np.asarray(ends)[:, None] - self.starts[None, :]
        part: Array = np.clip(inside, 0, self.widths) / self.widths
        return part

    def errors(self, queries: Array, *, ranges: bool = True) -> Array:
        """Return standard errors of sums of shares, one query for each column: a row for the people who reported, and one for a sample.

        For ``ranges`` a query is the part of each cell that lies in one. They are infinite where nobody reported on a level.
        """
        if not all(self.groups):
            return np.full((2, queries.shape[1]), inf)
        found = np.concatenate([self.variances(queries[:, i : i + _BLOCK]) for i in range(0, queries.shape[1], _BLOCK)] or [np.zeros(0)])
        likely = norm_sub(self.shares, 1.0)
        drawing = (queries.T**2 @ likely - (queries.T @ likely) ** 2) / self.n  # the variance of what is asked about, among people
        within = self._lumps @ (queries * (1 - queries)) if ranges else 0.0
        return np.stack([np.sqrt(np.maximum(variance, 0.0) + within) for variance in (found - drawing, found)])

    @cached_property
    def _lumps(self) -> Array:
        """The expected square of the share of each cell that has more than one value; 0 for the others.

        Nobody knows how people are spread within such a cell. The error that counts is the one if they all were at one of its values.
        """
        wide = np.flatnonzero(self.widths > 1)
        squares = np.zeros(self.widths.size)
        if wide.size:
            squares[wide] = self.variances(np.eye(self.widths.size)[:, wide]) + norm_sub(self.shares, 1.0)[wide] ** 2
        return squares

    def linear(self, weights: Array) -> Enclosed:
        """Return the law of sums of shares, one for each row of weights: the part of each cell that counts."""
        queries = np.ascontiguousarray(weights.T)
        numbers, errors = queries.T @ self.shares, self.errors(queries)
        numbers = np.where(np.abs(numbers - 1.0) < _ROUNDING, 1.0, numbers)  # everybody is in the whole line: no sum changes by rounding
        inner, outer, inner_errors, outer_errors = numbers.copy(), numbers.copy(), errors.copy(), errors.copy()
        parts = np.flatnonzero(((queries > 0) & (queries < 1)).any(axis=0))
        if parts.size and self.n:
            within, touched = np.floor(queries[:, parts]), np.ceil(queries[:, parts])
            inner[parts], outer[parts] = within.T @ self.shares, touched.T @ self.shares
            inner_errors[:, parts], outer_errors[:, parts] = self.errors(within), self.errors(touched)
        sides: dict[str, Any] = {"inner": inner, "inner_errors": inner_errors, "outer": outer, "outer_errors": outer_errors}
        return Enclosed(n=self.n, numbers=numbers, errors=errors, normal=self.normal, grown=self.grown, shares=True, **sides)


@dataclass(frozen=True, eq=False)
class Along(Law):
    """The shares of people below some ``ends`` of a ``line``: after its first value, its second, and so on."""

    line: Line
    ends: Array

    @property
    def n(self) -> int:
        """The number of people who reported."""
        return self.line.n

    @property
    def point(self) -> Array:
        return np.clip(self.sums, 0.0, 1.0)

    @property
    def sums(self) -> Array:
        """The unbiased sums, which may be below 0 or above 1."""
        return np.asarray(np.cumsum(self.line.frequencies)[self.ends - 1])

    @cached_property
    def enclosed(self) -> Enclosed:
        """The sums with their errors."""
        return self.line.linear(self.line.below(self.ends))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return self.enclosed.variance(at, population=population)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        return self.enclosed.limits(alpha, population=population)

    def around(self, found: Array, alpha: Any, *, population: bool = False) -> Limits:
        """Return the limits with other sums in the place of the unbiased ones."""
        law, moved = self.enclosed, found - self.enclosed.numbers
        shifted = replace(law, numbers=found, inner=law.inner + moved, outer=law.outer + moved)
        return shifted.limits(alpha, population=population)

    def select(self, positions: Array) -> Along:
        return Along(self.line, self.ends[positions])

    def settled(self) -> Enclosed:
        return self.enclosed
