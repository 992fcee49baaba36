"""Distributed noise: every party adds a share, and the honest parties' shares together have exactly the law that is needed.

With h the number of honest parties who stay to the end::

    Laplace    a share is X - X', each negative binomial of shape 1 / h and ratio a           h of them: P(z) proportional to a^|z|
    Skellam    a share is X - X', each Poisson of mean variance / (2 h)                       h of them: Skellam of this variance

Both families are closed under addition, so shares of others only add independent noise: with U parties the variance is U / h times what a
trusted curator's would be, and the standard deviation 1 / sqrt(gamma) times, for gamma = h / U. The ratio a is a fraction, not below
e^(-epsilon / sensitivity); draws are exact (``central.inversion``).

**Skellam** for an integer query with sensitivities D_1 and D_2 has, at every integer order a > 1, a Renyi divergence of at most::

    a D_2^2 / (2 v) + min(((2 a - 1) D_2^2 + 6 D_1) / (4 v^2), 3 D_1 / (2 v))

Each party adding Laplace noise of its own does not work: such shares do not add up to a Laplace variable.

References: Goryczka, Xiong 2017; Bagdasaryan et al. 2022 (negative binomial shares); Agarwal, Kairouz, Liu 2021 (Skellam).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isfinite, sqrt

import numpy as np

from deniable.accounting.bill import account
from deniable.accounting.calibration import calibrate, doubled
from deniable.accounting.event import ADD_REMOVE, Event
from deniable.accounting.leaves import RDP, Pure
from deniable.central.enclosure import exp_bounds
from deniable.central.inversion import PoissonNoise, PolyaNoise
from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon, exact_epsilon
from deniable.contract.source import Source
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

ORDERS = tuple(float(order) for order in range(2, 257))
LARGEST_MEAN = 512
_RATIO_BITS = 64


class NoiseShares(ABC):
    """The noise of a sum, in shares for ``honest`` parties."""

    honest: int

    @abstractmethod
    def draw(self, length: int, source: Source | None = None) -> Array:
        """One party's share for each of ``length`` numbers."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """That of the honest parties together; each party adds 1 / honest of it."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """What the sum costs, if so many parties are honest."""


@dataclass(frozen=True, kw_only=True)
class LaplaceShares(NoiseShares):
    """Pure epsilon: discrete Laplace noise for sums that a party changes by ``sensitivity`` steps at most, absolute values added up.

    >>> shares = LaplaceShares(epsilon=1.0, sensitivity=10, honest=800)
    >>> round(shares.variance**0.5, 2)
    14.14
    """

    epsilon: float
    sensitivity: int
    honest: int
    neighbors: str = ADD_REMOVE

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        _check(self.sensitivity, self.honest)

    @cached_property
    def ratio(self) -> Fraction:
        """A: the smallest fraction of 2^64 that is certainly not below e^(-epsilon / sensitivity)."""
        _, high = exp_bounds(Fraction(exact_epsilon(self.epsilon)) / self.sensitivity, _RATIO_BITS)
        if high >= 1 << _RATIO_BITS:
            raise ParameterError("sensitivity", self.sensitivity, allowed="fewer steps", fix="take fewer bits after the point")
        return Fraction(high, 1 << _RATIO_BITS)

    @cached_property
    def _law(self) -> PolyaNoise:
        return PolyaNoise(Fraction(1, self.honest), self.ratio)

    def draw(self, length: int, source: Source | None = None) -> Array:
        up, down = self._law.draws(length, source), self._law.draws(length, source)
        return up - down

    @property
    def variance(self) -> float:
        return float(2 * self.ratio / (1 - self.ratio) ** 2)

    @property
    def event(self) -> Event:
        return Pure(epsilon=self.epsilon, neighbors=self.neighbors)


@typed
@dataclass(frozen=True, kw_only=True)
class SkellamShares(NoiseShares):
    """(epsilon, delta): Skellam noise for vectors that a party changes by ``sensitivity_1`` and ``sensitivity_2`` steps at most.

    >>> shares = SkellamShares(epsilon=1.0, delta=1e-6, sensitivity_1=6245, sensitivity_2=1000.0, honest=800)
    >>> round(shares.variance**0.5 / 1000, 3)
    4.531
    """

    epsilon: float
    delta: float
    sensitivity_1: float
    sensitivity_2: float
    honest: int
    neighbors: str = ADD_REMOVE

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        _check(ceil(self.sensitivity_1) if isfinite(self.sensitivity_1) else 0, self.honest)
        if not 0 < self.sensitivity_2 <= self.sensitivity_1 * (1 + 1e-9) or not 0 < self.delta < 1:
            received = (self.delta, self.sensitivity_1, self.sensitivity_2)
            allowed = "delta between 0 and 1, and norms of one vector: the second is not above the first"
            raise ParameterError("delta, sensitivities", received, allowed=allowed, fix="use 1e-6 for delta, and norms of the same vector")

    @cached_property
    def _mean(self) -> Fraction:
        """Of one Poisson variable of a share, rounded up."""

        def keeps(variance: float) -> bool:
            return account(self._event(variance), delta=self.delta).epsilon <= self.epsilon

        enough = doubled(keeps, start=self.sensitivity_2**2, limit=2.0**80, name="epsilon")
        least = calibrate(keeps, safe=enough, risky=self.sensitivity_2**2 * 1e-6, tolerance=1e-9, name="variance")
        return Fraction(ceil(Fraction(least) / (2 * self.honest) * (1 << 32)), 1 << 32)

    def _event(self, variance: float) -> RDP:
        one, two = self.sensitivity_1, self.sensitivity_2**2
        found = [
            order * two / (2 * variance) + min(((2 * order - 1) * two + 6 * one) / (4 * variance**2), 3 * one / (2 * variance))
            for order in ORDERS
        ]
        return RDP(orders=ORDERS, epsilons=tuple(value * (1 + 1e-12) for value in found), neighbors=self.neighbors)

    @property
    def _pieces(self) -> int:
        """A Poisson variable is drawn as the sum of so many: tables of large ones would be long."""
        return ceil(self._mean / LARGEST_MEAN)

    @cached_property
    def _law(self) -> PoissonNoise:
        return PoissonNoise(self._mean / self._pieces)

    def draw(self, length: int, source: Source | None = None) -> Array:
        up, down = (self._law.draws(length * self._pieces, source).reshape(length, -1).sum(axis=1) for _ in range(2))
        return np.asarray(up - down)

    @property
    def variance(self) -> float:
        return float(2 * self.honest * self._mean)

    @property
    def event(self) -> Event:
        return self._event(self.variance)


def error_factor(honest: int, parties: int) -> float:
    """How much larger the standard deviation is than a trusted curator's, if all parties add their shares: 1 / sqrt(gamma).

    >>> round(error_factor(500, 1000), 2)
    1.41
    """
    _check(1, honest)
    return sqrt(parties / honest)


def _check(sensitivity: int, honest: int) -> None:
    if type(sensitivity) is not int or sensitivity < 1:
        raise ParameterError(
            "sensitivity", sensitivity, allowed="an integer from 1 on", fix="give it in steps of the grid, rounding included"
        )
    if type(honest) is not int or honest < 1:
        raise ParameterError("honest", honest, allowed="an integer from 1 on", fix="give 1 or more: at least one party must be honest")
