"""The sum of numbers: rounded to a few points, and each point sent by k-ary randomized response through a shuffler."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import exp
from typing import Any, ClassVar

import numpy as np

from deniable.client.grr import GRR
from deniable.client.piecewise import Piecewise
from deniable.contract.arguments import typed
from deniable.contract.numbers import LARGEST_STEPS
from deniable.contract.record import wire
from deniable.core.estimate import NumberEstimate
from deniable.errors import ParameterError
from deniable.shuffle.amplification import local_epsilon_for
from deniable.shuffle.certificate import Certificate, certificate
from deniable.shuffle.dummies import MOST_NOISE, dummies_for, dummy_delta
from deniable.shuffle.event import ShuffledGRR
from deniable.shuffle.protocol import MOST_LOCAL, SingleMessage
from deniable.shuffle.sums import RANGE_END, CrowdSum, settle_range, shuffled_sum


@typed
@dataclass(frozen=True, kw_only=True)
class ShuffledRealSum(SingleMessage):
    """Everyone rounds their number to one of ``steps`` + 1 points, at random and without bias, and sends it, or, less often, another point.

    Guarantee: (epsilon, delta) with an honest shuffler and n honest people, by the privacy blanket of ``GRR`` on the points: rounding mixes
    its laws, and no mixture is worse than its worst part. Without an honest shuffler only the local epsilon holds.

    Estimator: n times the mean of ``Piecewise`` with a window of one point, which is this very law. With a share gamma of even noise, the
    variance of the sum is n (gamma / 3 + 1 / (4 steps^2)) / (1 - gamma)^2 in ranges squared, at worst: of order n^(1/3).
    ``steps`` balances the two, unless it is given.

    Cost: log2(steps + 1) bits; three random words; calibration takes a second. ``SplitAndMixSum`` has the error of a trusted curator, for
    some ten messages each and no local promise.

    >>> protocol = ShuffledRealSum(low=0, high=1, epsilon=1.0, delta=1e-6, n=100_000)
    >>> protocol.steps, round(protocol.gamma, 4), round(protocol.variance() ** 0.5, 1)
    (15, 0.0067, 18.6)

    References: Balle, Bell, Gascon, Nissim 2019.
    """

    result: ClassVar[str] = "sum"

    low: Any = field(metadata=wire(form=RANGE_END))
    high: Any = field(metadata=wire(form=RANGE_END))
    steps: int = None  # type: ignore[assignment]  # resolved at once, below
    epsilon: float
    delta: float
    n: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is None:
            object.__setattr__(self, "steps", best_steps(self.epsilon, self.delta, self.n))
        if type(self.steps) is not int or not 1 <= self.steps < LARGEST_STEPS:
            raise ParameterError("steps", self.steps, allowed=f"an integer from 1 to {LARGEST_STEPS - 1}", fix="leave it out for the best")
        settle_range(self)

    @cached_property
    def spec(self) -> Piecewise:
        """``GRR`` on the points, as the lattice mechanism that it is."""
        local = local_epsilon_for(epsilon=self.epsilon, delta=self.delta, n=self.n, build=self._points, largest=MOST_LOCAL)
        return Piecewise(low=self.low, high=self.high, steps=self.steps, window=1, epsilon=local)

    def _points(self, local: float) -> GRR:
        return GRR(domain_size=self.steps + 1, epsilon=local)

    @property
    def proof(self) -> Certificate:
        return certificate(spec=self._points(self.spec.epsilon), delta=self.delta, n=self.n)

    @property
    def gamma(self) -> float:
        """The share of messages that are even noise."""
        return float(1 - self.spec.line[1])

    @property
    def event(self) -> ShuffledGRR:
        return ShuffledGRR(domain_size=self.steps + 1, epsilon0=self.spec.epsilon, n=self.n)

    def estimated(self, found: Any) -> NumberEstimate:
        """The sum of all numbers; divided by ``n``, it is the mean."""
        return shuffled_sum(self, CrowdSum(found.law), found.bias)

    def variance(self) -> float:
        """The variance of the *sum* of n numbers, at worst over what they are."""
        return self.n**2 * self.spec.variance(self.n)


def best_steps(epsilon: float, delta: float, n: int) -> int:
    """The steps with the smallest worst-case variance, where each point needs about as much noise as a bin of dummies does.

    A choice about errors alone: the noise is calibrated afterwards, exactly.
    """
    if dummy_delta(MOST_NOISE, epsilon) > delta:
        return 1  # noise that leaves no more to tell
    steps = np.arange(1, 4096)
    gamma = (steps + 1) * np.minimum(dummies_for(epsilon, delta) / n, 1 / (exp(epsilon) + steps))  # the local noise is always enough
    return int(steps[np.argmin((gamma / 3 + 1 / (4.0 * steps**2)) / (1 - gamma) ** 2)])
