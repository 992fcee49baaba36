"""How many people hold each value: the value itself, and dummies that hide it, through a shuffler."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np
import scipy

from deniable.central.inversion import PoissonNoise
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import SYSTEM, Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits, clopper_pearson
from deniable.core.law import CountLaw
from deniable.core.stream import serve_everyone
from deniable.core.tally import Candidates
from deniable.core.values import keys_of
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below
from deniable.shuffle.dummies import dummies_for
from deniable.shuffle.histogram import listed_domain
from deniable.shuffle.protocol import SeveralMessages, checked, shuffled_promise

PIECE = 16
"""The largest mean that is drawn in one piece: a sum of Poisson numbers is one."""
MOST_DUMMIES = 1 << 16


@typed
@dataclass(frozen=True, kw_only=True)
class PoissonHistogram(SeveralMessages):
    """Everyone sends their value as it is, and a Poisson number of dummies, each any value. The shuffler hides which is which.

    Guarantee: (epsilon, delta) with an honest shuffler and n honest people, exactly (``dummies``). **Without an honest shuffler nothing is
    promised**: the true value is among the messages of each person.

    Estimator: messages with a value, less ``noise``, the dummies that are expected there; the variance is ``noise`` for every value,
    whatever n, the domain and the counts are. Near a trusted curator's, whose variance is 8 / epsilon^2 or so.

    Cost: 1 + d noise / n messages of log2 d bits. For large domains send hashes, with fewer bins. One dishonest person can send many
    messages: have the shuffler limit them.

    >>> protocol = PoissonHistogram(domain_size=1000, epsilon=1.0, delta=1e-6, n=100_000)
    >>> round(protocol.noise, 2), round(protocol.variance() ** 0.5, 1), round(protocol.messages_each, 2), protocol.guarantee.local_epsilon
    (42.65, 6.5, 1.43, inf)

    References: Balle, Bell, Gascon, Nissim 2019 (blankets); Cheu, Zhilyaev 2022 (histograms from dummies).
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
        if self.rate > MOST_DUMMIES:
            fix = "hash to fewer bins, or ask more people"
            raise ParameterError(
                "domain_size", self.domain_size, allowed=f"a domain with at most {MOST_DUMMIES} dummies per person", fix=fix
            )

    @cached_property
    def rate(self) -> Fraction:
        """The mean number of dummies that a person sends, over all values: a rational number, rounded up."""
        return Fraction(ceil(dummies_for(self.epsilon, self.delta) * self.domain_size / self.n * 2**40), 2**40)

    @property
    def noise(self) -> float:
        """The mean number of dummies of n people with each value: lambda in the literature."""
        return float(self.rate * self.n / self.domain_size)

    @property
    def messages_each(self) -> float:
        """The mean number of messages that a person sends."""
        return 1 + float(self.rate)

    @property
    def guarantee(self) -> Guarantee:
        return shuffled_promise(self, certificate="Poisson dummies, exact sum", unit="all messages of one person in a shuffled batch")

    @cached_property
    def _law(self) -> tuple[int, PoissonNoise]:
        pieces = ceil(self.rate / PIECE)
        return pieces, PoissonNoise(self.rate / pieces)

    def messages(self, value: Any, source: Source = SYSTEM) -> tuple[int, ...]:
        pieces, law = self._law
        dummies = sum(law.draw(source) for _ in range(pieces))
        return (self.domain.key(value), *(source.below(self.domain_size) for _ in range(dummies)))

    def send(self, values: Any, source: Source | None) -> Array:
        keys = keys_of(self.domain, values)
        self.require_people(keys.size)
        pieces, law = self._law
        dummies = np.empty(int(law.draws(keys.size * pieces, source).sum()), dtype=np.int64)
        serve_everyone(dummies.size, lambda part, words: fill_below(np.uint64(self.domain_size), dummies[part], words), source)
        return np.concatenate([keys.astype(np.int64), dummies])

    def estimate(self, messages: Any, *, people: int | None = None) -> FrequencyEstimate:
        """Unbiased counts; ``people`` is how many took part. Each brought dummies, so without it nobody knows how many to take off."""
        sent = checked(messages, self.domain_size)
        if type(people) is not int or not self.n <= people <= sent.size:
            allowed = f"an integer from n = {self.n} to the number of messages, {sent.size}"
            raise ParameterError("people", people, allowed=allowed, fix="give the number of people who took part, not of messages")
        received = np.bincount(sent, minlength=self.domain_size)
        noise = float(self.rate * people / self.domain_size)
        return FrequencyEstimate.of(self, Candidates.everything(self.domain).values, PoissonCounts(people, received, noise))

    def variance(self) -> float:
        return self.noise


@dataclass(frozen=True, eq=False)
class PoissonCounts(CountLaw):
    """Counts of messages less the Poisson number of dummies that is expected among them, with exact limits."""

    n: int
    received: Array
    noise: float
    """The dummies that are expected with each value: the variance."""

    @cached_property
    def point(self) -> Array:
        return self.received - self.noise

    def variance(self, at: Array, *, population: bool = False) -> Array:
        drawn = at * (1 - at / max(self.n, 1)) if population else 0.0
        return np.asarray(self.noise + drawn + np.zeros(self.received.size))

    @property
    def enough(self) -> float:
        """The dummies with each value: the inverse of the kurtosis."""
        return self.noise

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        share = alpha / 2 if population else alpha  # half of the error for the noise, half for who was asked
        low, high = (self.received - side(share / 2, self.noise) for side in (scipy.stats.poisson.isf, scipy.stats.poisson.ppf))
        if not population:
            return low, high
        inside = [np.clip(limit, 0, self.n) for limit in (low, high)]
        return self.n * clopper_pearson(inside[0], self.n, share)[0], self.n * clopper_pearson(inside[1], self.n, share)[1]

    def bounds(self, alpha: float, method: str) -> Limits:
        """Return the exact limits: no inequality is tighter."""
        return self.limits(alpha)

    def select(self, positions: Array) -> PoissonCounts:
        return replace(self, received=self.received[positions])
