"""Optimized unary encoding: one noisy bit for each value."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.frequency import FrequencySpec
from deniable.contract.law import Law
from deniable.contract.probability import ceil_threshold, exp_below
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout


@mechanism
class OUE(FrequencySpec):
    """Send d bits: the true value's bit is 1 with probability 1/2, every other bit with probability q.

    Guarantee: epsilon-local for any two inputs; q = 1 / (e^epsilon + 1), rounded up. Two inputs differ in two bits, whose ratios
    1 / (2 q) and 2 (1 - q) multiply to (1 - q) / q, at most e^epsilon.

    Estimator: (I - n q) / (1/2 - q), variance n 4 e^epsilon / (e^epsilon - 1)^2 + n f. It does not grow with the domain.

    Cost: d bits; about d / 9 random words on the device; the collector adds up n d bits.

    >>> oracle = OUE(domain_size=128, epsilon=1.0)
    >>> round(oracle.variance(n=10_000), 2), oracle.bits
    (36826.94, 128)
    >>> float(OUE(domain_size=2, epsilon=1.0).law(0)[0b01])
    0.36552928931500245

    References: Wang, Blocki, Li, Jha 2017.
    """

    largest_domain: ClassVar[int] = 1 << 24

    @cached_property
    def raise_other(self) -> int:
        """The threshold of setting a bit that is not true. Rounded up: setting it more often only adds privacy."""
        return ceil_threshold(1 / (exp_below(self.epsilon) + 1))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": ONE // 2, "raise_other": self.raise_other}

    @property
    def layout(self) -> Layout:
        return (Column.of_bits("bits", self.domain_size),)

    @property
    def p(self) -> Fraction:
        return Fraction(1, 2)

    @cached_property
    def q(self) -> Fraction:
        return Fraction(self.raise_other, ONE)

    @property
    def ratio(self) -> Fraction:
        return (1 - self.q) / self.q

    @property
    def outputs(self) -> int:
        return 1 << self.domain_size

    def perturb(self, key: int, source: Source) -> int:
        # The true bit is drawn anew, never merely set: leaving it 1 where noise put it would cost more than epsilon.
        others = source.bernoulli_bits(self.raise_other, self.domain_size) & ~(1 << key)
        return others | (source.bernoulli(ONE // 2) << key)

    def output_law(self, key: int, seed: tuple[int, ...]) -> Law[int]:
        weights = {}
        for report in range(self.outputs):
            others = (report & ~(1 << key)).bit_count()
            weights[report] = self.q**others * (1 - self.q) ** (self.domain_size - 1 - others) / 2
        return Law(weights)

    def supports(self, report: int, key: int) -> bool:
        return bool(report >> key & 1)
