"""Limits for a sum of weighted squares of noisy numbers, such as the phi^2 of a table.

Residuals D with covariance C and weights w make Q = sum of w D^2, of which the mean of what noise adds, tr(WC), was subtracted. At a true
value theta, whose residuals lie in the direction of those that were seen, the estimate has the mean theta and, with t = theta / (what was
seen) and the slopes g1 in the residuals and g2 in the weights, where K is the covariance of the shares::

    variance        2 tr(WCWC) + (sqrt(t) g1 + t g2)' K (sqrt(t) g1 + t g2)
    third moment    8 tr(WCWCWC) + 24 t D'WCWCWD

The error at the estimate itself is too small where that came out small, and an upper limit made of it missed in 8 % of the runs in place of
2.5. So each limit is where a test at the limit, with the error that it has there, just does not reject. The law leans to the right. The
lower limit tests with that skewness (Pearson's type III), the upper one with the normal law, whose lower tail is the longer one: direction
and weights are themselves estimates. So an interval covers its level or somewhat more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
import scipy

from deniable.kernels.compiled import Array


@dataclass(frozen=True)
class SquareLaw:
    """The law of an estimated sum of squares at any true value of it.

    >>> law = SquareLaw(raw=0.07, bias=0.01, pairs=1e-5, triples=1e-8, along=(4e-4, -1e-4, 1e-4), leaning=1e-6)
    >>> round(law.seen, 3), round(law.low(0.025), 4), round(law.high(0.025, 1.0), 4)
    (0.06, 0.0332, 0.1022)
    """

    SIZE: ClassVar[int] = 8
    """How many numbers it has."""

    raw: float
    """The sum of the squares that were seen."""
    bias: float
    """What noise adds to it on average."""
    pairs: float
    triples: float
    """tr(WCWC) and tr(WCWCWC)."""
    along: tuple[float, float, float]
    """g1'K g1, g1'K g2 and g2'K g2."""
    leaning: float
    """24 D'WCWCWD, of what was seen."""

    @classmethod
    def of(cls, numbers: Array) -> SquareLaw:
        """The law behind its ``numbers``."""
        raw, bias, pairs, triples, *along, leaning = map(float, numbers)
        return cls(raw, bias, pairs, triples, (along[0], along[1], along[2]), leaning)

    @property
    def numbers(self) -> Array:
        """The law as a row of numbers."""
        return np.array([self.raw, self.bias, self.pairs, self.triples, *self.along, self.leaning])

    @property
    def seen(self) -> float:
        """The estimate."""
        return self.raw - self.bias

    def variance(self, theta: float) -> float:
        """The variance of the estimate at a true value."""
        t = theta / self.raw if self.raw else 0.0
        return 2 * self.pairs + self.along[0] * t + 2 * self.along[1] * t * sqrt(t) + self.along[2] * t * t

    def low(self, alpha: float) -> float:
        """The smallest value, from 0 on, at which so large an estimate has a probability above alpha."""

        def excess(theta: float) -> float:
            error = sqrt(max(self.variance(theta), 1e-300))
            t = theta / self.raw if self.raw else 0.0
            lean = (8 * self.triples + self.leaning * t) / error**3
            return float(scipy.stats.pearson3.sf(self.seen, lean, loc=theta, scale=error)) - alpha

        return self._edge(excess, 0.0, max(self.seen, 0.0))

    def high(self, alpha: float, most: float) -> float:
        """The largest value, up to ``most``, at which so small an estimate has a probability above alpha."""

        def excess(theta: float) -> float:
            return float(scipy.stats.norm.cdf((self.seen - theta) / sqrt(max(self.variance(theta), 1e-300)))) - alpha

        return self._edge(excess, most, min(max(self.seen, 0.0), most))

    @staticmethod
    def _edge(excess: Callable[[float], float], far: float, near: float) -> float:
        """Where a test begins to accept, on the way from ``far`` to ``near``; one that accepts everywhere, or nowhere, has an end."""
        if excess(far) >= 0:
            return far
        return near if excess(near) <= 0 else float(scipy.optimize.brentq(excess, far, near, xtol=1e-12))
