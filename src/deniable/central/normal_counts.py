"""The estimate behind counts with Gaussian noise: its variance is known and the same for all values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import NORMAL_FROM, NORMAL_TAILS_FROM, Limits
from deniable.core.table import row_numbers
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False)
class NormalCounts(FrequencyEstimate):
    """Counts with integer noise that is sub-Gaussian: no tail is heavier than that of the normal law with the same sigma.

    So bounds hold for any number of people, P(|error| > x) <= 2 e^(-x^2 / (2 variance)), where ``most_variance`` is n sigma^2. Intervals
    use the normal law itself from a variance of 200 on, where steps of 1 no longer matter, and that bound below.
    """

    noisy: Array
    noise_variance: float
    most_variance: float

    @property
    def counts(self) -> Array:
        return self.noisy

    def variance(self, counts: Array, *, population: bool = False) -> Array:
        drawn = counts * (1 - counts / max(self.n, 1)) if population else 0.0
        return np.asarray(np.full(np.shape(counts), self.noise_variance) + drawn)

    @property
    def enough(self) -> float:
        return self.noise_variance

    def limits(self, alpha: float, *, simultaneous: bool, population: bool) -> Limits:
        if self.enough < (NORMAL_TAILS_FROM if simultaneous else NORMAL_FROM):
            extra = self.n / 4 if population else 0.0  # people drawn at random: sub-Gaussian with n / 4 at most (Hoeffding)
            return self._around(np.sqrt(2 * np.log(2 / alpha) * (self.most_variance + extra)))
        spread = np.sqrt(self.variance(np.clip(self.counts, 0, self.n), population=population))
        return self._around(-ndtri(alpha / 2) * spread)

    def bounds(self, alpha: float, method: str) -> Limits:
        """By either name the same inequality: the noise is sub-Gaussian, and nothing is gained from its variance."""
        return self._around(np.sqrt(2 * np.log(2 / alpha) * self.most_variance))

    def _around(self, reach: Any) -> Limits:
        return self.counts - reach, self.counts + reach

    def select(self, positions: Any) -> NormalCounts:
        positions = row_numbers(positions, len(self.values))
        return replace(self, values=[self.values[i] for i in positions], noisy=self.noisy[positions])

    def headline(self) -> str:
        together = f" for all {self.family_size:,} values together" if self.picked else ""
        promise = self.spec.guarantee
        return (
            f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {promise.epsilon:.4g}, delta = {promise.delta:.2g}; "
            f"low and high: 95 %{together}, noise only"
        )
