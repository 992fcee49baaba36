"""The law of sums over cells, some of them partly inside: ranges of a line, regions of a map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.kernels.compiled import Array

GROWN = 1.06
"""How much longer intervals are where cells have grown: enough at 95 % and above, for 2 to 45 branches and as many levels as fit.

There a cell's own count y decides, with a threshold t, whether it is cut, and with that its weight w next to what later levels report, y':
the estimate is w y + (1 - w) y'. With four branches w is 0.8 for a cell that was cut, and 1/2 down to 1/m for one that was counted again by
m - 1 more levels. Given t, both cases have the stated error, but large y meet the large weight: for the worst t, an interval at 95 % misses
with 5.7 % for two levels, and 6.2 % for four. Longer by this factor, it misses with 5 % at most.
"""


def reach(alpha: Any, *, normal: bool, grown: bool = False) -> Any:
    """Return how many standard errors an interval goes to each side, by the normal law or, with few people, by Chebyshev's inequality.

    >>> [round(float(reach(0.05, normal=few, grown=grown)), 2) for few, grown in ((True, False), (True, True), (False, False))]
    [1.96, 2.08, 4.47]
    """
    return (scipy.stats.norm.isf(alpha / 2) if normal else np.asarray(alpha) ** -0.5) * (GROWN if grown else 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Enclosed(Law):
    """Sums of cells that lie inside, and of parts of cells on the edge, where people are assumed to be spread evenly.

    Standard errors have a row for the people who reported, and one for a sample. They count what an even spread gets wrong on average.
    Limits do not rest on it: the cells on the edge hold between nobody and everybody there. So the lower limit is that of the ``inner``
    cells, which lie inside as a whole, the upper one that of all cells that are touched (``outer``), and the interval of the even spread is
    in between.

    >>> law = Enclosed(n=900, numbers=np.array([420.0]), errors=np.array([[30.0]] * 2), inner=np.array([370.0]), outer=np.array([470.0]),
    ...     inner_errors=np.array([[11.0]] * 2), outer_errors=np.array([[13.0]] * 2), normal=True)
    >>> [limit.round(1).tolist() for limit in law.limits(0.05)]
    [[348.4], [495.5]]
    """

    n: int
    numbers: Array
    errors: Array
    inner: Array
    inner_errors: Array
    outer: Array
    outer_errors: Array
    normal: bool
    """True if enough people reported for normal errors."""
    grown: bool = False
    """True if earlier reports decided which cells exist."""
    shares: bool = False
    """Whether the numbers are shares: then they and their limits are cut to 0 and 1. Of nobody, everything is possible."""

    @property
    def point(self) -> Array:
        return np.clip(self.numbers, 0.0, 1.0) if self.shares else self.numbers

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self.errors[int(population)] ** 2)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        if self.shares and not self.n:
            return np.zeros(self.numbers.size), np.ones(self.numbers.size)
        z, kind = reach(alpha, normal=self.normal, grown=self.grown), int(population)
        even = z * self.errors[kind]
        low = np.minimum(self.numbers - even, np.minimum(self.numbers, self.inner) - z * self.inner_errors[kind])
        high = np.maximum(self.numbers + even, np.maximum(self.numbers, self.outer) + z * self.outer_errors[kind])
        return (np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)) if self.shares else (low, high)

    def counts(self) -> Enclosed:
        """Return the law of numbers of people from that of their shares."""
        names = ("numbers", "errors", "inner", "inner_errors", "outer", "outer_errors")
        return replace(self, shares=False, **{name: self.n * getattr(self, name) for name in names})

    def select(self, positions: Array) -> Enclosed:
        names = ("numbers", "errors", "inner", "inner_errors", "outer", "outer_errors")
        return replace(self, **{name: getattr(self, name)[..., positions] for name in names})
