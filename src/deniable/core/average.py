"""The law of a mean: the average of n independent scores, each unbiased for its sender."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from deniable.core.interval import NORMAL_FROM, Limits, few_large
from deniable.core.law import BOTH, Crossed, Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Average(Law):
    """One mean, ``center``, in the numbers of a domain."""

    n: int
    center: float
    noise: float
    """The variance of the estimate through the mechanism, for the people who reported; or what it is at most."""
    drawn: float
    """The same if the people are a sample."""
    span: tuple[float, float]
    """The smallest and the largest score."""
    worst: float
    """The largest variance that one score can have, whatever the person holds."""
    ends: tuple[float, float]
    """The smallest and the largest number that people can hold."""
    kurtosis: float | None = None
    """The fourth moment of a score over its squared variance, at most; if left out, what ``span`` allows."""

    @property
    def point(self) -> Array:
        return np.array([self.center if self.n else np.nan])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.array([(self.drawn if population else self.noise) if self.n else np.inf])

    @property
    def enough(self) -> float:
        """How many reports' worth of noise there is: where it is small, no test is normal."""
        if not self.n:
            return 0.0
        width = self.span[1] - self.span[0]
        kurtosis = self.kurtosis if self.kurtosis is not None else width**2 / max(self.n * self.noise, 1e-300)
        return self.n / max(kurtosis, 1.0)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        if not self.n:  # nobody said anything
            return np.array([self.ends[0]]), np.array([self.ends[1]])
        if self.enough < NORMAL_FROM:
            reach = self.bernstein(alpha, population=population)
        else:
            reach = scipy.stats.norm.isf(alpha / 2) * (self.drawn if population else self.noise) ** 0.5
        return np.atleast_1d(self.center - reach), np.atleast_1d(self.center + reach)

    def bernstein(self, alpha: Any, *, population: bool) -> Any:
        """Return how far the mean is off with probability alpha at most, whatever people hold."""
        low, high = self.ends
        jump = max(self.span[1] - low, high - self.span[0])
        extra = (high - low) ** 2 / 4 if population else 0.0  # people drawn at random: at worst half at either end
        return few_large(np.asarray(self.n * (self.worst + extra)), jump, alpha) / self.n

    def hoeffding(self, alpha: float) -> float:
        """Return the same by the range of the scores alone."""
        return (self.span[1] - self.span[0]) * float(np.sqrt(np.log(2 / alpha) / (2 * self.n)))

    def select(self, positions: Array) -> Law:
        return self  # there is one number

    def change(self, other: Law) -> Law:
        if not isinstance(other, Average):
            return Crossed(self, other)
        if not (self.n and other.n):
            raise ParameterError("n", (self.n, other.n), allowed="reports on both sides", fix="collect some first")
        return AverageChange(self, other)


@dataclass(frozen=True, eq=False)
class AverageChange(Law):
    """The difference of two means; both crowds count as samples of the people they stand for.

    ``p_values`` test "no change": by the normal law, or, where little noise was seen, by Bernstein's inequality. Then it is a bound.
    """

    first: Average
    second: Average
    changed: ClassVar[str] = ""

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
        """The means before and after."""
        return self.first.point, self.second.point

    @property
    def point(self) -> Array:
        return np.array([self.second.center - self.first.center])

    def variance(self, at: Array, *, population: bool = True) -> Array:
        return np.array([self.first.drawn + self.second.drawn])

    @cached_property
    def p_values(self) -> Array:
        """The two-sided p-value of "no change"."""
        x = np.abs(self.point)
        if self._plenty:
            return np.asarray(2 * scipy.stats.norm.sf(x / self.stderr))
        return np.asarray(np.minimum(1.0, 2 * np.exp(-x * x / (2 * self._most + 2 * self._jump * x / 3))))

    def limits(self, alpha: Any, *, family: int = 0, population: bool = True) -> Limits:
        reach = scipy.stats.norm.isf(alpha / 2) * self.stderr if self._plenty else few_large(np.array([self._most]), self._jump, alpha)
        return self.point - reach, self.point + reach

    def select(self, positions: Array) -> Law:
        return self

    @property
    def _sides(self) -> tuple[Average, Average]:
        return self.first, self.second

    @property
    def _plenty(self) -> bool:
        return all(side.enough >= NORMAL_FROM for side in self._sides)

    @property
    def _most(self) -> float:
        """The largest variance that the change can have, whatever people hold."""
        return sum((side.worst + (side.ends[1] - side.ends[0]) ** 2 / 4) / side.n for side in self._sides)

    @property
    def _jump(self) -> float:
        """The influence of one report on it."""
        return max((side.span[1] - side.span[0]) / side.n for side in self._sides)
