"""The estimate behind linear protocols: a value's count is the sum of what each report says about it.

Scores of different people are independent. Their sum has the variance ``spread`` + ``slope`` c for a value with c holders; one score
is at most ``reach`` away from zero, and has at most the variance ``worst``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import stats

from deniable.core import interval
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False)
class ScoreEstimate(FrequencyEstimate):
    """Counts as sums of scores, with the variance of such a sum."""

    sums: Array
    spread: Array
    slope: float = field(kw_only=True)
    reach: float = field(kw_only=True)
    worst: float = field(kw_only=True)
    kurtosis: float = field(default=0.0, kw_only=True)
    """The excess kurtosis of the sums, where it is known; otherwise at most reach^2 / variance."""

    @property
    def counts(self) -> Array:
        return self.sums

    def variance(self, counts: Array, *, population: bool = False) -> Array:
        drawn = counts * (1 - counts / max(self.n, 1)) if population else 0.0
        return np.asarray(self.spread + self.slope * counts + drawn)

    @property
    def enough(self) -> float:
        """The inverse of the kurtosis: for supports by chance, n q, it is their number."""
        if self.kurtosis:
            return 1 / self.kurtosis
        return float(np.min(self.variance(np.clip(self.counts, 0, self.n)), initial=np.inf)) / self.reach**2

    def limits(self, alpha: float, *, simultaneous: bool, population: bool) -> Limits:
        if self.enough < (interval.NORMAL_TAILS_FROM if simultaneous else interval.NORMAL_FROM):
            extra = self.n / 4 if population else 0.0  # people drawn at random: n f (1 - f) at most
            return self._within(2 * np.log(2 / alpha), 2 * np.log(2 / alpha) / 3 * self.reach, self.n * self.worst + extra)
        z = stats.norm.isf(alpha / 2)
        if simultaneous:  # far out the third moment counts; it is at most reach times the variance (Cornish and Fisher 1938)
            z += (z * z - 1) / 6 / np.sqrt(self.enough)
        noise = z * np.sqrt(np.maximum(self.variance(np.clip(self.counts, 0, self.n), population=population), 0.0))
        return self.counts - noise, self.counts + noise

    def bounds(self, alpha: float, method: str) -> Limits:
        if method == "hoeffding":
            reach = 2 * self.reach * np.sqrt(self.n * np.log(2 / alpha) / 2)
            return self.counts - reach, self.counts + reach
        return self._within(2 * np.log(2 / alpha), 2 * np.log(2 / alpha) / 3 * self.reach, self.n * self.worst)

    def _within(self, quadratic: float, linear: float, variance: float) -> Limits:
        """Bernstein: the x that solves x^2 - linear x = quadratic variance, on either side."""
        x = linear / 2 + np.sqrt(linear**2 / 4 + quadratic * variance)
        return self.counts - x, self.counts + x

    def select(self, positions: Any) -> ScoreEstimate:
        positions = np.asarray(positions)
        spread = np.broadcast_to(self.spread, self.sums.shape)[positions]
        values = [self.values[i] for i in positions]
        return replace(self, values=values, sums=self.sums[positions], spread=spread)
