"""The law of pure protocols: a value's count follows from the number of reports that support it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from deniable.core import interval
from deniable.core.interval import Limits
from deniable.core.law import CountLaw
from deniable.kernels.compiled import Array

BOUNDS = {"hoeffding": interval.hoeffding, "bernstein": interval.bernstein}


@dataclass(frozen=True, eq=False)
class Supports(CountLaw):
    """Counts from supports; p and q are the exact law's probabilities that a report supports its sender's value and another one.

    Reports that share a hash function share its collisions, and these do not average out as n grows: ``collisions`` times the sum of the
    squared counts of all other values is their variance; ``squares`` is the sum of all squared counts, and ``jump`` what one collision
    of one function with the most frequent value adds, as far as these are known.

    >>> law = Supports(100, np.array([35, 65]), np.array(0.75), np.array(0.25))
    >>> law.point.tolist(), law.stderr.round(2).tolist()
    ([20.0, 80.0], [8.66, 8.66])
    """

    postprocessing = (*CountLaw.postprocessing, "mle")

    n: int
    supports: Array
    p: Array
    q: Array
    collisions: float = field(default=0.0, kw_only=True)
    squares: float = field(default=0.0, kw_only=True)
    jump: float = field(default=0.0, kw_only=True)

    @cached_property
    def point(self) -> Array:
        counts: Array = (self.supports - self.n * self.q) / (self.p - self.q)
        return counts

    @cached_property
    def shared(self) -> Array:
        """The variance of each count through collisions."""
        return np.asarray(self.collisions * np.maximum(self.squares - np.clip(self.point, 0, None) ** 2, 0.0))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        p, q, n = self.p, self.q, self.n
        if population:
            chance = q + np.clip(at / max(n, 1), 0, 1) * (p - q)
            return np.asarray(n * chance * (1 - chance) / (p - q) ** 2 + self.shared)
        return np.asarray(n * q * (1 - q) / (p - q) ** 2 + at * (1 - p - q) / (p - q) + self.shared)

    @property
    def enough(self) -> float:
        """The variance of the supports if everyone, or nobody, held a value, whichever is less."""
        return float(self.n * np.min(np.minimum(self.q * (1 - self.q), self.p * (1 - self.p)), initial=np.inf))

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        if not self.n:  # among nobody, nobody holds it
            return np.zeros(len(self.supports)), np.zeros(len(self.supports))
        if not self.collisions:
            return self._noise_limits(alpha, far=family > 0, population=population)
        if not family:
            noise = self._noise_limits(alpha, far=False, population=population)
            return self._widened(noise, scipy.stats.norm.isf(alpha / 2) ** 2 * self.shared)
        # Collisions are few and large: far out they are not normal, and Bernstein's inequality gets half of the error.
        low, high = self._noise_limits(alpha / 2, far=True, population=population)
        reach = interval.few_large(self.shared, self.jump, alpha / 2)
        return low - reach, high + reach

    def _noise_limits(self, alpha: Any, *, far: bool, population: bool) -> Limits:
        arguments = (self.supports.astype(float), self.n, self.p, self.q, alpha)
        plenty = self.enough >= (interval.NORMAL_TAILS_FROM if far else interval.NORMAL_FROM)
        if population:
            return interval.sampling_score(*arguments) if plenty and not far else interval.sampling_exact(*arguments)
        return interval.score(*arguments, skewness=far) if plenty else interval.exact(*arguments)

    def bounds(self, alpha: float, method: str) -> Limits:
        if not self.collisions:
            return BOUNDS[method](self.supports.astype(float), self.n, self.p, self.q, alpha)
        # Half of the error for the noise, half for the collisions, of which only the largest possible variance is known (Chebyshev).
        low, high = BOUNDS[method](self.supports.astype(float), self.n, self.p, self.q, alpha / 2)
        reach = np.sqrt(2 / alpha * self.collisions) * self.n
        return low - reach, high + reach

    def _widened(self, limits: Limits, square: Array) -> Limits:
        """Limits with an independent error added, in squares."""
        low, high = (np.sqrt((limit - self.point) ** 2 + square) for limit in limits)
        return self.point - low, self.point + high

    def exact_test(self, other: CountLaw) -> Array | None:
        """Given all supports of a value, those of the first crowd are hypergeometric if nothing changed; twice the smaller tail."""
        if not isinstance(other, Supports) or self.collisions or other.collisions:
            return None
        if np.any(self.p != other.p) or np.any(self.q != other.q):
            return None
        law = scipy.stats.hypergeom(self.n + other.n, self.supports + other.supports, self.n)
        tails = np.minimum(law.cdf(self.supports), law.sf(self.supports - 1))
        return np.asarray(np.minimum(2 * tails, 1.0))

    def select(self, positions: Array) -> Supports:
        p, q = (np.broadcast_to(item, self.supports.shape)[positions] for item in (self.p, self.q))
        return replace(self, supports=self.supports[positions], p=p, q=q)
