"""EFPA: coefficients of low frequencies, where the data choose their number, privately.

Half of epsilon chooses k by the exponential mechanism, the other half adds noise to the coefficients that are kept. With T(K) the length of
what is lost and lambda(K) the scale of the noise, the expected error in the Euclidean norm is about T(K) + sqrt(2 K) lambda(K): that is the
score, and only its first term looks at the data. Adding or removing a person changes the series by a vector no longer than sqrt(n), and so
the length of any part of it, which is the sensitivity. Scores are rounded down to a grid: two neighbors' differ by less than one step more.

Never much worse than noise on every point, which a fixed k is at many people.

References: Acs, Castelluccia, Chen 2012.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor, sqrt

import numpy as np

from deniable.accounting.combinations import Sequential
from deniable.accounting.event import ADD_REMOVE, Event, check_neighbors
from deniable.accounting.leaves import Pure
from deniable.central.selection import ExponentialMechanism
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.kernels.compiled import Array
from deniable.tasks.series.estimate import promised
from deniable.tasks.series.mechanism import FLOATS, LARGEST, check_series
from deniable.tasks.series.perturbation import BASES, FPA
from deniable.tasks.series.sensitivity import sequence_sensitivity

STEPS = 16
"""Scores are rounded to so many steps in one."""


@typed
@dataclass(frozen=True, kw_only=True)
class EFPA:
    """A series of ``points`` sums by as many low frequencies as it needs; ``release`` returns an estimate whose ``mechanism.k`` was chosen.

    >>> EFPA(points=2000, epsilon=1.0).guarantee.epsilon
    1.0
    """

    points: int
    epsilon: float
    neighbors: str = ADD_REMOVE
    basis: str = "fourier"
    """"fourier" for seasons, "cosine" for trends."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_neighbors(self.neighbors)
        self._kept(1)  # refuses a length or a basis that is none

    def _kept(self, k: int) -> FPA:
        """The release with the second half of epsilon."""
        return FPA(points=self.points, k=k, epsilon=self.epsilon / 2, neighbors=self.neighbors, basis=self.basis)

    @property
    def choices(self) -> range:
        """The numbers of frequencies among which it chooses."""
        return range(1, (self.points // 2 + 1 if self.basis == "fourier" else self.points) + 1)

    @property
    def selection(self) -> ExponentialMechanism:
        """The choice, which takes the first half of epsilon."""
        length = sequence_sensitivity(self.points, norm=2, neighbors=self.neighbors)
        lost = 2 * FLOATS * LARGEST * self.points  # by the transforms of both neighbors
        return ExponentialMechanism(epsilon=self.epsilon / 2, sensitivity=ceil(STEPS * (length + lost) + 1), neighbors=self.neighbors)

    @property
    def event(self) -> Event:
        """The choice and, whatever it is, one release of coefficients."""
        return Sequential(events=(self.selection.event, Pure(epsilon=self.epsilon / 2, neighbors=self.neighbors)))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for each person."""
        return replace(self._kept(1).guarantee, epsilon=self.epsilon)

    def scores(self, series: Array) -> list[int]:
        """Minus the expected error for each choice, in steps."""
        basis = BASES[self.basis](self.points)
        squares = basis.coefficients(series, self.points) ** 2
        lost = np.sqrt(np.append(np.cumsum(squares[::-1])[::-1], 0.0))  # from each coefficient on
        return [floor(-STEPS * (lost[basis.count(k)] + self._noise(k))) for k in self.choices]

    def _noise(self, k: int) -> float:
        """The length of the noise on so many frequencies; it does not look at the data."""
        kept = self._kept(k)
        return sqrt(2 * kept.questions) * kept.sensitivity(1) / kept.epsilon

    def release(self, series: Array, *, source: Source | None = None) -> Estimate:
        """Return the noisy series."""
        series = check_series(series, self.points)
        kept = self._kept(self.choices[self.selection.choose(self.scores(series), source)])
        return promised(kept.release(series, source=source), self)
