"""The errors of a running sum, which its steps share: a change is known better than two sums apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from deniable.central.spread import Spread, sum_reaches
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.kernels.compiled import Array

NORMAL_FROM = 2.0
"""Sigmas, in steps of the noise, from which a sum of discrete Gaussian noise is read as a normal one."""


@dataclass(frozen=True, eq=False)
class TreeSums(Law):
    """Numbers with the noise of several ``parts`` each, which is discrete Gaussian or discrete Laplace noise of one ``scale``."""

    numbers: Array
    parts: Array
    scale: float
    """The sigma of Gaussian noise, or the scale of Laplace noise."""
    gaussian: bool
    n: None = None

    @property
    def point(self) -> Array:
        return self.numbers

    def variance(self, at: Array, *, population: bool = False) -> Array:
        one = self.scale**2 if self.gaussian else Spread(self.scale).variance  # of a discrete Gaussian it is a little less
        return np.asarray(self.parts * one)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        reach = self._reach(alpha)
        return self.numbers - reach, self.numbers + reach

    def _reach(self, alpha: Any) -> Array:
        """By the normal law, or by Chernoff's inequality where the noise is narrow or Laplace; exactly for one Laplace noise."""
        if self.gaussian:
            reach = -ndtri(alpha / 2) if self.scale >= NORMAL_FROM else np.sqrt(2 * np.log(2 / alpha))
            # Of integers: those up to the next one weigh more than the normal law up to here.
            return np.asarray(np.ceil(np.sqrt(self.parts) * self.scale * reach))
        found = np.zeros(np.shape(self.parts))
        for count in np.unique(self.parts[self.parts > 0]).tolist():
            found = np.where(self.parts == count, sum_reaches(Spread(self.scale), count, alpha), found)
        return found

    def select(self, positions: Array) -> TreeSums:
        return replace(self, numbers=self.numbers[positions], parts=self.parts[positions])
