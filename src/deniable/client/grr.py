"""Generalized randomized response: the truth, or any other answer."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import expm1, log1p, nextafter
from typing import ClassVar

from deniable.client.pure import PureProtocol
from deniable.contract.law import Class, OutputLaw, PairLaw
from deniable.contract.probability import exp_below, favored_threshold, log_above
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout


@mechanism
class GRR(PureProtocol):
    """Report the truth with probability p, and any other value with probability q each.

    Guarantee: epsilon-local for any two inputs; p = e^epsilon / (e^epsilon + d - 1), rounded down, and q = (1 - p) / (d - 1).

    Estimator: (I - n q) / (p - q), variance n q (1 - q) / (p - q)^2 + n f (1 - p - q) / (p - q). The best oracle for small
    domains (below about 3 e^epsilon + 2 values), hopeless for large ones.

    Cost: ceil(log2 d) bits; one or two random words on the device; the collector counts in O(n + d).

    >>> oracle = GRR(domain_size=4, epsilon=1.0)
    >>> law = oracle.law(0)
    >>> float(law[0]), float(law[1])
    (0.4753668864186717, 0.17487770452710943)
    >>> round(oracle.variance(n=10_000), 2), oracle.report_bits
    (15980.67, 2)

    References: Kairouz, Bonawitz, Ramage 2016 (k-RR); Wang, Blocki, Li, Jha 2017 (direct encoding).
    """

    largest_domain: ClassVar[int] = 1 << 26
    preference: ClassVar[int] = 0

    @cached_property
    def keep(self) -> int:
        """The threshold of telling the truth. Rounded down: telling it less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, self.domain_size - 1)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        return (Column("symbol", limit=self.domain_size),)

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @cached_property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.domain_size - 1)

    @property
    def most_supported(self) -> int:
        return 1

    @property
    def pair_law(self) -> PairLaw:
        return PairLaw(Fraction(0), Fraction(0))

    @property
    def channel(self) -> tuple[Class, ...]:
        p, q, rest = self.p, self.q, (self.domain_size - 2) * self.q
        return (p, q, q), (q, p, q), (rest, rest, rest)

    @property
    def third(self) -> float | None:
        return float(self.q) if self.domain_size > 2 else None

    @property
    def ratio(self) -> Fraction:
        return self.p / self.q

    @property
    def outputs(self) -> int:
        return self.domain_size

    def perturb(self, key: int, source: Source) -> int:
        return keep_or_replace(key, self.domain_size, self.keep, source)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        return OutputLaw({symbol: self.p if symbol == key else self.q for symbol in range(self.domain_size)})

    def supports(self, report: int, key: int) -> bool:
        return report == key

    def epsilon_after(self, sampling: int) -> float:
        """Return ln(1 + (p / q - 1) / sampling): a report y has the probability q + (p - q) P(input is y), P from 0 to 1 / sampling."""
        return log_above(1 + (self.ratio - 1) / sampling) if sampling > 1 else self.epsilon

    @classmethod
    def epsilon_before(cls, epsilon: float, sampling: int) -> float:
        """Return ln(sampling (e^epsilon - 1) + 1), rounded down until the fractions of the law keep ``epsilon``.

        >>> [round(GRR.epsilon_before(1.0, sampling), 3) for sampling in (1, 3, 5, 20)]
        [1.0, 1.817, 2.261, 3.566]
        """
        if sampling == 1:
            return epsilon
        louder, limit = log1p(sampling * expm1(epsilon)), exp_below(epsilon)
        while 1 + (exp_below(louder) - 1) / sampling > limit:
            louder = nextafter(louder, 0.0)
        return louder

    @property
    def best_guess(self) -> float:
        """The report itself."""
        return float(self.p)


def keep_or_replace(symbol: int, count: int, keep: int, source: Source) -> int:
    """Return the symbol, with the threshold ``keep``, or another of the ``count`` symbols, each equally likely."""
    if source.bernoulli(keep):
        return symbol
    other = source.below(count - 1)
    return other + (other >= symbol)
