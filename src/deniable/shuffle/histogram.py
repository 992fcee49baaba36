"""How many people hold each value: k-ary randomized response through a shuffler, one message each."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from deniable.client.grr import GRR
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain, IndexRange
from deniable.errors import ParameterError
from deniable.shuffle.amplification import local_epsilon_for
from deniable.shuffle.certificate import Certificate, certificate
from deniable.shuffle.event import ShuffledGRR
from deniable.shuffle.protocol import MOST_LOCAL, SingleMessage


@typed
@dataclass(frozen=True, kw_only=True)
class ShuffledHistogram(SingleMessage):
    """Everyone sends their value, or, less often, another one. The shuffler hides who sent which.

    Guarantee: (epsilon, delta) with an honest shuffler and n honest people, by the privacy blanket of ``GRR``; without, only the local
    epsilon, which is large (8 and more): say so to those who are asked.

    Estimator: that of ``GRR``. The variance of a value that nobody holds is about n q, and does not grow with n; one that c people hold has
    about c k q more. As good as ``PoissonHistogram`` while k of these are few against n; beyond, that one is better.

    Cost: log2 k bits; one or two random words; calibration takes a second.

    >>> protocol = ShuffledHistogram(domain_size=10, epsilon=1.0, delta=1e-6, n=100_000)
    >>> round(protocol.guarantee.local_epsilon, 3), round(protocol.variance() ** 0.5, 1)
    (7.765, 6.5)

    References: Balle, Bell, Gascon, Nissim 2019; Luo, Wang, Yi 2022 (why one message is not enough for large domains).
    """

    result: ClassVar[str] = "histogram"

    domain_size: int = field(default=None, repr=False)  # type: ignore[assignment]  # resolved at once, below
    domain: Domain = None  # type: ignore[assignment]  # resolved at once, below
    epsilon: float
    delta: float
    n: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "domain", listed_domain(self.domain_size, self.domain))
        object.__setattr__(self, "domain_size", self.domain.size)

    @cached_property
    def spec(self) -> GRR:
        """``GRR`` with the largest local epsilon that the batch allows."""

        def build(local: float) -> GRR:
            return GRR(domain=self.domain, epsilon=local)

        return build(local_epsilon_for(epsilon=self.epsilon, delta=self.delta, n=self.n, build=build, largest=MOST_LOCAL))

    @property
    def proof(self) -> Certificate:
        return certificate(spec=self.spec, delta=self.delta, n=self.n)

    @property
    def event(self) -> ShuffledGRR:
        return ShuffledGRR(domain_size=self.domain_size, epsilon0=self.spec.epsilon, n=self.n)

    def variance(self, f: float = 0.0) -> float:
        """The variance of the count of a value that a fraction f of n people holds."""
        return self.spec.variance(self.n, f)


def listed_domain(size: int | None, domain: Domain | None) -> Domain:
    """The domain that was asked for, by its size or itself; ParameterError unless all its values can be listed."""
    found = IndexRange(size) if domain is None else domain  # type: ignore[arg-type]  # None is refused there
    if not isinstance(found, Domain) or not found.listed or found.size > GRR.largest_domain or size not in (None, found.size):
        allowed = f"a listed domain of at most {GRR.largest_domain} values, given once"
        raise ParameterError(
            "domain", domain if size is None else (size, domain), allowed=allowed, fix="pass domain_size=100, or domain=..."
        )
    return found
