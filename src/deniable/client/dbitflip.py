"""dBitFlip: noisy bits about a few values that were drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, ClassVar

from deniable.client.frequency import LinearProtocol, check_crowd
from deniable.client.unary import perturb_bits
from deniable.contract.law import Coins, OutputLaw
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError

USUAL_BITS = 16


@mechanism
class DBitFlip(LinearProtocol):
    """Draw b of the d values, whatever the true one is. Send them, and for each a bit that says, with noise, whether it is the true one.

    ``bits`` is b, the d of the papers, whose k is our domain size; 16 if left out, or all values where there are fewer.

    Guarantee: epsilon-local for any two inputs; a bit is true with probability p = e^(epsilon/2) / (e^(epsilon/2) + 1), rounded down, and
    q = 1 - p. Two inputs differ in two bits at most, and each pays half of epsilon. With one bucket they differ in one bit, which
    may use all of epsilon, and does: there p = e^epsilon / (e^epsilon + 1). (The paper takes half of epsilon then too.)

    Estimator: the sum of (d / b) (bit - q) / (p - q) over the reports that were asked about the value, variance
    n ((d / b) (f + p q / (p - q)^2) - f). With b = d it is SUE; fewer buckets cost a factor of d / b. For rare values one bucket, with its
    whole epsilon, beats two, three and four.

    Cost: b (1 + log2 d) bits; on the device b random words for the buckets and 2 to 8 for each 64 bits; the collector counts in O(n b + d).

    >>> oracle = DBitFlip(domain_size=128, epsilon=1.0, bits=16)
    >>> round(oracle.variance(n=10_000), 2), oracle.report_bits
    (313415.85, 128)

    References: Ding, Kulkarni, Yekhanin 2017 (dBitFlip); Floyd 1987 in Bentley's "Programming Pearls" (drawing a set).
    """

    bits: int = None  # type: ignore[assignment]  # resolved below
    largest_domain: ClassVar[int] = 1 << 24
    small: ClassVar[Mapping[str, int]] = {"bits": 2}

    def resolve(self) -> None:
        if self.bits is None:
            object.__setattr__(self, "bits", min(USUAL_BITS, self.domain_size))
        if type(self.bits) is not int or not 1 <= self.bits <= self.domain_size:
            raise ParameterError(
                "bits",
                self.bits,
                allowed=f"an integer from 1 to {self.domain_size}",
                fix="add bits for less noise, drop some for shorter reports",
            )

    @cached_property
    def keep(self) -> int:
        """The threshold of a true bit. Rounded down: telling the truth in a bit less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, 1, share=Fraction(1, 2) if self.bits > 1 else Fraction(1))

    @property
    def raise_other(self) -> int:
        """The threshold of setting a bit that is not true."""
        return ONE - self.keep

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        buckets = Column("buckets", limit=self.domain_size, count=self.bits, increasing=True, drawn=True)
        return buckets, Column.of_bits("bits", self.bits)

    @property
    def p(self) -> Fraction:
        """The probability that a bit is true."""
        return Fraction(self.keep, ONE)

    @property
    def q(self) -> Fraction:
        """The probability that a bit is flipped."""
        return 1 - self.p

    @property
    def most_supported(self) -> int:
        return self.bits

    @property
    def popcount_laws(self) -> tuple[tuple[Coins, ...], ...]:
        drawn, p, q = self.bits / self.domain_size, float(self.p), float(self.q)
        return ((Coins(drawn, 1, p, self.bits - 1, q), Coins(1 - drawn, 0, p, self.bits, q)),)

    @property
    def ratio(self) -> Fraction:
        return (self.p / self.q) ** min(2, self.bits)

    @property
    def outputs(self) -> int:
        return comb(self.domain_size, self.bits) << self.bits

    def counters(self, values: int) -> int:
        return 2 * self.domain_size

    def perturb(self, key: int, source: Source) -> Any:
        chosen = self._draw(source)
        if key in chosen:
            bits = perturb_bits(chosen.index(key), self.bits, self.raise_other, self.keep, source)
        else:
            bits = source.bernoulli_bits(self.raise_other, self.bits)
        return self._report(chosen, bits)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[Any]:
        weights = {}
        for chosen in combinations(range(self.domain_size), self.bits):
            truth = sum(1 << place for place, bucket in enumerate(chosen) if bucket == key)
            for bits in range(1 << self.bits):
                flipped = (bits ^ truth).bit_count()
                weights[self._report(chosen, bits)] = self.q**flipped * self.p ** (self.bits - flipped)
        sets = comb(self.domain_size, self.bits)
        return OutputLaw({report: weight / sets for report, weight in weights.items()})

    def evidence(self, report: Any, key: int) -> int:
        """Return 0 if the value was not drawn; 1 if its bit is 0; 2 if its bit is 1."""
        chosen, bits = (report[0] if self.bits > 1 else report[:1]), report[1]
        return 1 + (bits >> chosen.index(key) & 1) if key in chosen else 0

    def score(self, report: Any, key: int) -> Fraction:
        seen = self.evidence(report, key)
        return Fraction(self.domain_size, self.bits) * (seen - 1 - self.q) / (self.p - self.q) if seen else Fraction(0)

    def variance(self, n: int, f: float = 0.0) -> float:
        check_crowd(n, f)
        share, noise = Fraction(self.domain_size, self.bits), self.p * self.q / (self.p - self.q) ** 2
        return n * (float(share * noise) + f * float(share - 1))

    @property
    def pair_covariances(self) -> tuple[float, float]:
        """No more negative than this for any pair, whatever its sender holds."""
        return self.least_covariance, self.least_covariance

    @property
    def influence(self) -> float:
        return float(Fraction(self.domain_size, self.bits) * self.p / (self.p - self.q))

    @property
    def best_guess(self) -> float:
        """Any value whose bit is 1; if there is none, a value that was not drawn, or any one where all were."""
        p, q, b = float(self.p), float(self.q), self.bits
        no_bit = p**b if b < self.domain_size else q * p ** (b - 1)
        return (p * (1 - p**b) / q + no_bit) / self.domain_size

    def _draw(self, source: Source) -> tuple[int, ...]:
        """Return distinct values, every set equally likely (Floyd): a value drawn twice stands for the newest one that could come."""
        chosen: set[int] = set()
        for newest in range(self.domain_size - self.bits, self.domain_size):
            drawn = source.below(newest + 1)
            chosen.add(newest if drawn in chosen else drawn)
        return tuple(sorted(chosen))

    def _report(self, chosen: tuple[int, ...], bits: int) -> Any:
        """Return a single bucket travels as a number, several as a tuple."""
        return (chosen if self.bits > 1 else chosen[0]), bits
