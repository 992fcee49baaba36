"""The law of linear protocols: a value's count is the sum of what each report says about it.

Scores of different people are independent. Their sum has the variance ``spread`` + ``slope`` c for a value with c holders; one score
is at most ``reach`` away from zero, and has at most the variance ``worst``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from deniable.core import interval
from deniable.core.interval import Limits
from deniable.core.law import CountLaw
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False)
class Scores(CountLaw):
    """Counts as sums of scores, with the variance ``spread`` + ``slope`` c of such a sum for a value with c holders."""

    n: int
    sums: Array
    spread: Array
    slope: float = field(kw_only=True)
    reach: float = field(kw_only=True)
    """The farthest that one score can be from zero."""
    worst: float = field(kw_only=True)
    """The largest variance that one score can have."""
    least: Array | float = field(default=0.0, kw_only=True)
    """The smallest variance that one score can have, whatever the person holds."""
    known: bool = field(default=False, kw_only=True)
    """Whether ``spread`` is the variance itself, and not an estimate of it."""
    shared: Array | float = field(default=0.0, kw_only=True)
    """The variance through collisions that many reports share, as far as it is known."""
    most_shared: Array | float = field(default=0.0, kw_only=True)
    """The largest that it can be."""
    jump: float = field(default=0.0, kw_only=True)
    """What one such collision adds to a count, at most."""
    kurtosis: float = field(default=0.0, kw_only=True)
    """The excess kurtosis of the sums, where it is known; otherwise at most reach^2 / variance."""

    @property
    def point(self) -> Array:
        return self.sums

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self._noise(at, population=population) + self.shared)

    def _noise(self, counts: Array, *, population: bool = False) -> Array:
        """The variance without what reports share."""
        drawn = counts * (1 - counts / max(self.n, 1)) if population else 0.0
        return np.asarray(np.maximum(self.spread + self.slope * counts + drawn, self.n * self.least))

    @property
    def enough(self) -> float:
        """The inverse of the kurtosis: for supports by chance, n q, it is their number."""
        if self.kurtosis > 0:
            return 1 / self.kurtosis
        return float(np.min(self._noise(np.clip(self.sums, 0, self.n)), initial=np.inf)) / self.reach**2

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        if not self.n:  # among nobody, nobody holds it
            return np.zeros(len(self.sums)), np.zeros(len(self.sums))
        if not np.any(self.shared):
            return self._noise_limits(alpha, far=family > 0, population=population)
        # Collisions are few and large: half of the error for them, by Bernstein's inequality, and half for the noise.
        low, high = self._noise_limits(alpha / 2, far=family > 0, population=population)
        reach = interval.few_large(np.asarray(self.shared), self.jump, alpha / 2)
        return low - reach, high + reach

    def _noise_limits(self, alpha: Any, *, far: bool, population: bool) -> Limits:
        if self.enough < (interval.NORMAL_TAILS_FROM if far else interval.NORMAL_FROM):
            extra = self.n / 4 if population else 0.0  # people drawn at random: n f (1 - f) at most
            return self._inverted(alpha, extra) if self.known else self._within(alpha, self.n * self.worst + extra)
        z = scipy.stats.norm.isf(alpha / 2)
        if far:  # far out the third moment counts; it is at most reach times the variance (Cornish and Fisher 1938)
            z += (z * z - 1) / 6 / np.sqrt(self.enough)
        noise = z * np.sqrt(self._noise(np.clip(self.sums, 0, self.n), population=population))
        return self.sums - noise, self.sums + noise

    def bounds(self, alpha: float, method: str) -> Limits:
        if np.any(self.most_shared):  # half of the error for collisions, of which only the largest possible variance is known (Chebyshev)
            low, high = replace(self, most_shared=0.0).bounds(alpha / 2, method)
            reach = np.sqrt(2 / alpha * self.most_shared)
            return low - reach, high + reach
        if method == "hoeffding":
            reach = 2 * self.reach * np.sqrt(self.n * np.log(2 / alpha) / 2)
            return self.sums - reach, self.sums + reach
        return self._within(alpha, self.n * self.worst)

    def _within(self, alpha: Any, variance: float) -> Limits:
        """Bernstein with a variance that nothing exceeds."""
        log = np.log(2 / alpha)
        x = log / 3 * self.reach + np.sqrt((log / 3 * self.reach) ** 2 + 2 * log * variance)
        return self.sums - x, self.sums + x

    def _inverted(self, alpha: Any, extra: float) -> Limits:
        """The counts c that Bernstein with the variance at c does not reject: x^2 - (2/3) L reach x = 2 L (spread + slope c)."""
        log, counts = np.log(2 / alpha), np.clip(self.sums, 0, self.n)
        reaches = []
        for toward in (-1.0, 1.0):  # to fewer and to more holders
            linear = log / 3 * self.reach + log * max(toward * self.slope, 0.0)
            noise = np.maximum(self.spread + max(self.slope, 0.0) * counts, self.n * self.least) + extra
            reaches.append(linear + np.sqrt(linear**2 + 2 * log * noise))
        return self.sums - reaches[0], self.sums + reaches[1]

    def select(self, positions: Array) -> Scores:
        names = ("spread", "least", "shared", "most_shared")
        parts: dict[str, Any] = {name: np.broadcast_to(getattr(self, name), self.sums.shape)[positions] for name in names}
        return replace(self, sums=self.sums[positions], **parts)
