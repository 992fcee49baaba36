"""How many say yes: randomized response through a shuffler."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from deniable.client.rr import RR
from deniable.contract.arguments import typed
from deniable.shuffle.amplification import local_epsilon_for
from deniable.shuffle.certificate import Certificate, certificate
from deniable.shuffle.event import Shuffled
from deniable.shuffle.protocol import MOST_LOCAL, SingleMessage


@typed
@dataclass(frozen=True, kw_only=True)
class ShuffledBinarySum(SingleMessage):
    """Everyone says the truth, or, with probability p, the outcome of a fair coin. The shuffler hides who said what.

    Guarantee: (epsilon, delta) with an honest shuffler and n honest people, by the privacy blanket of randomized response; ln((2 - p) / p)
    without. p is the smallest that this bound allows. The bound is not tight: at epsilon = 1 and delta = 1e-6, 1,000 people have a true
    delta of 1.15e-7.

    Estimator: (ones - n p / 2) / (1 - p), variance n (p / 2) (1 - p / 2) / (1 - p)^2, whatever people hold: about half of ``coins``, which
    does not grow with n. So the error of the *share* falls like 1 / n, as with a trusted curator, and not like 1 / sqrt(n).

    Cost: one bit; one random word.

    >>> protocol = ShuffledBinarySum(epsilon=1.0, delta=1e-6, n=100_000)
    >>> round(protocol.coins, 1), round(protocol.variance() ** 0.5, 1), round(protocol.guarantee.local_epsilon, 2)
    (85.2, 6.5, 7.76)
    >>> estimate = protocol.run([1] * 30_000 + [0] * 70_000)
    >>> bool(abs(estimate.counts[1] - 30_000) < 6 * protocol.variance() ** 0.5)
    True

    References: Cheu, Smith, Ullman, Zeber, Zhilyaev 2019 (whose constant asks for 973 coins where 85.2 are enough).
    """

    result: ClassVar[str] = "count"

    epsilon: float
    delta: float
    n: int

    @cached_property
    def spec(self) -> RR:
        """Randomized response with the largest local epsilon that the batch allows."""
        local = local_epsilon_for(epsilon=self.epsilon, delta=self.delta, n=self.n, build=lambda e: RR(epsilon=e), largest=MOST_LOCAL)
        return RR(epsilon=local)

    @property
    def proof(self) -> Certificate:
        return certificate(spec=self.spec, delta=self.delta, n=self.n)

    @property
    def coins(self) -> float:
        """How many of n people toss the fair coin, on average: lambda = n p in the literature."""
        return float(2 * self.spec.q * self.n)

    @property
    def event(self) -> Shuffled:
        return Shuffled(epsilon0=self.spec.epsilon, n=self.n, binary=True)

    def variance(self) -> float:
        return self.spec.variance(self.n)
