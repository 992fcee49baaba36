"""How far released numbers stray: the discrete Laplace law, read off for errors and intervals.

With P(z) proportional to e^(-|z| / scale) on the integers and a = e^(-1 / scale)::

    variance = 2 a / (1 - a)^2 = 1 / (2 sinh(1 / (2 scale))^2)          P(|z| >= k) = 2 a^k / (1 + a)  for k >= 1

So |z| is at most half a step more than a continuous Laplace variable of the same scale rounds to (2 sqrt(a) <= 1 + a): what is solved for
two continuous ones, plus half a step for each, holds for two discrete ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, log1p, sinh

import numpy as np

from deniable.kernels.compiled import Array

_STEPS = 40


@dataclass(frozen=True)
class Spread:
    """The noise of one released number: its scale in steps of the grid, and the size of a step.

    >>> noise = Spread(scale=10.0)
    >>> round(noise.variance**0.5, 2), noise.reach(0.05)
    (14.14, 30.0)
    """

    scale: float
    step: float = 1.0

    @property
    def variance(self) -> float:
        """The variance, in the units of the answer."""
        half = 1 / (2 * self.scale)
        return self.step**2 / (2 * sinh(half) ** 2) if half < 300 else 0.0

    def reach(self, alpha: float) -> float:
        """The smallest distance that the noise exceeds with probability alpha at most."""
        return float(self.reaches(alpha))

    def reaches(self, alpha: Array | float) -> Array:
        """The same for each of several probabilities; rounded up where double precision cannot tell."""
        beyond = self.scale * (np.log(2 / np.asarray(alpha, float)) - log1p(exp(-1 / self.scale)))
        return np.asarray(self.step * np.maximum(np.ceil(beyond * (1 + 1e-12)) - 1, 0.0))


def pair_reach(first: Array | float, second: Array | float, alpha: float) -> Array:
    """How far the difference of two independent continuous Laplace variables strays with probability alpha, for each pair of scales.

    P(|x - y| > t) = (a^2 e^(-t/a) - b^2 e^(-t/b)) / (a^2 - b^2), found by bisection and rounded up.

    >>> round(float(pair_reach(1.0, 1e-9, 0.05)), 3)  # ln 20
    2.996
    """
    one, other = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))
    b = np.maximum(np.minimum(one, other), 1e-300)
    a = np.maximum(np.maximum(one, other), b * (1 + 1e-4))  # a little apart, to divide by; a wider scale errs on the safe side
    low, high = np.zeros(a.shape), (a + b) * log(2 / alpha)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        tail = (np.exp(-middle / a) - (b / a) ** 2 * np.exp(-middle / b)) / (1 - (b / a) ** 2)
        low, high = np.where(tail > alpha, middle, low), np.where(tail > alpha, high, middle)
    return np.asarray(high)


def sum_reaches(noise: Spread, count: int, alpha: Array | float) -> Array:
    """How far the sum of so many independent noises strays with each of some probabilities at most, by Chernoff's inequality.

    E e^(s z) = (1 - a)^2 / ((1 - a e^s)(1 - a e^-s)) for s < 1 / scale; the best of a range of s counts, and any is valid.
    """
    if count == 1:
        return noise.reaches(alpha)
    rate = 1 / noise.scale
    s = rate * np.linspace(0.005, 0.995, 199)
    moment = 2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(s - rate)) - np.log(-np.expm1(-s - rate))
    return np.asarray(noise.step * np.min((count * moment + np.log(2 / np.asarray(alpha, float))[..., None]) / s, axis=-1))
