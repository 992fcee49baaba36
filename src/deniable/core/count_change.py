"""The law of a change: how the share of each value differs between two crowds, with a test of "no change"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from deniable.core.interval import NORMAL_TAILS_FROM, Limits, few_large, smallest_error
from deniable.core.law import BOTH, CountLaw, Law
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False)
class CountChange(Law):
    """Shares of the ``second`` crowd less those of the ``first``; both count as samples of the people they stand for.

    ``p_values`` test "no change" for each value on its own: with the variance that no change implies, or, where few reports support a
    value by chance, exactly, given the total number of supports (Fisher 1934). Where no such test exists, p is the smallest error at which
    the interval of the change excludes 0. A single interval at the level 1 - alpha never excludes 0 unless p is below alpha.
    """

    first: CountLaw
    second: CountLaw
    changed: ClassVar[str] = "frequency"

    @property
    def covers(self) -> str:
        """Both crowds count as samples, always."""
        return BOTH

    @property
    def n(self) -> tuple[int, int]:
        """How many people reported on each side."""
        return self.first.n, self.second.n

    @property
    def sides(self) -> tuple[Array, Array]:
        """The shares of people before and after."""
        before, after = (np.asarray(side.point / max(side.n, 1)) for side in self._sides)
        return before, after

    @cached_property
    def point(self) -> Array:
        before, after = self.sides
        return np.asarray(after - before)

    def variance(self, at: Array, *, population: bool = True) -> Array:
        return np.asarray(sum(_variance(side, side.point / max(side.n, 1)) for side in self._sides))

    @cached_property
    def p_values(self) -> Array:
        """The two-sided p-value of "no change" for each value."""
        if min(self.n) == 0:
            return np.ones(len(self.point))
        if self._plenty:
            pooled = (self.first.point + self.second.point) / sum(self.n)
            variance, change = sum(_variance(side, pooled) for side in self._sides), np.abs(self.point)
            if self._jump:  # collisions are few and large: no normal law far out (Bernstein)
                return np.asarray(np.minimum(2 * np.exp(-(change**2) / (2 * (variance + self._jump * change / 3))), 1.0))
            return np.asarray(2 * scipy.stats.norm.sf(change / np.sqrt(variance)))
        exact = self.first.exact_test(self.second)
        return smallest_error(lambda alpha: self._crossed(alpha, 1), len(self.point)) if exact is None else exact

    def limits(self, alpha: Any, *, family: int = 0, population: bool = True) -> Limits:
        if min(self.n) == 0:  # from nobody, nothing is known
            return np.full(len(self.point), -1.0), np.full(len(self.point), 1.0)
        if self._plenty:
            reach = few_large(self.variance(self.point), self._jump, alpha) if self._jump else scipy.stats.norm.isf(alpha / 2) * self.stderr
            low, high = self.point - reach, self.point + reach
        else:
            low, high = self._crossed(alpha, max(family, 1))
        possible = self.p_values >= alpha  # by the test: with the variance that no change implies, 0 may be possible just outside
        return np.where(possible, np.minimum(low, 0.0), low), np.where(possible, np.maximum(high, 0.0), high)

    def _crossed(self, alpha: Any, family: int) -> Limits:
        """The limits of both sides, each with half of the error, bound the change together; they hold however small alpha is."""
        (low_1, high_1), (low_2, high_2) = (side.share_limits(alpha / 2, family=family) for side in self._sides)
        return low_2 - high_1, high_2 - low_1

    def select(self, positions: Array) -> CountChange:
        return CountChange(*(side.select(positions) for side in self._sides))  # type: ignore[arg-type]  # parts of counts are counts

    def settled(self) -> CountChange:
        return CountChange(*(side.settled() for side in self._sides))  # type: ignore[arg-type]  # so are settled ones

    @property
    def _sides(self) -> tuple[CountLaw, CountLaw]:
        return self.first, self.second

    @property
    def _plenty(self) -> bool:
        return all(side.enough >= NORMAL_TAILS_FROM for side in self._sides)

    @property
    def _jump(self) -> float:
        """What a single collision changes a share by, at most."""
        return sum(side.jump / max(side.n, 1) for side in self._sides)


def _variance(side: CountLaw, shares: Array) -> Array:
    """The variance of each estimated share of a sample, if these, cut to 0 .. 1, were the true ones."""
    return np.asarray(side.variance(np.clip(shares, 0, 1) * side.n, population=True) / max(side.n, 1) ** 2)
