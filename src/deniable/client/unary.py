"""Unary encoding: one noisy bit for each value. The mechanisms of this form differ in two probabilities only."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

from deniable.client.pure import PureProtocol, independent_guess
from deniable.contract.law import Class, Coins, OutputLaw, PairLaw
from deniable.contract.source import ONE, Source
from deniable.contract.wire import Column, Layout

MOST_POWERS = 1 << 12
"""The highest power of a probability that is written out."""


class UnaryEncoding(PureProtocol):
    """Send d bits: the true value's bit is 1 with probability p, every other bit with probability q.

    Two inputs differ in two bits, so the worst ratio of one report is p (1 - q) / ((1 - p) q). Raising q or lowering p, as long as
    q < p, only adds privacy.
    """

    largest_domain: ClassVar[int] = 1 << 24

    @property
    @abstractmethod
    def keep(self) -> int:
        """The threshold of setting the true bit."""

    @property
    @abstractmethod
    def raise_other(self) -> int:
        """The threshold of setting a bit that is not true."""

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "raise_other": self.raise_other}

    @property
    def layout(self) -> Layout:
        return (Column.of_bits("bits", self.domain_size),)

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @property
    def q(self) -> Fraction:
        return Fraction(self.raise_other, ONE)

    @property
    def most_supported(self) -> int:
        return self.domain_size

    @property
    def pair_law(self) -> PairLaw:
        return PairLaw(self.q**2, self.p * self.q)

    @property
    def popcount_laws(self) -> tuple[tuple[Coins, ...], ...]:
        return ((Coins(1.0, 1, float(self.p), self.domain_size - 1, float(self.q)),),)

    @property
    def channel(self) -> tuple[Class, ...] | None:
        """By the bits of the two values. Some value has a 0 in every report but that of ones alone: its probability is the blanket."""
        p, q, d = self.p, self.q, self.domain_size
        on, off = p / q, (1 - p) / (1 - q)
        ones = q**d if d <= MOST_POWERS else Fraction(0)  # left out of the blanket: a smaller one is valid as well
        pairs = (1, 0, q * (1 - q)), (0, 1, q * (1 - q)), (1, 1, q * q - ones), (0, 0, (1 - q) ** 2)
        classes = ((n * (on if a else off), n * (on if b else off), n * off) for a, b, n in pairs)
        return *classes, (ones * on, ones * on, ones * on)

    @property
    def third(self) -> float | None:
        return float(self.q * (1 - self.q)) if self.domain_size > 2 else None

    @property
    def ratio(self) -> Fraction:
        return self.p * (1 - self.q) / ((1 - self.p) * self.q)

    @property
    def outputs(self) -> int:
        return 1 << self.domain_size

    def perturb(self, key: int, source: Source) -> int:
        return perturb_bits(key, self.domain_size, self.raise_other, self.keep, source)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        return OutputLaw(bits_law(key, self.domain_size, self.p, self.q))

    def supports(self, report: int, key: int) -> bool:
        return bool(report >> key & 1)

    @property
    def best_guess(self) -> float:
        """Any value whose bit is set; any at all if none is."""
        return independent_guess(float(self.p), float(self.q), self.domain_size)


def perturb_bits(place: int, count: int, raise_other: int, keep: int, source: Source) -> int:
    """Return ``count`` bits: the one at ``place`` is 1 with the threshold ``keep``, every other one with ``raise_other``."""
    # The true bit is drawn anew, never merely set: leaving it 1 where noise put it would cost more than epsilon.
    others = source.bernoulli_bits(raise_other, count) & ~(1 << place)
    return others | (source.bernoulli(keep) << place)


def bits_law(place: int, count: int, p: Fraction, q: Fraction) -> dict[int, Fraction]:
    """Return the exact law of ``perturb_bits``."""
    others = [q**ones * (1 - q) ** (count - 1 - ones) for ones in range(count)]
    zero, one = ([chance * weight for weight in others] for chance in (1 - p, p))
    own = 1 << place
    return {bits: one[bits.bit_count() - 1] if bits & own else zero[bits.bit_count()] for bits in range(1 << count)}
