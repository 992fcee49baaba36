"""Laws of numbers whose errors have a known variance: normal ones, and sums of Laplace noise on a grid, whose tails are longer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False)
class Normal(Law):
    """Numbers with normal errors; ``noise`` is the variance of each, and ``drawn`` the same if the people are a sample.

    >>> law = Normal(100, np.array([0.5]), np.array([0.01]), np.array([0.04]))
    >>> [limit.round(3).tolist() for limit in law.limits(0.05, population=True)]
    [[0.108], [0.892]]
    """

    n: Any
    numbers: Array
    noise: Array
    drawn: Array

    @property
    def point(self) -> Array:
        return self.numbers

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return self.drawn if population else self.noise

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        reach = scipy.stats.norm.isf(alpha / 2) * np.sqrt(self.drawn if population else self.noise)
        return self.numbers - reach, self.numbers + reach

    def select(self, positions: Array) -> Normal:
        return replace(self, numbers=self.numbers[positions], noise=self.noise[positions], drawn=self.drawn[positions])


@dataclass(frozen=True, eq=False, kw_only=True)
class Tailed(Law):
    """Numbers with independent noise of a known variance and excess ``kurtosis``, 3 for a single Laplace variable.

    Limits are those of a normal law, with the quantile z made longer to z + kurtosis (z^3 - 3 z) / 24 where that is more (Cornish and
    Fisher), and a ``step`` of the grid more: so they cover at least the level, also where the noise is often 0.

    >>> law = Tailed(n=None, numbers=np.array([100.0]), noise=np.array([200.0]), kurtosis=np.array([3.0]), step=np.array([1.0]))
    >>> [limit.round(1).tolist() for limit in law.limits(0.05)]
    [[68.4], [131.6]]
    """

    n: Any
    numbers: Array
    noise: Array
    """The variance of each number."""
    kurtosis: Array
    step: Array

    @property
    def point(self) -> Array:
        return self.numbers

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return self.noise

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        z = scipy.stats.norm.isf(alpha / 2)
        reach = np.sqrt(self.noise) * (z + self.kurtosis * np.maximum(z**3 - 3 * z, 0.0) / 24) + self.step
        return self.numbers - reach, self.numbers + reach

    def select(self, positions: Array) -> Tailed:
        names = ("numbers", "noise", "kurtosis", "step")
        return replace(self, **{name: np.broadcast_to(getattr(self, name), self.numbers.shape)[positions] for name in names})

    def linear(self, weights: Array) -> Tailed:
        """Return the law of linear combinations, one for each row of weights."""
        size, most = len(weights), float(np.max(self.kurtosis, initial=0.0))
        each = np.abs(weights) @ np.broadcast_to(self.step, self.numbers.shape)
        step = np.full(size, float(np.max(each, initial=0.0)))  # one grid for all
        return Tailed(n=self.n, numbers=weights @ self.numbers, noise=weights**2 @ self.noise, kurtosis=np.full(size, most), step=step)
