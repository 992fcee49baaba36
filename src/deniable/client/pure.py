"""The frame of pure protocols (Wang, Blocki, Li, Jha 2017).

A report *supports* some values. Let p be the probability that it supports the value its sender holds, and q that it supports
any other given value. With I the number of reports that support v, n reports, and n_v true holders of v::

    estimate of n_v   (I - n q) / (p - q)                                       unbiased
    variance          n q (1 - q) / (p - q)^2 + n_v (1 - p - q) / (p - q)       exact, for fixed data
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from math import exp, expm1, log1p
from typing import Any, ClassVar

from deniable.client.frequency import LinearProtocol, check_crowd

LARGEST_LIST = 1 << 18
"""So many pairs of a report and a value are looked at: a fraction of a second."""


class PureProtocol(LinearProtocol):
    """A mechanism whose reports support values."""

    averaged: ClassVar[bool] = False

    @abstractmethod
    def supports(self, report: Any, key: int) -> bool:
        """Return whether a report supports the value with this key."""

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """The probability that a report supports the value its sender holds."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """The probability that a report supports another given value."""

    def evidence(self, report: Any, key: int) -> int:
        return self.supports(report, key)

    def probabilities(self, key: int) -> tuple[Fraction, Fraction]:
        """P and q of the value with this key; the same for all values in most mechanisms."""
        return self.p, self.q

    def score(self, report: Any, key: int) -> Fraction:
        p, q = self.probabilities(key)
        return (self.supports(report, key) - q) / (p - q)

    def variance(self, n: int, f: float = 0.0) -> float:
        """Return the variance of an estimated count among n reports, for a value held by a fraction f of their senders.

        For a coin with unequal sides (RR) this is about "yes"; "no" has the same variance with 1 - f in place of f.
        """
        return count_variance(n, f, (self.p, self.q))

    @property
    def most_supported(self) -> int:
        """How many values one report can support at most: all reports are listed; where that takes too long, all values."""
        if self.seed_words or self.outputs * self.domain_size > LARGEST_LIST:
            return self.domain_size
        return max(sum(self.supports(report, key) for key in range(self.domain_size)) for report in self.output_law(0, ()))

    @property
    def pair_covariances(self) -> tuple[float, float]:
        p, q = self.p, self.q
        neither, one = self.pair_law or (None, max(Fraction(0), p + q - 1))
        apart = self.least_covariance if neither is None else float((neither - q * q) / (p - q) ** 2)
        return apart, float((one - p * q) / (p - q) ** 2)

    def most_score(self, values: int) -> float:
        """(k - r q) / (p - q) for r values of which a report supports k, the most that it can: none of the others is at its mean."""
        return float((min(values, self.most_supported) - values * self.q) / (self.p - self.q))

    @property
    def influence(self) -> float:
        pairs = [self.probabilities(key) for key in (0, 1)]
        return float(max(max(1 - q, q) / (p - q) for p, q in pairs))


def count_variance(n: int, f: float, supports: tuple[Fraction, Fraction]) -> float:
    """Return the variance of an estimated count from supports of these probabilities: of a holder's report, and of another's."""
    check_crowd(n, f)
    p, q = supports
    return float(n * q * (1 - q) / (p - q) ** 2) + n * f * float((1 - p - q) / (p - q))


def independent_guess(p: float, q: float, values: float) -> float:
    """Return how often a supported value, or any value if none is supported, is the right one, where supports fall independently."""
    return float((p * -expm1(values * log1p(-q)) / q + (1 - p) * exp((values - 1) * log1p(-q))) / values)
