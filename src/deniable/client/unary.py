"""Unary encoding: one noisy bit for each value. The mechanisms of this form differ in two probabilities only."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

from deniable.client.pure import PureProtocol
from deniable.contract.law import Law
from deniable.contract.source import ONE, Source
from deniable.contract.wire import Column, Layout


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
    def ratio(self) -> Fraction:
        return self.p * (1 - self.q) / ((1 - self.p) * self.q)

    @property
    def outputs(self) -> int:
        return 1 << self.domain_size

    def perturb(self, key: int, source: Source) -> int:
        # The true bit is drawn anew, never merely set: leaving it 1 where noise put it would cost more than epsilon.
        others = source.bernoulli_bits(self.raise_other, self.domain_size) & ~(1 << key)
        return others | (source.bernoulli(self.keep) << key)

    def output_law(self, key: int, seed: tuple[int, ...]) -> Law[int]:
        weights = {}
        for report in range(self.outputs):
            others = (report & ~(1 << key)).bit_count()
            own = self.p if report >> key & 1 else 1 - self.p
            weights[report] = own * self.q**others * (1 - self.q) ** (self.domain_size - 1 - others)
        return Law(weights)

    def supports(self, report: int, key: int) -> bool:
        return bool(report >> key & 1)
