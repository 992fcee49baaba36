"""Optimized unary encoding."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from deniable.client.unary import UnaryEncoding
from deniable.contract.probability import ceil_threshold, exp_below
from deniable.contract.source import ONE
from deniable.contract.spec import mechanism


@mechanism
class OUE(UnaryEncoding):
    """Send d bits: the true value's bit is 1 with probability 1/2, every other bit with probability q.

    Guarantee: epsilon-local for any two inputs; q = 1 / (e^epsilon + 1), rounded up. Two inputs differ in two bits, whose ratios
    1 / (2 q) and 2 (1 - q) multiply to (1 - q) / q, at most e^epsilon.

    Estimator: (I - n q) / (1/2 - q), variance n 4 e^epsilon / (e^epsilon - 1)^2 + n f. It does not grow with the domain.

    Cost: d bits; about d / 9 random words on the device; the collector adds up n d bits.

    >>> oracle = OUE(domain_size=128, epsilon=1.0)
    >>> round(oracle.variance(n=10_000), 2), oracle.report_bits
    (36826.94, 128)
    >>> float(OUE(domain_size=2, epsilon=1.0).law(0)[0b01])
    0.36552928931500245

    References: Wang, Blocki, Li, Jha 2017.
    """

    keep = ONE // 2

    preference: ClassVar[int] = 4

    @cached_property
    def raise_other(self) -> int:
        """Rounded up: setting a bit that is not true more often only adds privacy."""
        return ceil_threshold(1 / (exp_below(self.epsilon) + 1))
