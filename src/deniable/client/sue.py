"""Symmetric unary encoding, the one-time form of basic RAPPOR."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from deniable.client.unary import UnaryEncoding
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE
from deniable.contract.spec import mechanism


@mechanism
class SUE(UnaryEncoding):
    """Send d bits, each of them true with probability p.

    Guarantee: epsilon-local for any two inputs; p = e^(epsilon/2) / (e^(epsilon/2) + 1), rounded down, and q = 1 - p: two inputs
    differ in two bits, and each pays half of epsilon.

    Estimator: (I - n q) / (p - q), variance n e^(epsilon/2) / (e^(epsilon/2) - 1)^2 for every f.

    Cost: d bits; about d / 9 random words on the device; the collector adds up n d bits.

    >>> oracle = SUE(domain_size=128, epsilon=1.0)
    >>> round(oracle.variance(n=10_000), 2), round(oracle.variance(n=10_000, f=0.5), 2)
    (39176.98, 39176.98)

    References: Erlingsson, Pihur, Korolova 2014 (basic one-time RAPPOR); Wang, Blocki, Li, Jha 2017.
    """

    @cached_property
    def keep(self) -> int:
        """Rounded down: telling the truth in a bit less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, 1, share=Fraction(1, 2))

    @property
    def raise_other(self) -> int:
        return ONE - self.keep
