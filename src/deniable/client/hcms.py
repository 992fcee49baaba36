"""Apple's Hadamard count-mean sketch: one bit about one row of the Hadamard matrix, for one public hash function."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.sketch import SketchProtocol
from deniable.contract.law import OutputLaw
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError

RowReport = tuple[int, int, int]


@mechanism
class HCMS(SketchProtocol):
    """Hash the value to one of m cells with one of k public functions, and send the cell by Hadamard randomized response.

    Guarantee: epsilon-local for any two inputs; the sign is true with probability e^epsilon / (e^epsilon + 1), rounded down. Function and
    row are independent of the value.

    Estimator: a report supports the values whose cell has its sign in its row, so p = keep and q = 1/2 + (p - 1/2) / m, by collisions.
    Variance n (m / (m - 1))^2 ((e^epsilon + 1)^2 / (e^epsilon - 1)^2 - 1 / m^2) for a rare value, and ``sketch``'s term,
    sum n_x^2 / (k (m - 1)), which intervals include.

    Cost: 1 + log2 m + log2 k bits; three random words on the device; the collector needs O(n + k m log m), and hashes k times for each
    candidate.

    >>> oracle = HCMS(domain_size=128, epsilon=1.0)
    >>> oracle.hashes, oracle.width, oracle.report_bits, round(oracle.variance(n=10_000), 2)
    (1024, 1024, 21, 46918.53)

    References: Differential Privacy Team, Apple 2017.
    """

    width: int = 1024
    """The cells of a function: m."""
    preference: ClassVar[int | None] = 8
    small: ClassVar[Mapping[str, int]] = {"hashes": 3, "width": 8}

    def resolve(self) -> None:
        if type(self.width) is not int or self.width < 2 or self.width & (self.width - 1):
            raise ParameterError("width", self.width, allowed="a power of two from 2 on", fix="try 1024")
        super().resolve()

    @property
    def cells(self) -> int:
        return self.width

    @property
    def scatter(self) -> Fraction:
        """Every row but the first supports half of the cells."""
        return Fraction(self.width - 1, 4)

    @cached_property
    def keep(self) -> int:
        """The threshold of sending the true sign. Rounded down: sending it less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, 1)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @property
    def layout(self) -> Layout:
        return (self.function_column, Column("row", limit=self.width, drawn=True), Column.of_bits("sign", 1))

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @property
    def apart(self) -> Fraction:
        """Two columns of the matrix agree in half of the rows."""
        return Fraction(1, 2)

    @property
    def ratio(self) -> Fraction:
        return self.p / (1 - self.p)

    @property
    def outputs(self) -> int:
        return 2 * self.hashes * self.width

    def perturb(self, key: int, source: Source) -> RowReport:
        function = source.below(self.hashes)
        row = source.below(self.width)
        sign = (row & self.symbol(function, key)).bit_count() & 1
        return function, row, sign if source.bernoulli(self.keep) else 1 - sign

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[RowReport]:
        weights = {}
        for function in range(self.hashes):
            cell = self.symbol(function, key)
            for row in range(self.width):
                sign = (row & cell).bit_count() & 1
                weights[function, row, sign] = self.p / (self.hashes * self.width)
                weights[function, row, 1 - sign] = (1 - self.p) / (self.hashes * self.width)
        return OutputLaw(weights)

    def supports(self, report: RowReport, key: int) -> bool:
        function, row, sign = report
        return (row & self.symbol(function, key)).bit_count() & 1 == sign

    @property
    def best_guess(self) -> float:
        """Any supported value, as in HRR; at most, since a report may support none of the values."""
        return min(float(self.ratio / (self.ratio + self.domain_size - 1)), 2 * float(self.p) / self.many)
