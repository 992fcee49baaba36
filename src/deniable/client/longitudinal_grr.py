"""Generalized randomized response, twice: once permanently, and once for each report."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.grr import keep_or_replace
from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.pure import PureProtocol, count_variance
from deniable.contract.law import OutputLaw, PairLaw
from deniable.contract.probability import exp_below, favored_threshold, floor_threshold
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout


@mechanism
class LongitudinalGRR(LongitudinalSpec, PureProtocol):
    """Keep the value with probability p1, or another one, permanently. Report what was kept with probability p2, or another value.

    Guarantee: ``epsilon`` for all reports about one value, ``first_epsilon`` for one; w values cost w epsilon between
    histories of the same pattern (``lifetime_epsilon``). With D(x) = (e^x - 1) / (e^x + d - 1): p1 - q1 = D(epsilon), p2 - q2 =
    D(first_epsilon) / D(epsilon), and each p = (1 + (d - 1) (p - q)) / d, rounded down. (The p2 of the literature leaves out the
    ways through the d - 2 other values and is right for d = 2 only.)

    Estimator: (I - n q) / (p - q) with p = p1 p2 + (1 - p1) q2 and q = (1 - p) / (d - 1), which are GRR's at ``first_epsilon``, and so
    is the variance of one round. Rounds of the same people are correlated: see ``tasks.series``.

    Cost: ceil(log2 d) bits; two to four random words for the first report about a value, one or two for each later one; the device keeps
    one value for each value it has held.

    >>> spec = LongitudinalGRR(domain_size=10, epsilon=2.0, first_epsilon=1.0)
    >>> round(float(spec.again), 4), round(spec.variance(n=1), 4), spec.lifetime_epsilon(3)
    (0.4385, 3.6302, Fraction(6, 1))

    References: Arcolezi, Couchot, Al Bouna, Xiao 2022 (L-GRR); the exact second step is derived in docs/theory/longitudinal-grr.md.
    """

    largest_domain: ClassVar[int] = 1 << 26

    @cached_property
    def keep(self) -> int:
        """The threshold of keeping the value permanently. Rounded down: toward privacy."""
        return favored_threshold(self.epsilon, 1, self.domain_size - 1)

    @cached_property
    def keep_again(self) -> int:
        """The threshold of reporting what was kept. Rounded down: toward privacy."""
        again = second_keep(self.domain_size, Fraction(self.keep, ONE), exp_below(self.first_epsilon))
        if not again < ONE:
            raise self.too_close()
        return again

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "keep_again": self.keep_again}

    @property
    def answer_layout(self) -> Layout:
        return (Column("symbol", limit=self.domain_size),)

    @property
    def again(self) -> Fraction:
        """The probability of reporting what was kept."""
        return Fraction(self.keep_again, ONE)

    @cached_property
    def p(self) -> Fraction:
        return through(self.domain_size, Fraction(self.keep, ONE), self.again)

    @cached_property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.domain_size - 1)

    @property
    def pair_law(self) -> PairLaw:
        return PairLaw(Fraction(0), Fraction(0))

    @property
    def most_supported(self) -> int:
        return 1

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.keep, ONE - self.keep) * (self.domain_size - 1)

    @property
    def first_ratio(self) -> Fraction:
        return self.p / self.q

    @property
    def outputs(self) -> int:
        return self.domain_size

    @property
    def classes(self) -> int:
        return self.domain_size

    def class_of(self, key: int, personal: object) -> int:
        return key

    def permanent_of(self, group: int, personal: object, source: Source) -> int:
        return keep_or_replace(group, self.domain_size, self.keep, source)

    def instantaneous(self, memo: int, source: Source = SYSTEM) -> int:
        return keep_or_replace(memo, self.domain_size, self.keep_again, source)

    def permanent_law(self, group: int, personal: object) -> OutputLaw[int]:
        return symbol_law(group, self.domain_size, Fraction(self.keep, ONE))

    def instantaneous_law(self, memo: int) -> OutputLaw[int]:
        return symbol_law(memo, self.domain_size, self.again)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        return symbol_law(key, self.domain_size, self.p)

    def supports(self, report: int, key: int) -> bool:
        return report == key

    def permanent_variance(self, n: int, f: float = 0.0) -> float:
        keep = Fraction(self.keep, ONE)
        return count_variance(n, f, (keep, (1 - keep) / (self.domain_size - 1)))

    @property
    def best_guess(self) -> float:
        """The report itself."""
        return float(self.p)


def through(count: int, first: Fraction, second: Fraction) -> Fraction:
    """Return the probability that a symbol comes out of two randomized responses on ``count`` symbols as it went in.

    >>> through(3, Fraction(1, 2), Fraction(1, 2))
    Fraction(3, 8)
    """
    return first * second + (1 - first) * (1 - second) / (count - 1)


def second_keep(count: int, first: Fraction, e: Fraction) -> int:
    """Return the largest threshold of the second response with which two of them, on ``count`` symbols, have a ratio of at most ``e``.

    The gaps p - q of the two multiply, and a gap D has the ratio (1 + (count - 1) D) / (1 - D).
    """
    gap = (first * count - 1) / (count - 1)
    return floor_threshold((1 + (e - 1) / (e + count - 1) / gap * (count - 1)) / count)


def symbol_law(symbol: int, count: int, keep: Fraction) -> OutputLaw[int]:
    """Return the exact law of ``keep_or_replace``."""
    other = (1 - keep) / (count - 1)
    return OutputLaw({found: keep if found == symbol else other for found in range(count)})
