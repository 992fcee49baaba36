"""Quantiles that a session released: chosen on a declared grid by how many people they miss, with intervals that were paid for.

**Utility.** Values are counted at the first of m + 1 grid points at or above them. For the quantile q among n of them, a point x with b
values below it and a above it misses max(0, b - q n, a - (1 - q) n) people; some point misses none. One person more or less changes that
by max(q, 1 - q) at most, one person replaced by 1: n need not be known.

**Interval.** A choice among k candidates misses t = ln((k - 1) / alpha) / rate people or more with probability alpha at most
(``SelectionMechanism.shortfall``). So the quantile t people further down is chosen as the lower limit, and t further up as the upper one.
Each is on its side of the true quantile with probability 1 - alpha / 2. To have something to choose when there are fewer than t people
below, as many made-up ones stand below the grid and above it; a limit that falls among them is the end of the grid.

References: Smith 2011 (the exponential mechanism for quantiles); Drechsler, Globus-Harris, McMillan, Sarathy, Smith 2022 (intervals).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from deniable.accounting.event import ADD_REMOVE
from deniable.central.release import Release
from deniable.central.selection import ExponentialMechanism, PermuteAndFlip, SelectionMechanism
from deniable.client.budget import exact
from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.core.interval import Limits, check_level
from deniable.core.law import Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

CHOICES = 3
"""For each quantile: itself, and its two limits."""


@dataclass(frozen=True)
class Ranking:
    """Choices on a grid of ``points`` + 1 points, each at the price ``epsilon``."""

    epsilon: float
    points: int
    neighbors: str
    many: bool
    """Whether choices are priced by zCDP, where the exponential mechanism is the cheaper one."""

    def selection(self, q: Fraction) -> SelectionMechanism:
        """The mechanism for one quantile; utilities are in people."""
        kind = ExponentialMechanism if self.many else PermuteAndFlip
        return kind(epsilon=self.epsilon, sensitivity=max(q, 1 - q) if self.neighbors == ADD_REMOVE else 1, neighbors=self.neighbors)

    def missed(self, q: Fraction, level: float) -> float:
        """How many people a choice misses, at most, with this probability."""
        return self.selection(q).shortfall(self.points + 3, level)

    def choose(self, held: Array, q: Fraction, level: float, source: Source | None) -> list[int]:
        """The lower limit, the quantile and the upper limit, as places on the grid; ``held`` counts people by place."""
        selection = self.selection(q)
        shift = ceil(self.missed(q, 1 - (1 - level) / 2) + 1e-6)
        padded = np.concatenate([[shift], held, [shift]])
        found = []
        for toward in (-shift, 0, shift):
            rows, extra = (held, 0) if toward == 0 else (padded, shift)
            place = selection.choose(utilities(rows, q * int(held.sum()) + extra + toward), source)
            found.append(min(max(place - (toward != 0), 0), self.points))
        return found


def utilities(held: Array, rank: Fraction) -> list[Fraction]:
    """Minus the people that each place misses a rank by."""
    n = int(held.sum())
    upto = np.cumsum(held)
    below, above = (upto - held).tolist(), (n - upto).tolist()
    return [-max(Fraction(0), b - rank, a - (n - rank)) for b, a in zip(below, above, strict=True)]


def read_quantiles(q: Any) -> tuple[Fraction, ...]:
    """The quantiles that are asked for, rising."""
    several = list(q) if isinstance(q, list | tuple | np.ndarray) else [q]
    for each in several:
        check_level("q", each)
    found = tuple(exact(float(each)) for each in several)
    if not found or list(found) != sorted(set(found)):
        raise ParameterError("q", q, allowed="a number, or a rising list of them", fix="write [0.25, 0.5, 0.75]")
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class ChosenQuantiles(Law):
    """Quantiles on a grid whose limits were chosen with noise of their own, at one ``level``: another level would be another question.

    For a smaller error, as several statements together need it, all that is known is the grid, from end to end.
    """

    n: int | None
    numbers: Array
    low: Array
    high: Array
    missed: Array
    """How many people the share below each number is off by, at most, at the same level."""
    ends: tuple[float, float]
    level: float

    @property
    def point(self) -> Array:
        return self.numbers

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.full(len(self.numbers), np.nan)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        known = np.asarray(alpha) >= 1 - self.level
        return np.where(known, self.low, self.ends[0]), np.where(known, self.high, self.ends[1])

    def select(self, positions: Array) -> ChosenQuantiles:
        return replace(self, **{name: getattr(self, name)[positions] for name in ("numbers", "low", "high", "missed")})


def quantile_estimate(release: Release, q: Sequence[float], law: ChosenQuantiles, bias: str) -> Estimate:
    """Return the quantiles behind a release, at the shares q; ``bias`` says how values count."""
    return Estimate(
        spec=release,
        kind="quantiles",
        values=list(q),
        shown_as=[f"{100 * share:g} % at most" for share in q],
        law=law,
        about=release.headline(),
        guarantee=release.guarantee,
        quantity="quantile",
        title=release.ask,
        bias=bias,
        details={"missed": law.missed},
        remarks=("missed: by how many people the share below a value is off at most, at the same level",),
    )
