"""The law of numbers whose errors are normal, with known variances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

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
        reach = stats.norm.isf(alpha / 2) * np.sqrt(self.drawn if population else self.noise)
        return self.numbers - reach, self.numbers + reach

    def select(self, positions: Array) -> Normal:
        return replace(self, numbers=self.numbers[positions], noise=self.noise[positions], drawn=self.drawn[positions])
