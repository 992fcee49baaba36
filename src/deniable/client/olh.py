"""Optimized local hashing: a small report about a domain of any size."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.grr import keep_or_replace
from deniable.client.hashed import HashedResponse
from deniable.contract.hashing import LARGEST_RANGE, HashFamily
from deniable.contract.law import Class, OutputLaw
from deniable.contract.probability import exp_below
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError

HashedReport = tuple[tuple[int, ...], int]


@mechanism
class OLH(HashedResponse):
    """Hash the value to g symbols with a fresh public seed, and send the symbol by randomized response.

    Guarantee: epsilon-local for any two inputs and for every seed; keep = e^epsilon / (e^epsilon + g - 1), rounded down.

    Estimator: a report supports every value that its seed hashes to its symbol, so p = keep and q = 1/g (for g not a power of two
    corrected by the exact collision probability of the hash family). Variance as in ``pure``: about n 4 e^epsilon /
    (e^epsilon - 1)^2 + n f at the default g = round(e^epsilon + 1). Unbiased over the hash family.

    Cost: 128 + log2 g bits (192 + log2 g for keys above 32 bits); one or two random words besides the seed; the collector hashes
    n reports times the candidates it asks about. The domain is never allocated: text and 64-bit integers are fine.

    >>> oracle = OLH(domain_size=128, epsilon=1.0)
    >>> oracle.hash_range, round(oracle.variance(n=10_000), 2), oracle.report_bits
    (4, 36916.55, 130)
    >>> float(oracle.law(5, seed=(3 << 61, 9))[((3 << 61, 9), 3)])
    0.4753668864186717

    References: Wang, Blocki, Li, Jha 2017; Thorup 2015 for the hash family.
    """

    hash_range: int = None  # type: ignore[assignment]  # resolved below
    """The symbols that values are hashed to: g. Left out, the one with the least variance."""
    candidates_at_tally: ClassVar[bool] = True
    assignable: ClassVar[bool] = True
    preference: ClassVar[int | None] = 5

    @property
    def pair_covariances(self) -> tuple[float, float]:
        """None, on average over the seeds."""
        return 0.0, 0.0

    @property
    def channel(self) -> tuple[Class, ...] | None:
        return hashed_channel(self.p, self.apart, self.hash_range, self.family.collision)

    def resolve(self) -> None:
        object.__setattr__(self, "hash_range", chosen_range(self.hash_range, self.best_range, self.epsilon))
        self.family  # noqa: B018  # refuses a bad range now rather than at the first report

    def __repr__(self) -> str:
        shown = super().__repr__()
        return shown.replace(f", hash_range={self.hash_range}", "") if self.hash_range == self.best_range else shown

    @property
    def best_range(self) -> int:
        """The number of symbols with the least variance."""
        return best_range(self.epsilon)

    @cached_property
    def family(self) -> HashFamily:
        return HashFamily(key_bits=self.domain.key_bits, range=self.hash_range)

    @property
    def seed_words(self) -> int:
        return self.family.seed_words

    def symbol(self, function: tuple[int, ...], key: int) -> int:
        return self.family.symbol(function, key)

    @property
    def layout(self) -> Layout:
        return (Column("seed", limit=ONE, count=self.seed_words, drawn=True), Column("symbol", limit=self.hash_range))

    @property
    def outputs(self) -> int:
        return self.hash_range

    def perturb(self, key: int, source: Source) -> HashedReport:
        seed = source.words(self.seed_words)
        return seed, keep_or_replace(self.symbol(seed, key), self.hash_range, self.keep, source)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[HashedReport]:
        true = self.symbol(seed, key)
        return OutputLaw({(seed, symbol): self.p if symbol == true else self.apart for symbol in range(self.hash_range)})


def best_range(epsilon: float) -> int:
    """Return the number of symbols with the least variance: e^epsilon + 1, rounded."""
    return int(exp_below(epsilon) + Fraction(3, 2))


def chosen_range(given: int | None, best: int, epsilon: float) -> int:
    """Return the number of symbols: as given, or the best one, if the hash family has so many."""
    if given is None and best > LARGEST_RANGE:
        raise ParameterError(
            "epsilon",
            epsilon,
            allowed=f"at most about 21, where e^epsilon + 1 reaches {LARGEST_RANGE} symbols",
            fix="choose a smaller epsilon, or set hash_range",
        )
    return best if given is None else given


def hashed_channel(p: Fraction, q: Fraction, symbols: int, collision: Fraction) -> tuple[Class, ...]:
    """By the symbol, and by whether the seed, which is part of the report, tells the two values apart. The blanket is uniform."""
    apart = 1 - collision
    rest = (apart * (symbols - 2) + collision * (symbols - 1)) * q
    return (
        (apart * p, apart * q, apart * q),
        (apart * q, apart * p, apart * q),
        (collision * p, collision * p, collision * q),
        (rest, rest, rest),
    )
