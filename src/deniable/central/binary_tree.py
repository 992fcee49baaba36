"""Continual counting with a binary tree: every sum is one of few noisy parts, and only the parts that are open are kept.

The steps of a series share parts, so a change is known better than two sums apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
import scipy

from deniable.accounting import DiscreteGaussianEvent, DiscreteLaplaceEvent, Event, Repeated
from deniable.accounting.event import float_above
from deniable.central.continual_counter import ContinualCounter
from deniable.central.exact_noise import ExactNoise
from deniable.central.rationals import exact_rate
from deniable.central.spread import Spread, sum_reaches
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.kernels.compiled import Array

NORMAL_FROM = 2.0
"""Sigmas, in steps of the noise, from which a sum of discrete Gaussian noise is read as a normal one."""


@dataclass
class _Open:
    """What is kept: for each level the exact and the noisy sum of the part that is open there."""

    exact: list[int]
    noisy: list[int]
    steps: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class BinaryTreeCounter(ContinualCounter):
    """Running sums of a stream with noise that grows like the logarithm of its length, and as little to keep.

    **How.** Entries are added up in parts of 1, 2, 4, .. entries, as the digits of t in binary say; each part gets integer noise once, and
    the sum of the first t entries is that of popcount(t) noisy parts. With L = bits of the horizon, an entry is in L parts at most.

    **Guarantee.** With ``epsilon`` alone, discrete Laplace noise of scale L sensitivity / epsilon: epsilon-DP, for one event over all
    releases. With ``delta`` or ``rho``, discrete Gaussian noise with sigma^2 = L sensitivity^2 / (2 rho). The law is exact, and so is every
    release: an integer. Parts are released one after the other, so entries may depend on what was released.

    **Estimator and variance.** Unbiased; popcount(t) times the variance of one noise. **Cost.** L numbers are kept.

    >>> from deniable.testing import ReplaySource
    >>> words = ReplaySource.from_key("tree")
    >>> visits = BinaryTreeCounter(horizon=7, epsilon=3.0, sensitivity=1, neighbors="add-remove", source=words)
    >>> series = visits.run([10, 12, 9, 11])
    >>> series.point.tolist(), series.stderr.round(2).tolist()
    ([10.0, 22.0, 31.0, 42.0], [1.36, 1.36, 1.92, 1.36])

    References: Chan, Shi, Song 2011; Dwork, Naor, Pitassi, Rothblum 2010.
    """

    _open: _Open = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.noise  # noqa: B018  # refuses parameters that no noise has
        object.__setattr__(self, "_open", _Open([0] * self.levels, [0] * self.levels))

    @property
    def levels(self) -> int:
        """The largest number of parts that an entry is in."""
        return self.horizon.bit_length()

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian; otherwise it is Laplace."""
        return self.rho is not None or self.delta > 0

    @cached_property
    def scale(self) -> float:
        """The scale of Laplace noise, or the sigma of Gaussian noise; rounded up."""
        if not self.gaussian:
            return float_above(self.levels * self.sensitivity / exact_rate(float(self.epsilon or 0.0)))
        square = self.levels * self.sensitivity**2 / (2 * self.exact_rho)
        ExactNoise(quadratic=1 / (2 * square))  # refuses what is too wide, before it is too large for a float
        sigma = sqrt(square)
        while min(Fraction(sigma), Fraction(repr(sigma))) ** 2 < square:
            sigma = float(np.nextafter(sigma, np.inf))
        return sigma

    @cached_property
    def noise(self) -> ExactNoise:
        """The noise of each part."""
        wide = max(Fraction(self.scale), Fraction(repr(self.scale)))
        return ExactNoise(quadratic=1 / (2 * wide**2)) if self.gaussian else ExactNoise(linear=1 / wide)

    @property
    def event(self) -> Event:
        kind = DiscreteGaussianEvent(sigma=self.scale, sensitivity=self.sensitivity, neighbors=self.neighbors) if self.gaussian else None
        part = kind or DiscreteLaplaceEvent(scale=self.scale, sensitivity=self.sensitivity, neighbors=self.neighbors)
        return Repeated(event=part, times=self.levels)

    @property
    def steps(self) -> int:
        return self._open.steps

    def _step(self, value: int) -> int:
        state = self._open
        state.steps += 1
        level = (state.steps & -state.steps).bit_length() - 1  # the parts below it are full: they become one part here
        state.exact[level] = sum(state.exact[:level]) + value
        state.noisy[level] = state.exact[level] + self.noise.draw(self._source)
        for below in range(level):
            state.exact[below] = state.noisy[below] = 0
        return sum(state.noisy)

    def law(self, times: Array, counts: Array) -> TreeSums:
        return TreeSums(counts, np.bitwise_count(times).astype(np.int64), self.scale, self.gaussian)


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
            reach = -scipy.special.ndtri(alpha / 2) if self.scale >= NORMAL_FROM else np.sqrt(2 * np.log(2 / alpha))
            # Of integers: those up to the next one weigh more than the normal law up to here.
            return np.asarray(np.ceil(np.sqrt(self.parts) * self.scale * reach))
        found = np.zeros(np.shape(self.parts))
        for count in np.unique(self.parts[self.parts > 0]).tolist():
            found = np.where(self.parts == count, sum_reaches(Spread(self.scale), count, alpha), found)
        return found

    def select(self, positions: Array) -> TreeSums:
        return replace(self, numbers=self.numbers[positions], parts=self.parts[positions])
