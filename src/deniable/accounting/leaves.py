"""The leaves: one mechanism each, by what is known about it.

Each states the relation that its parameters hold for; ``sensitivity`` is the largest change of the exact answer under that relation.
"""

from __future__ import annotations

from math import expm1, inf

from deniable.accounting.event import ADD_REMOVE, REPLACE, Event, Leaf, event, positive, positive_integer
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.errors import ParameterError


@event
class Pure(Leaf):
    """Any epsilon-DP mechanism: no output is more than e^epsilon times as likely for one neighbor as for the other.

    Every such pair of laws is a function of randomized response, which is therefore the worst case (Kairouz, Oh, Viswanath 2015).
    """

    epsilon: float
    neighbors: str = REPLACE

    def check(self) -> None:
        positive("epsilon", self.epsilon, zero=True)

    def grouped(self, size: int) -> Event:
        return Pure(epsilon=size * self.epsilon, neighbors=self.neighbors)


@event
class Approximate(Leaf):
    """Any (epsilon, delta)-DP mechanism."""

    epsilon: float
    delta: float
    neighbors: str = REPLACE

    def check(self) -> None:
        positive("epsilon", self.epsilon, zero=True)
        positive("delta", self.delta, zero=True, below=1.0)

    def grouped(self, size: int) -> Event:
        large = size * self.epsilon > 700  # its growth has no double, and delta is at most 1
        growth = (inf if large else expm1(size * self.epsilon) / expm1(self.epsilon)) if self.epsilon else float(size)
        delta = min(self.delta * growth * (1 + 1e-14), 1 - 1e-16) if self.delta else 0.0
        return Approximate(epsilon=size * self.epsilon, delta=delta, neighbors=self.neighbors)


@event
class BoundedRange(Leaf):
    """The exponential mechanism and report-noisy-max: for two neighbors all ln-ratios lie in an interval of length epsilon.

    It is epsilon-DP and, by Hoeffding's lemma, (epsilon^2 / 8)-zCDP: a quarter of what epsilon alone would say.
    """

    epsilon: float
    neighbors: str = REPLACE

    def check(self) -> None:
        positive("epsilon", self.epsilon)

    def grouped(self, size: int) -> Event:
        return BoundedRange(epsilon=size * self.epsilon, neighbors=self.neighbors)


@event
class LaplaceEvent(Leaf):
    """A number plus Laplace noise of a scale: epsilon = sensitivity / scale. Also covers noise that is rounded afterwards."""

    scale: float
    sensitivity: float = 1.0
    neighbors: str = ADD_REMOVE

    def check(self) -> None:
        positive("scale", self.scale)
        positive("sensitivity", self.sensitivity)

    def grouped(self, size: int) -> Event:
        return LaplaceEvent(scale=self.scale, sensitivity=size * self.sensitivity, neighbors=self.neighbors)


@event
class DiscreteLaplaceEvent(Leaf):
    """An integer plus noise with P(z) proportional to e^(-|z| / scale)."""

    scale: float
    sensitivity: int = 1
    neighbors: str = ADD_REMOVE

    def check(self) -> None:
        positive("scale", self.scale)
        positive_integer("sensitivity", self.sensitivity)

    def grouped(self, size: int) -> Event:
        return DiscreteLaplaceEvent(scale=self.scale, sensitivity=size * self.sensitivity, neighbors=self.neighbors)


@event
class GaussianEvent(Leaf):
    """A number, or a vector of them, plus Gaussian noise of standard deviation ``sigma``; ``sensitivity`` is Euclidean."""

    sigma: float
    sensitivity: float = 1.0
    neighbors: str = ADD_REMOVE

    def check(self) -> None:
        positive("sigma", self.sigma)
        positive("sensitivity", self.sensitivity)

    def grouped(self, size: int) -> Event:
        return GaussianEvent(sigma=self.sigma, sensitivity=size * self.sensitivity, neighbors=self.neighbors)


@event
class DiscreteGaussianEvent(Leaf):
    """One integer plus noise with P(z) proportional to e^(-z^2 / (2 sigma^2))."""

    sigma: float
    sensitivity: int = 1
    neighbors: str = ADD_REMOVE

    def check(self) -> None:
        positive("sigma", self.sigma)
        positive_integer("sensitivity", self.sensitivity)

    def grouped(self, size: int) -> Event:
        return DiscreteGaussianEvent(sigma=self.sigma, sensitivity=size * self.sensitivity, neighbors=self.neighbors)


@event
class ZCDP(Leaf):
    """Any rho-zCDP mechanism: its Renyi divergence of order a is at most rho a, for all a > 1."""

    rho: float
    neighbors: str = ADD_REMOVE

    def check(self) -> None:
        positive("rho", self.rho, zero=True)

    def grouped(self, size: int) -> Event:
        return ZCDP(rho=size**2 * self.rho, neighbors=self.neighbors)


@event
class RDP(Leaf):
    """A mechanism known by its Renyi divergences, ``epsilons``, at some ``orders`` above 1."""

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]
    neighbors: str = ADD_REMOVE

    def check(self) -> None:
        if not self.orders or len(self.orders) != len(self.epsilons) or not all(order > 1 for order in self.orders):
            allowed = "one epsilon for each order, all orders above 1"
            raise ParameterError(
                "orders", (self.orders, self.epsilons), allowed=allowed, fix="write orders=(2.0, 4.0), epsilons=(0.1, 0.2)"
            )
        for value in self.epsilons:
            positive("epsilons", value, zero=True)


@typed
def leaf_of(guarantee: Guarantee) -> Leaf:
    """The leaf behind a guarantee given elsewhere, a spec's for instance.

    >>> leaf_of(Guarantee(epsilon=1.0))
    Pure(epsilon=1.0, neighbors='replace')
    """
    if guarantee.delta:
        return Approximate(epsilon=guarantee.epsilon, delta=guarantee.delta)
    return Pure(epsilon=guarantee.epsilon)
