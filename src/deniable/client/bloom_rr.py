"""Randomized response on a Bloom filter: RAPPOR's encoding, sent once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import ClassVar

from deniable.client.frequency import FrequencySpec, check_crowd
from deniable.client.sketch import LARGEST_TABLE
from deniable.contract.hashing import HashFamily, public_function
from deniable.contract.law import Coins, OutputLaw
from deniable.contract.probability import ceil_threshold, exp_below
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.contract.work import Work
from deniable.errors import ParameterError

MOST_BITS, MOST_HASHES = 1 << 16, 32


@mechanism
class BloomRR(FrequencySpec):
    """Set h bits of m for the value, with the hash functions of a cohort drawn at random, and flip every bit with probability q.

    Guarantee: epsilon-local for any two inputs; q = 1 / (e^(epsilon / 2h) + 1), rounded up: two filters differ in at most 2 h bits. The
    cohort is independent of the value.

    Estimator: least squares of the bits' counts on the candidates' filters, unbiased; see ``core.regression``, and ``decode()`` there for
    long lists. For candidates whose filters do not overlap the variance is n q (1 - q) / (h (1 - 2 q)^2), more where they do.

    Cost: m + log2 of the number of cohorts bits; about m / 9 random words on the device; the collector adds up n m bits and solves for the
    candidates. More hashes tell more values apart and cost accuracy: each pays its part of epsilon.

    >>> oracle = BloomRR(domain_size=1000, epsilon=2.0, bits=64, hashes=2, cohorts=32)
    >>> round(oracle.variance(n=10_000), 2), BloomRR.size_for(false_positive=0.01), BloomRR.size_for(false_positive=0.01, hashes=1)
    (19588.49, (11, 6), (100, 1))

    References: Erlingsson, Pihur, Korolova 2014.
    """

    bits: int = 128
    """The m bits of a filter."""
    hashes: int = 2
    """How many bits are set for a value: h."""
    cohorts: int = 64
    """How many cohorts there are, each with hash functions of its own."""
    salt: int = 0
    """Names the hash functions, which are public: another salt, other functions."""
    needs_listed_domain: ClassVar[bool] = False
    shares_hashes: ClassVar[bool] = True
    small: ClassVar[Mapping[str, int]] = {"bits": 7, "hashes": 2, "cohorts": 2}

    def resolve(self) -> None:
        limits = {"bits": (2, MOST_BITS), "hashes": (1, MOST_HASHES), "cohorts": (1, 1 << 16), "salt": (0, ONE - 1)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise ParameterError(name, value, allowed=f"an integer from {low} to {high}", fix="leave it out for the default")
        if self.cohorts * (self.bits + 1) > LARGEST_TABLE:
            allowed = f"at most {LARGEST_TABLE // (self.bits + 1)} with {self.bits} bits"
            raise ParameterError("cohorts", self.cohorts, allowed=allowed, fix="try 64")

    @staticmethod
    def size_for(*, false_positive: float, hashes: int | None = None) -> tuple[int, int]:
        """Return the fewest bits, and their number of hashes, with a false-positive rate of at most ``false_positive``.

        Fewer hashes need more bits and less noise; leave ``hashes`` out for the fewest bits of all.
        """
        if isinstance(false_positive, bool) or not isinstance(false_positive, int | float) or not 0 < false_positive < 1:
            raise ParameterError("false_positive", false_positive, allowed="a rate between 0 and 1", fix="try 0.01")
        if hashes is None:
            return min(BloomRR.size_for(false_positive=false_positive, hashes=count) for count in range(2, MOST_HASHES + 1))
        if type(hashes) is not int or not 1 <= hashes <= MOST_HASHES:
            raise ParameterError("hashes", hashes, allowed=f"an integer from 1 to {MOST_HASHES}", fix="try 2")
        bits = 2 + bisect_left(range(2, MOST_BITS + 1), True, key=lambda count: fits_by_chance(count, hashes) <= false_positive)
        if bits > MOST_BITS:
            raise ParameterError("false_positive", false_positive, allowed=f"what {MOST_BITS} bits can do", fix="use more hashes")
        return bits, hashes

    def counters(self, values: int) -> int:
        return self.cohorts * (self.bits + 1)

    def planned_variance(self, n: int, f: float, values: int) -> float:
        """Return where filters overlap, so many unknowns are solved for from so many bits, which costs a factor."""
        bits = self.cohorts * self.bits
        return self.variance(n, f) * bits / (bits - values) if values < bits else inf

    @property
    def popcount_laws(self) -> tuple[tuple[Coins, ...], ...]:
        (p, q), most = map(float, self.both), min(self.hashes, self.bits)
        return tuple((Coins(1.0, marked, p, self.bits - marked, q),) for marked in range(1, most + 1))

    def finishing(self, values: int) -> Work:
        """Return what least squares take: a table of all bits and values, and its squares."""
        bits, work = self.cohorts * self.bits, super().finishing(values)
        return Work(work.bytes + 32 * bits * values + 16 * values**2, bits * values**2 // 8, work.kept)

    @cached_property
    def family(self) -> HashFamily:
        """The hash functions, from keys to bits."""
        return HashFamily(key_bits=self.domain.key_bits, range=self.bits, shared=True)

    def filter(self, cohort: int, key: int) -> int:
        """Return the bits that a cohort sets for the value with this key."""
        functions = range(cohort * self.hashes, (cohort + 1) * self.hashes)
        places = {self.family.symbol(public_function(self.salt, function), key) for function in functions}
        return sum(1 << place for place in places)

    @cached_property
    def flip(self) -> int:
        """The threshold of flipping a bit. Rounded up: flipping more often than needed only adds privacy."""
        root = exp_below(self.epsilon, share=Fraction(1, self.differing))
        return ceil_threshold(1 / (root + 1))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"flip": self.flip}

    @property
    def layout(self) -> Layout:
        return (Column("cohort", limit=self.cohorts, drawn=True), Column.of_bits("bits", self.bits))

    @property
    def q(self) -> Fraction:
        """The probability that a bit is flipped."""
        return Fraction(self.flip, ONE)

    @property
    def both(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a bit that is set, and one that is not, are reported as 1."""
        return 1 - self.q, self.q

    @property
    def ratio(self) -> Fraction:
        """Two filters without a common bit."""
        return ((1 - self.q) / self.q) ** self.differing

    @property
    def differing(self) -> int:
        """In how many bits two filters differ, at most."""
        return min(2 * self.hashes, self.bits)

    @property
    def outputs(self) -> int:
        return self.cohorts << self.bits

    def perturb(self, key: int, source: Source) -> tuple[int, int]:
        cohort = source.below(self.cohorts)
        return cohort, self.filter(cohort, key) ^ source.bernoulli_bits(self.flip, self.bits)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[tuple[int, int]]:
        weights = {}
        for cohort in range(self.cohorts):
            true = self.filter(cohort, key)
            for bits in range(1 << self.bits):
                flipped = (bits ^ true).bit_count()
                weights[cohort, bits] = self.q**flipped * (1 - self.q) ** (self.bits - flipped) / self.cohorts
        return OutputLaw(weights)

    def evidence(self, report: tuple[int, int], key: int) -> int:
        """Return how many of the value's bits are set."""
        cohort, bits = report
        return (bits & self.filter(cohort, key)).bit_count()

    def variance(self, n: int, f: float = 0.0) -> float:
        """Return the variance of a count among n reports, for any f, if the candidates' filters do not overlap."""
        check_crowd(n, f)
        return n * self.bit_variance / self.hashes

    @property
    def bit_variance(self) -> float:
        """The variance of one debiased bit, set or not, whichever is larger."""
        p, q = self.both
        return float(max(p * (1 - p), q * (1 - q)) / (p - q) ** 2)

    @property
    def influence(self) -> float:
        """All bits of the value set, or none; for candidates whose filters do not overlap."""
        p, q = self.both
        return float(max(1 - q, q) / (p - q))


def fits_by_chance(bits: int, hashes: int) -> float:
    """Return the exact probability that all bits of another value are set in a value's filter, over the hash functions."""
    taken = [0.0] * (hashes + 1)  # the law of how many different bits are set
    taken[0] = 1.0
    for _ in range(hashes):
        taken = [
            (taken[k] * k / bits + (taken[k - 1] * (bits - k + 1) / bits if k else 0.0)) if k <= bits else 0.0 for k in range(hashes + 1)
        ]
    return sum(chance * (k / bits) ** hashes for k, chance in enumerate(taken))
