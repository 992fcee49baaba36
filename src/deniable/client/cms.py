"""Apple's count-mean sketch, private: noisy bits for the cells of one public hash function."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import expm1, log1p
from typing import ClassVar

from deniable.client.pure import independent_guess
from deniable.client.sketch import SketchProtocol
from deniable.client.unary import bits_law, perturb_bits
from deniable.contract.law import Coins, OutputLaw
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout


@mechanism
class CMS(SketchProtocol):
    """Hash the value to one of m cells with one of k public functions, and send the cell by symmetric unary encoding.

    Guarantee: epsilon-local for any two inputs; each bit is true with probability p = e^(epsilon/2) / (e^(epsilon/2) + 1), rounded
    down: two cells differ in two bits, and each pays half of epsilon.

    Estimator: a report supports the values whose cell has its bit set, so p as above and q = 1 - p + (2 p - 1) / m, by collisions. Variance
    n (m / (m - 1))^2 (e^(epsilon/2) / (e^(epsilon/2) - 1)^2 + (1 - 1/m) / m) for a rare value, and ``sketch``'s term,
    sum n_x^2 / (k (m - 1)), which intervals include. With k = 1 this is hashing to m cells with one public function, with k > 1 the same
    in k cohorts, drawn at random.

    Cost: m + log2 k bits; about m / 9 random words on the device; the collector adds up n m bits, and hashes k times for each candidate.

    >>> oracle = CMS(domain_size=128, epsilon=1.0)
    >>> oracle.hashes, oracle.width, oracle.report_bits, round(oracle.variance(n=10_000), 2)
    (1024, 1024, 1034, 39263.39)

    References: Differential Privacy Team, Apple 2017.
    """

    width: int = 1024
    """The cells of a function: m."""

    small: ClassVar[Mapping[str, int]] = {"hashes": 2, "width": 4}

    @property
    def cells(self) -> int:
        return self.width

    @property
    def popcount_laws(self) -> tuple[tuple[Coins, ...], ...]:
        return ((Coins(1.0, 1, float(self.p), self.width - 1, float(self.apart)),),)

    @property
    def scatter(self) -> Fraction:
        p, r, m = self.p, self.apart, self.width
        bits = p + (m - 1) * r
        return bits - (p * (1 - p) + (m - 1) * r * (1 - r) + bits**2) / m

    @cached_property
    def keep(self) -> int:
        """Rounded down: telling the truth in a bit less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, 1, share=Fraction(1, 2))

    @property
    def raise_other(self) -> int:
        """The threshold of setting a bit that is not the value's cell."""
        return ONE - self.keep

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "raise_other": self.raise_other}

    @property
    def layout(self) -> Layout:
        return (self.function_column, Column.of_bits("bits", self.width))

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @property
    def apart(self) -> Fraction:
        return 1 - self.p

    @property
    def ratio(self) -> Fraction:
        return (self.p / self.apart) ** 2

    @property
    def outputs(self) -> int:
        return self.hashes << self.width

    def perturb(self, key: int, source: Source) -> tuple[int, int]:
        function = source.below(self.hashes)
        return function, perturb_bits(self.symbol(function, key), self.width, self.raise_other, self.keep, source)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[tuple[int, int]]:
        weights = {}
        for function in range(self.hashes):
            for bits, weight in bits_law(self.symbol(function, key), self.width, self.p, self.apart).items():
                weights[function, bits] = weight / self.hashes
        return OutputLaw(weights)

    def supports(self, report: tuple[int, int], key: int) -> bool:
        function, bits = report
        return bool(bits >> self.symbol(function, key) & 1)

    @property
    def best_guess(self) -> float:
        """The cell is guessed as in unary encoding, and then one of the values in it; for as many cells as are taken on average."""
        taken = -self.width * expm1(self.many * log1p(-1 / self.width))
        return independent_guess(float(self.p), float(self.apart), taken) * taken / self.many
