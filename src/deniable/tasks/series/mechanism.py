"""Sums over time with central noise: linear questions about the series, noise on the answers, and the series from these.

Every mechanism here asks K numbers of the series (its points, some of them, or coefficients of low frequencies), rounds them to a grid of
2^-bits, adds exact integer noise scaled to what one person can change, and makes a series of them again. The noise reaches point t through
known weights, so its error there is known. What is lost because K is less than n (the *reconstruction error*) is not noise: nobody can tell
it without the data, and intervals do not cover it.

Guarantee: (epsilon, delta) for one person's whole series, whose numbers lie between 0 and 1 at every point; delta = 0 draws discrete
Laplace noise, otherwise discrete Gaussian. Rounding two neighbors' answers can part them by one more step: that is in the sensitivity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from typing import ClassVar

import numpy as np

from deniable.accounting.event import ADD_REMOVE, NEIGHBORS, Event, check_neighbors
from deniable.central.gaussian import Gaussian
from deniable.central.laplace import Laplace
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.series.estimate import series_estimate

FLOATS = 2.0**-48
"""More than what a transform in floating point can lose of an answer, relative to the length of the series."""
LARGEST = 2.0**36
_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class SeriesMechanism(ABC):
    """A mechanism that gives K noisy answers about a series of ``points`` sums, and the series from them."""

    points: int
    epsilon: float
    delta: float = 0.0
    neighbors: str = ADD_REMOVE

    name: ClassVar[str]
    bits: ClassVar[int] = 8
    """Answers are rounded to multiples of 2^-bits."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_neighbors(self.neighbors)
        check_whole("points", self.points, 1, fix="pass the number of points in time")
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float) or not 0 <= self.delta < 1:
            raise ParameterError("delta", self.delta, allowed="from 0 on, below 1", fix="use 0 for Laplace noise, 1e-6 for Gaussian")

    # --- what each mechanism provides ---

    @property
    @abstractmethod
    def questions(self) -> int:
        """The number of questions."""

    @abstractmethod
    def ask(self, series: Array) -> Array:
        """Return the exact answers for a series, or for several along the last axis."""

    @abstractmethod
    def reconstruct(self, answers: Array) -> Array:
        """Return the series behind the answers; linear."""

    @abstractmethod
    def sensitivity(self, norm: int) -> float:
        """The largest change of the answers by one person in the norm 1 or 2, before rounding, rounded up."""

    # --- what follows ---

    @property
    def steps(self) -> int:
        """The same for the rounded answers, in whole steps of the grid: what changes by x steps changes by less than x + 1 when rounded."""
        norm, scale = 2 if self.delta else 1, 1 << self.bits
        each = 1 + 2 * FLOATS * LARGEST * sqrt(self.points) * scale  # by rounding, and by the transforms of both neighbors
        return ceil(self.sensitivity(norm) * scale + each * (self.questions if norm == 1 else sqrt(self.questions)))

    @cached_property
    def noise(self) -> Laplace | Gaussian:
        """The noise on each answer, in steps."""
        if self.delta:
            return Gaussian(epsilon=self.epsilon, delta=self.delta, sensitivity=self.steps, neighbors=self.neighbors)
        return Laplace(epsilon=self.epsilon, sensitivity=self.steps, neighbors=self.neighbors)

    @property
    def event(self) -> Event:
        """The privacy cost of a release, as an event."""
        return self.noise.event

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for each person."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            model="central",
            unit="a person's whole series",
            neighbors=NEIGHBORS[self.neighbors],
            honest="the party that holds the data",
        )

    def release(self, series: Array, *, source: Source | None = None) -> Estimate:
        """Return the noisy series; DomainError unless ``series`` is ``points`` finite numbers."""
        series = check_series(series, self.points)
        asked = _nearest(self.ask(series) * 2**self.bits)
        answers = np.asarray(self.noise.release(asked, source=source), dtype=float) / 2**self.bits
        return series_estimate(self, np.asarray(self.reconstruct(answers)), noise=self.stderr**2, step=self.spacing)

    @property
    def stderr(self) -> Array:
        """The standard error at each point, of the noise."""
        return np.asarray(np.sqrt(self._weights[0] * self.noise.variance) / (1 << self.bits))

    @property
    def spacing(self) -> Array:
        """How much a step of every answer changes each point."""
        return np.asarray(self._weights[2] / (1 << self.bits))

    @property
    def kurtosis(self) -> Array:
        """The excess kurtosis of the noise at each point: 3 for a single Laplace, next to none for a sum of many."""
        squares, fourths, _ = self._weights
        alone = 0.0 if self.delta else 3.0
        return np.asarray(alone * fourths / np.maximum(squares, 1e-300) ** 2)

    @property
    def lossless(self) -> bool:
        """True if noise is the only error of a released series."""
        return self.questions == self.points

    @cached_property
    def _weights(self) -> tuple[Array, Array, Array]:
        """At each point, the sums of the squares, fourth powers and absolute values of the weights with which the answers reach it."""
        squares, fourths, sizes = np.zeros(self.points), np.zeros(self.points), np.zeros(self.points)
        rows = max(1, _AT_ONCE // self.points)
        for start in range(0, self.questions, rows):
            part = np.eye(min(rows, self.questions - start), self.questions, k=start)
            reach = self.reconstruct(part) ** 2
            squares += reach.sum(axis=0)
            fourths += (reach**2).sum(axis=0)
            sizes += np.sqrt(reach).sum(axis=0)
        return squares, fourths, sizes


def check_series(series: Array, points: int) -> Array:
    """Return the series as floats; DomainError unless it is this many finite numbers."""
    series = np.asarray(series, dtype=float)
    if series.shape != (points,):
        raise DomainError("series", series.shape, allowed=f"{points} numbers", fix="pass one sum for each point in time")
    if not np.all(np.isfinite(series)) or np.any(np.abs(series) >= LARGEST):
        raise DomainError("series", "a number that is not finite or too large", allowed="numbers below 2^36", fix="check the data")
    return series


def _nearest(steps: Array) -> Array:
    """Whole steps, up at a half: two answers one step apart stay so, which rounding to even does not keep (0.5 and 1.5 become 0 and 2)."""
    low = np.floor(steps)
    return (low + (steps - low >= 0.5)).astype(np.int64)
