"""The audit of noise made of four squared Gaussians on a grid: what epsilon and delta it really has, computed and not sampled.

The law of Z = a^2 + b^2 - c^2 - d^2 for integers drawn from p(y) proportional to e^(-y^2 / (2 sigma^2)), cut at 12 sigma, by three
convolutions. With sigma = 2^bits / sqrt(2) and a sensitivity of 4^bits, Laplace noise would be 1-DP. The grid's is not, because integers
with many divisors are sums of squares in many ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp

import numpy as np
import scipy

from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

LONGEST = 1 << 23


@dataclass(frozen=True)
class FourGaussians:
    """The noise whose Gaussians have a standard deviation of ``sigma`` steps, under a change of the sum by ``sensitivity`` steps.

    >>> audit = FourGaussians(sigma=8 / 2**0.5, sensitivity=64)
    >>> audit.claimed, round(audit.worst_ratio, 2), round(audit.delta(1.0), 3)
    (1.0, 1.71, 0.072)
    """

    sigma: float
    sensitivity: int

    def __post_init__(self) -> None:
        tiny = self.sensitivity > 6 * self.sigma**2  # then probabilities get too small for double precision
        if not self.sigma >= 0.5 or (12 * self.sigma) ** 2 > LONGEST or self.sensitivity < 1 or tiny:
            received, allowed = (self.sigma, self.sensitivity), "sigma from 0.5 to 240, a sensitivity from 1 to 6 sigma^2"
            raise ParameterError("sigma, sensitivity", received, allowed=allowed, fix="use a grid of at most 8 bits")

    @property
    def claimed(self) -> float:
        """Epsilon, if it were Laplace noise."""
        return round(self.sensitivity / (2 * self.sigma**2), 12)

    @cached_property
    def law(self) -> Array:
        """The probabilities of all results, the middle one being 0."""
        reach = ceil(12 * self.sigma)
        places = np.arange(-reach, reach + 1)
        weights = np.exp(-(places**2) / (2 * self.sigma**2))
        squares = np.bincount(places**2, weights=weights / weights.sum())
        two = np.maximum(scipy.signal.fftconvolve(squares, squares), 0.0)
        four = np.maximum(scipy.signal.fftconvolve(two, two[::-1]), 0.0)
        return np.asarray(four / four.sum())

    @property
    def worst_ratio(self) -> float:
        """The largest ln-ratio of the probabilities of one result under two neighbors, within four sensitivities of 0."""
        middle = len(self.law) // 2
        near = np.arange(-4 * self.sensitivity + 1, 4 * self.sensitivity)
        near = near[(near + self.sensitivity < middle) & (near > -middle)]
        return float(np.abs(np.log(self.law[middle + near] / self.law[middle + near + self.sensitivity])).max())

    def delta(self, epsilon: float) -> float:
        """What epsilon leaves over: the sum of all that is more likely than e^epsilon times its neighbor's."""
        shifted = np.zeros_like(self.law)
        shifted[self.sensitivity :] = self.law[: -self.sensitivity]
        return float(np.maximum(self.law - exp(epsilon) * shifted, 0.0).sum())
