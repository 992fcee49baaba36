"""Quantiles that a session released: chosen on a declared grid by how many people they miss, with intervals that were paid for.

**Utility.** Values are counted at the first of m + 1 grid points at or above them. For the quantile q among n of them, a point x with b
values below it and a above it misses max(0, b - q n, a - (1 - q) n) people; some point misses none. One person more or less changes that
by max(q, 1 - q) at most, one person replaced by 1: n need not be known.

**Interval.** A choice among k candidates misses t = ln((k - 1) / alpha) / rate people or more with probability alpha at most
(``Selection.shortfall``). So the quantile t people further down is chosen as the lower limit, and t further up as the upper one. Each is
on its side of the true quantile with probability 1 - alpha / 2. To have something to choose when there are fewer than t people below,
as many made-up ones stand below the grid and above it; a limit that falls among them is the end of the grid.

References: Smith 2011 (the exponential mechanism for quantiles); Drechsler, Globus-Harris, McMillan, Sarathy, Smith 2022 (intervals).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.accounting.event import ADD_REMOVE
from deniable.central.release import Release
from deniable.central.selection import ExponentialMechanism, PermuteAndFlip, Selection
from deniable.client.budget import exact
from deniable.contract.source import Source
from deniable.core.interval import check_level
from deniable.core.number_chart import number_chart
from deniable.core.rounding import level_text
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart

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

    def selection(self, q: Fraction) -> Selection:
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
        raise ParameterError("q", q, allowed="a number, or a rising list of them", fix="as in [0.25, 0.5, 0.75]")
    return found


@dataclass(frozen=True, eq=False, repr=False)
class QuantileEstimate(Table):
    """Quantiles of a column on a grid, with limits at the level that was asked for: another level would be another question.

    ``release`` says what was asked, ``q`` at which shares, and ``biased`` how values count. ``missed`` says how many people the share
    below each value is off by, at most, at the same level.
    """

    release: Release
    q: tuple[float, ...]
    values: list[Any]
    low: list[Any]
    high: list[Any]
    missed: list[float]
    level: float
    n: int | None
    biased: str

    kind: ClassVar[str] = "quantiles"

    def quantile(self, q: float) -> Any:
        """The quantile at a share q, one of those that were asked for."""
        return self.values[self._place(q)]

    def interval(self, level: float | None = None) -> tuple[list[Any], list[Any]]:
        """Limits (low, high) for each quantile; each covers at least the level."""
        if level is not None and level != self.level:
            fix = "limits are chosen with noise of their own: ask for the level in the question"
            raise ParameterError("level", level, allowed=f"{self.level}, as asked", fix=fix)
        return self.low, self.high

    def _place(self, q: float) -> int:
        if q not in self.q:
            raise ParameterError("q", q, allowed=f"one of {list(self.q)}", fix="every quantile has its price: ask for it in the question")
        return self.q.index(q)

    def rows(self) -> dict[str, Any]:
        return {
            "value": [f"{100 * q:g} % at most" for q in self.q],
            "quantile": self.values,
            "low": self.low,
            "high": self.high,
            "missed": self.missed,
        }

    def headline(self) -> str:
        told = f"{self.release.headline()}; low, high and missed people: {level_text(self.level)}, noise only"
        return f"{told}\n{self.biased}"

    def order(self) -> Array:
        return np.arange(len(self.q))

    def chart(self) -> Chart:
        """The quantiles with their intervals."""
        names = [f"{100 * q:g} % at most" for q in self.q]
        return number_chart(names, self.values, self.low, self.high, title=self.release.headline(), level=self.level)
