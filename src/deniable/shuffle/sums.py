"""The sum of a crowd's numbers, as an estimate: what the shuffle protocols for sums return."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.accounting.event import REPLACE
from deniable.contract.canonical import number
from deniable.contract.form import FORMS, Form
from deniable.contract.numbers import Numbers
from deniable.core.average import Average
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.core.number import NumberEstimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.shuffle.tails import reach_of

if TYPE_CHECKING:
    from deniable.shuffle.protocol import ShuffleProtocol

_RATIO = re.compile(r"-?[1-9][0-9]*/[1-9][0-9]*", re.ASCII)
_LONGEST = 2200
"""The digits of an end of a range, at most."""


def _read_end(noun: str, data: object) -> Any:
    if isinstance(data, str) and _RATIO.fullmatch(data[:_LONGEST]):
        return Fraction(data[:_LONGEST])
    whole = not isinstance(data, str) or data.lstrip("-").isdecimal()
    return FORMS[int if whole else float].read(noun, data)


RANGE_END = Form(lambda end: number(end) if isinstance(end, int) else str(end), _read_end)
"""An end of a range: an integer, a float or a fraction, each written in its own way."""


def shuffled_sum(protocol: ShuffleProtocol, law: Law, bias: str | None = None) -> NumberEstimate:
    """The sum that a protocol's messages say, with its errors; divided by ``n``, it is the mean."""
    asked = f"sum over {law.n:,} people"
    return NumberEstimate(
        values=["sum"],
        law=law,
        about=f"{asked}: {protocol.mechanism}, epsilon = {protocol.epsilon:.4g}, {REPLACE}",
        guarantee=protocol.guarantee,
        quantity="sum",
        bias=bias,
        title=asked,
    )


@dataclass(frozen=True, eq=False)
class CrowdSum(Law):
    """The sum of what n people hold, from the law of their mean."""

    mean: Average

    @property
    def n(self) -> int:
        """How many people sent a report."""
        return self.mean.n

    @property
    def point(self) -> Array:
        return self.n * self.mean.point

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return self.n**2 * self.mean.variance(self.mean.point, population=population)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        low, high = self.mean.limits(alpha, family=family, population=population)
        return self.n * low, self.n * high

    def select(self, positions: Array) -> Law:
        return self  # there is one number


@dataclass(frozen=True, eq=False, kw_only=True)
class PolyaSum(Law):
    """A sum on a grid with the noise shares of n people, which are Polya variables, and their rounding errors; see ``tails``."""

    n: int
    total: float
    noise: float
    """The variance of the sum, at worst."""
    unit: float
    """A step of the grid."""
    ratio: float
    """Of neighboring probabilities of the noise."""
    shape: float
    """How many times as many people sent noise as the promise needs."""

    @property
    def point(self) -> Array:
        return np.array([self.total])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.array([self.noise])

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        reach = self.unit * reach_of(self.ratio, self.shape, self.n / 4, np.asarray(alpha, dtype=float).item())
        return self.point - reach, self.point + reach

    def select(self, positions: Array) -> Law:
        return self  # there is one number


def settle_range(protocol: Any) -> None:
    """Put the ends of a protocol's range in their final form; ParameterError if they are none, or points in time."""
    domain = sum_domain(protocol.low, protocol.high, protocol.steps)
    for name, exact in (("low", domain.low), ("high", domain.high)):
        given, whole = getattr(protocol, name), exact.denominator == 1
        object.__setattr__(protocol, name, float(given) if isinstance(given, float) else int(exact) if whole else exact)


def sum_domain(low: Any, high: Any, steps: int) -> Numbers:
    """The range of numbers that are added up, and its grid; ParameterError if it is none, or one of points in time."""
    domain = Numbers(low, high, steps)
    if domain.times:
        raise ParameterError("low, high", (low, high), allowed="numbers: points in time have no sum", fix="send distances")
    return domain
