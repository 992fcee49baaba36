"""Noisy points on a lattice whose expectation is exactly affine in the input: what ``Piecewise`` and ``DiscreteLaplace`` share."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

from deniable.client.mean import Linear, MeanSpec
from deniable.contract.wire import Column, Layout


class LatticeProtocol(MeanSpec):
    """A report is a point y of a lattice. E[y] = A + B i at the grid point i, so (y - A) / B is its score."""

    @property
    @abstractmethod
    def points(self) -> int:
        """The number of points."""

    @property
    @abstractmethod
    def line(self) -> tuple[Fraction, Fraction]:
        """(A, B): the expected point at the grid point i is A + B i."""

    @property
    @abstractmethod
    def parabola(self) -> tuple[Fraction, Fraction, Fraction]:
        """The coefficients of the expected square of the point at the grid point i."""

    @property
    def layout(self) -> Layout:
        return (Column("point", limit=self.points),)

    @property
    def outputs(self) -> int:
        return self.points

    @property
    def largest_count(self) -> int:
        return (self.points - 1) ** 2

    def features(self, report: int) -> tuple[int, ...]:
        return report, report**2

    @cached_property
    def scores(self) -> Linear:
        a, b = self.line
        return Linear(-a / b, (1 / b, Fraction(0)))

    @cached_property
    def squares(self) -> Linear:
        a, b = self.line
        return Linear((a / b) ** 2, (-2 * a / b**2, 1 / b**2))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        return score_moments(self.line, self.parabola)

    @cached_property
    def score_range(self) -> tuple[Fraction, Fraction]:
        a, b = self.line
        return -a / b, (self.points - 1 - a) / b


def score_moments(line: tuple[Fraction, Fraction], parabola: tuple[Fraction, Fraction, Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """Return the coefficients of the expected square of the score (y - A) / B."""
    (a, b), (p, q, r) = line, parabola
    return (p - a * a) / b**2, (q - 2 * a * b) / b**2, r / b**2
