"""The law of a distribution: cumulative shares whose errors come from drawing the tally anew and estimating again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from deniable.contract.protocol import Progress
from deniable.contract.replay import ReplaySource
from deniable.contract.source import Source
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.core.resampling import REPLICATES
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.mean import MeanEstimate

FEWEST, MOST = 20, 100_000


class Fit(ABC):
    """A way from a tally to the shares of a grid: none of them negative, adding up to one."""

    how: str
    """How the shares are found, in a word or two."""
    bias: str
    """Why they are biased."""

    @property
    @abstractmethod
    def shares(self) -> Array:
        """The estimated share of people at each grid point; not a number if nobody reported."""

    @property
    @abstractmethod
    def mean(self) -> MeanEstimate:
        """The mean, without the bias of the shares, and with its error."""

    @abstractmethod
    def draw(self, replicates: int, source: Source | None, progress: Progress | None) -> Array:
        """Return the shares of so many tallies, drawn as if the estimate were the truth, one set in each row."""

    def replayed(self, key: str) -> Array:
        """Return the replicates that everyone gets who has the same tally: what is drawn anew follows from what is public."""
        return self.draw(REPLICATES, ReplaySource.from_key(key), lambda done, of: None)  # for services: nobody looks at their terminal


@dataclass(frozen=True, eq=False)
class Replicates(Law):
    """Cumulative shares of a ``fit``, with errors from ``replicates``: shares of tallies drawn anew, drawn when they are first needed.

    What the estimate then misses on average is subtracted, and, not being known better, widens the intervals. They cover the mechanism's
    noise and that the people are a sample.
    """

    n: int
    fit: Fit
    replicates: Array | None = None

    @property
    def point(self) -> Array:
        return np.cumsum(self.fit.shares)

    @cached_property
    def again(self) -> Array:
        """The replicates, drawn when first needed."""
        if self.replicates is not None:
            return self.replicates
        found = self.drawn().replicates
        return np.zeros((0, len(self.point))) if found is None else found

    def drawn(self, replicates: int = REPLICATES, source: Source | None = None, progress: Progress | None = None) -> Replicates:
        """Return this law with errors from so many tallies drawn anew."""
        if isinstance(replicates, bool) or not isinstance(replicates, int) or not FEWEST <= replicates <= MOST:
            raise ParameterError("replicates", replicates, allowed=f"an integer from {FEWEST} to {MOST}", fix=f"use {REPLICATES}")
        return replace(self, replicates=self.fit.draw(replicates, source, progress) if self.n else np.zeros((0, len(self.point))))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return self.settled().variance(at)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        return self.settled().limits(alpha)

    def select(self, positions: Array) -> SomeShares:
        return self.settled().select(positions)

    def settled(self) -> Cumulative:
        return self._settled

    @cached_property
    def _settled(self) -> Cumulative:
        found, size = self.point, len(self.point)
        if not self.n:
            return Cumulative(0, found, np.zeros(size), np.full(size, np.inf))
        again = np.cumsum(self.again, axis=1)
        missed, noise = again.mean(axis=0) - found, again.var(axis=0, ddof=1)
        found[-1], missed[-1], noise[-1] = 1.0, 0.0, 0.0  # everybody is at or below the last point
        return Cumulative(self.n, found, missed, noise)


@dataclass(frozen=True, eq=False)
class Cumulative(Law):
    """Cumulative shares at rising points; ``missed`` is the bias of each, as far as it is known, and ``noise`` its variance."""

    n: int
    shares: Array
    missed: Array
    noise: Array

    @property
    def point(self) -> Array:
        return self.shares

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return self.noise

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        """They rise, as what they are about does."""
        if not self.n:  # of nobody, everything is possible
            return np.zeros(len(self.shares)), np.ones(len(self.shares))
        reach = scipy.stats.norm.isf(alpha / 2) * np.sqrt(self.noise + self.missed**2)
        low, high = (np.clip(self.shares - self.missed + side * reach, 0.0, 1.0) for side in (-1, 1))
        return np.maximum.accumulate(low), np.asarray(np.minimum.accumulate(high[::-1])[::-1])

    def select(self, positions: Array) -> SomeShares:
        return SomeShares(self, np.arange(len(self.shares))[positions])


@dataclass(frozen=True, eq=False)
class SomeShares(Law):
    """Some of the cumulative shares at rising points, in any order, with the limits that they have among all."""

    whole: Cumulative
    at: Array

    @property
    def n(self) -> int:
        """How many people reported."""
        return self.whole.n

    @property
    def point(self) -> Array:
        return np.asarray(self.whole.point[self.at])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self.whole.noise[self.at])

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        """Among all, each at its own alpha: they rise together."""
        if not np.ndim(alpha):
            low, high = self.whole.limits(alpha)
            return low[self.at], high[self.at]
        sides = [self.whole.limits(each) for each in np.broadcast_to(alpha, self.at.shape)]
        low, high = (np.array([side[end][place] for side, place in zip(sides, self.at, strict=True)]) for end in (0, 1))
        return low, high

    def select(self, positions: Array) -> SomeShares:
        return replace(self, at=self.at[positions])
