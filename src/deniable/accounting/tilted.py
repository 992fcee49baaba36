"""Sums of independent lattice variables, with relative accuracy far out in the tail: one Fourier transform, tilted.

For S = X_1 + .. + X_n, lattice variables, E[g(S)] is wanted for a g that is 0 below a point c. Plain transforms have an absolute error
near 1e-16, which swallows small results. So each law is tilted, by the factor e^(lambda x) / E[e^(lambda X)], until the sum's mean is c;
there the transform is accurate, and the tilt is undone afterwards::

    E[g(S)] = E[e^(lambda S)] E_tilted[g(S) e^(-lambda S)]

**Direction.** The transform is circular. Sums below the window come back at its upper end, which can only raise the result, since g >= 0.
Sums above it are lost, and are paid for by Chernoff's bound, which the caller adds (``Sum.above``). Negative values, which only rounding
makes, are cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, log, sqrt
from typing import Any

import numpy as np

REACH = 10.0
"""Half the width of a window, in standard deviations of the tilted sum."""
MOST_POINTS = 1 << 22


class Atoms:
    """A law on finitely many points. Masses may sum to less than 1; those of 0 are left out."""

    def __init__(self, points: Any, masses: Any) -> None:
        kept = masses > 0
        self.points, self.masses, self.step = points[kept], masses[kept], 0.0
        self._logs = np.log(self.masses)

    def log_moment(self, tilt: float) -> tuple[float, float, float]:
        """Ln E[e^(tilt X)], and mean and variance of the tilted law."""
        exponents = tilt * self.points + self._logs
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        mean = float((weights * self.points).sum()) / total  # not a dot product: its threads cost more than they save
        return top + log(total), mean, float((weights * (self.points - mean) ** 2).sum()) / total


class Lattice(Atoms):
    """A law on whole multiples of a step: ``masses[i]`` at ``places[i] * step``."""

    def __init__(self, places: Any, masses: Any, step: float) -> None:
        super().__init__(places * step, masses)
        self.places, self.step = places[masses > 0], step

    def around_circle(self, tilt: float, size: int) -> Any:
        """The tilted law, wound around a circle of so many points."""
        weights = np.exp(tilt * self.points + self._logs - self.log_moment(tilt)[0])
        return np.bincount(self.places % size, weights=weights, minlength=size)


@dataclass(frozen=True)
class Sum:
    """A sum of independent lattice variables of one step, each with how often it occurs."""

    parts: tuple[tuple[Any, int], ...]

    @property
    def step(self) -> float:
        return float(self.parts[0][0].step)

    @property
    def top(self) -> float:
        """The largest value of the sum."""
        return sum(count * float(part.points.max()) for part, count in self.parts)

    def log_moment(self, tilt: float) -> tuple[float, float, float]:
        """Ln E[e^(tilt S)], and mean and variance of the tilted sum."""
        found = [(count, part.log_moment(tilt)) for part, count in self.parts]
        total, mean, variance = (sum(count * moments[i] for count, moments in found) for i in range(3))
        return total, mean, variance

    def tilt_to(self, center: float) -> float | None:
        """The tilt that moves the mean to ``center``; 0 where it is there or beyond already, None where no tilt reaches it."""
        if self.log_moment(0.0)[1] >= center:
            return 0.0
        if self.top <= center:
            return None
        low, high, tilt = 0.0, inf, 0.0
        for _ in range(60):  # Newton's steps, kept inside what is known; any tilt gives a valid result, a near one a sharp one
            _, mean, variance = self.log_moment(tilt)
            if abs(mean - center) <= 0.02 * sqrt(variance):
                return tilt
            low, high = (tilt, high) if mean < center else (low, tilt)
            aim = tilt + (center - mean) / max(variance, 1e-300)
            limit = 2 * low + 1 / sqrt(max(variance, self.step**2, 1e-300)) if high == inf else (low + high) / 2
            tilt = aim if low < aim < (min(high, 4 * limit) if high == inf else high) else limit
        return tilt

    def around(self, center: float, tilt: float, reach: float = REACH) -> tuple[Any, Any, float]:
        """Points of a window around the tilted mean, the tilted masses there, and ln E[e^(tilt S)]; the last point is the window's end."""
        log_total, mean, variance = self.log_moment(tilt)
        half = max(ceil((reach * sqrt(variance) + abs(mean - center)) / self.step) + 2, 4)
        size = 1 << (min(2 * half, MOST_POINTS) - 1).bit_length()
        start = round(mean / self.step) - size // 2
        spectrum = np.zeros(size // 2 + 1, dtype=complex)
        for part, count in self.parts:
            with np.errstate(divide="ignore", invalid="ignore"):  # of a frequency that is not there: minus infinity, with no angle
                spectrum += count * np.log(np.fft.rfft(part.around_circle(tilt, size)))
        kept = np.flatnonzero(spectrum.real > -80)
        powers = np.zeros_like(spectrum)
        powers[kept] = np.exp(spectrum[kept])
        density = np.fft.irfft(powers, size)
        order = (start + np.arange(size)) % size
        return (start + np.arange(size)) * self.step, np.maximum(density[order], 0.0), log_total

    def above(self, end: float, growth: bool = False) -> float:
        """Chernoff's bound on P[S > end], or, with ``growth``, on E[S; S > end]."""
        tilt = self.tilt_to(end)  # the best one; any is valid
        if tilt is None:
            return 0.0 if self.top <= end else inf
        if growth:
            tilt = max(tilt, 1 / end)  # s e^(-tilt s) must fall from ``end`` on
        exponent = self.log_moment(tilt)[0] - tilt * end
        return (end if growth else 1.0) * exp(min(exponent, 700.0))
