"""Hadamard randomized response: one bit about a random row of the Hadamard matrix."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.pure import PureProtocol
from deniable.contract.law import OutputLaw
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.contract.work import Work

SignReport = tuple[int, int]


@mechanism
class HRR(PureProtocol):
    """Draw a row of the Hadamard matrix, and send its sign in the value's column by randomized response.

    The matrix has K = 2^k >= d rows and columns, and the sign in row r, column v is minus one to the power of the number of ones in
    r & v. Two columns agree in exactly half of the rows.

    Guarantee: epsilon-local for any two inputs; keep = e^epsilon / (e^epsilon + 1), rounded down. The row is independent of the value.

    Estimator: a report supports the values whose column has its sign in its row, so p = keep and q = 1/2 exactly; variance
    n (e^epsilon + 1)^2 / (e^epsilon - 1)^2 - n f.

    Cost: 1 bit and the row, log2 K bits; two random words on the device; the collector needs O(n + K log K), one transform in all.

    >>> oracle = HRR(domain_size=100, epsilon=1.0)
    >>> oracle.order, round(oracle.variance(n=10_000), 2), oracle.report_bits
    (128, 46826.94, 8)

    References: Bassily, Nissim, Stemmer, Thakurta 2017; Cormode, Kulkarni, Srivastava 2019.
    """

    largest_domain: ClassVar[int] = 1 << 26
    preference: ClassVar[int | None] = 7

    @property
    def order(self) -> int:
        """K, the number of rows."""
        return 1 << (self.domain_size - 1).bit_length()

    @cached_property
    def keep(self) -> int:
        """The threshold of sending the true sign. Rounded down: sending it less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, 1)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        return (Column("row", limit=self.order, drawn=True), Column.of_bits("sign", 1))

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def ratio(self) -> Fraction:
        return self.p / (1 - self.p)

    def finishing(self, values: int) -> Work:
        """Return what the fast transform takes."""
        return super().finishing(values)._replace(steps=self.outputs * self.order.bit_length())

    @property
    def outputs(self) -> int:
        return 2 * self.order

    def perturb(self, key: int, source: Source) -> SignReport:
        row = source.below(self.order)
        sign = (row & key).bit_count() & 1
        return row, sign if source.bernoulli(self.keep) else 1 - sign

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[SignReport]:
        weights = {}
        for row in range(self.order):
            sign = (row & key).bit_count() & 1
            weights[row, sign], weights[row, 1 - sign] = self.p / self.order, (1 - self.p) / self.order
        return OutputLaw(weights)

    def supports(self, report: SignReport, key: int) -> bool:
        row, sign = report
        return (row & key).bit_count() & 1 == sign

    @property
    def pair_covariances(self) -> tuple[float, float]:
        return 0.0, 0.0

    @property
    def best_guess(self) -> float:
        """Any supported value. Only one report, row 0 with the sign that it has nowhere, supports none."""
        p = float(self.p)
        return ((2 * self.order - 1) * p + 1 - p) / (self.order * self.domain_size)
