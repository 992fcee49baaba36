"""Sums of shares along a line, and their errors: what all estimates of ranges rest on."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from deniable.contract.domain import Domain
from deniable.core.interval import Limits, check_level
from deniable.core.postprocess import norm_sub
from deniable.core.table import Table
from deniable.kernels.compiled import Array

NORMAL_FROM = 50
"""How many people a level needs for its errors to be taken as normal; with fewer, Chebyshev's inequality holds whatever they are."""
_BLOCK = 256
"""How many queries are worked on at a time."""


class Margins(NamedTuple):
    """By how much sums may be off, whatever the level: standard errors have a row for the crowd that reported, and one for a sample."""

    errors: Array
    """Of an even spread within cells."""
    less: Array
    """What was found in parts of cells, which may be nobody's."""
    more: Array
    """What was found in the rest of these cells."""
    inner: Array
    """The errors without those cells."""
    outer: Array
    """The errors with all of them."""


@dataclass(frozen=True, eq=False, repr=False)
class LineShares(Table):
    """The shares of the cells of a line; some may be negative. Any sum of them is unbiased if the cells were fixed before anyone was asked.

    Errors are of the crowd that reported: the mechanism's noise, and that each level was told by some of the people only. Those of a
    sample also cover that the crowd is one. Where cells hold more than one value, both count people's being spread unevenly there as it
    is on average over all places of a range in the cell. Intervals do not rest on that: see ``limits``.
    """

    domain: Domain
    epsilon: float
    how: str
    """The method, in a word or two."""
    starts: Array
    """Where the cells begin whose shares were estimated; within a cell, people are taken to be spread evenly."""
    shares: Array
    """The estimated share of each cell."""
    groups: tuple[int, ...]
    """How many people told each level."""

    @abstractmethod
    def variances(self, queries: Array) -> Array:
        """The variance of sums of shares, one query for each column, if the crowd is a sample."""

    @property
    def n(self) -> int:
        """How many people reported."""
        return sum(self.groups)

    @cached_property
    def widths(self) -> Array:
        """How many values each cell holds."""
        return np.diff(np.append(self.starts, self.domain.size))

    @property
    def frequencies(self) -> Array:
        """The estimated share of people at each value."""
        return np.repeat(self.shares / self.widths, self.widths)

    @property
    def counts(self) -> Array:
        """The estimated number of people at each value."""
        return self.n * self.frequencies

    def errors(self, queries: Array, *, ranges: bool = True) -> tuple[Array, Array]:
        """Standard errors of sums of shares, one query for each column: of the crowd that reported, and if it is a sample.

        For ``ranges`` a query is the part of each cell that lies in one. They are infinite where a level was told by nobody.
        """
        if not all(self.groups):
            return (np.full(queries.shape[1], inf),) * 2
        found = np.concatenate([self.variances(queries[:, i : i + _BLOCK]) for i in range(0, queries.shape[1], _BLOCK)] or [np.zeros(0)])
        likely = norm_sub(self.shares, 1.0)
        drawing = (queries.T**2 @ likely - (queries.T @ likely) ** 2) / self.n  # the variance of what is asked about, among people
        within = self._lumps @ (queries * (1 - queries)) if ranges else 0.0
        noise, drawn = (np.sqrt(np.maximum(variance, 0.0) + within) for variance in (found - drawing, found))
        return noise, drawn

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

    def margins(self, queries: Array) -> Margins:
        """What limits for the parts of cells that lie in ranges are made of, one query for each column."""
        errors = np.stack(self.errors(queries))
        less, more, inner, outer = *np.zeros((2, queries.shape[1])), errors.copy(), errors.copy()
        parts = np.flatnonzero(((queries > 0) & (queries < 1)).any(axis=0))
        if parts.size and self.n:
            some = queries[:, parts]
            within, touched = np.floor(some), np.ceil(some)
            less[parts], more[parts] = (np.maximum(self._sums(rest), 0.0) for rest in (some - within, touched - some))
            inner[:, parts], outer[:, parts] = np.stack(self.errors(within)), np.stack(self.errors(touched))
        return Margins(errors, less, more, inner, outer)

    def limits(self, found: Array, margins: Margins, level: float, *, population: bool = False) -> Limits:
        """Limits (low, high) for what was found in ranges, with the ``margins`` of these, however people are spread in a cell.

        A range that goes through a cell holds between nobody and everybody there. So the lower limit is that of the cells which lie in it
        as a whole, the upper one that of all cells which it touches, and the interval of the even spread is in between.
        """
        reach, kind = self.reach(level), int(population)
        even = reach * margins.errors[kind]
        low = np.minimum(found - even, found - margins.less - reach * margins.inner[kind])
        return low, np.maximum(found + even, found + margins.more + reach * margins.outer[kind])

    def reach(self, level: float) -> float:
        """How many standard errors an interval goes to each side."""
        check_level("level", level)
        return float(stats.norm.isf((1 - level) / 2)) if min(self.groups) >= NORMAL_FROM else (1 - level) ** -0.5

    def _below(self, ends: Any) -> Array:
        """How much of each cell lies below each end: queries, one in each column."""
        inside = np.asarray(ends)[None, :] - self.starts[:, None]
        part: Array = np.clip(inside, 0, self.widths[:, None]) / self.widths[:, None]
        return part

    def _sums(self, queries: Array) -> Array:
        return np.asarray(queries.T @ self.shares)
