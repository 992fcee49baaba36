"""The sum of a crowd's numbers, as an estimate with its error law: what the shuffle protocols for sums return."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np

from deniable.accounting.event import REPLACE
from deniable.contract.canonical import number
from deniable.contract.form import FORMS, Form
from deniable.contract.numbers import Numbers
from deniable.core.average import Average
from deniable.core.estimate import NumberEstimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.shuffle.protocol import ShuffleProtocol

_RATIO = re.compile(r"-?[1-9][0-9]*/[1-9][0-9]*", re.ASCII)
_LONGEST = 2200
"""The digits of an end of a range, at most."""

EXACT_FROM = 1e-9
"""Smaller tail probabilities are bounded by Chernoff's inequality: a Fourier transform is no longer accurate there."""


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
    """A sum on a grid with the noise shares of n people, which are Polya variables, and their rounding errors."""

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


def reach_of(ratio: float, shape: float, rounding: float, alpha: float) -> float:
    """How far the noise strays with probability alpha at most: the difference of two negative binomials, and a normal variable on top.

    ``shape`` = 1 is discrete Laplace noise. ``rounding`` is the variance of the normal variable, which stands for many independent
    roundings, each by less than a step. Rounded up to whole steps.

    >>> reach_of(0.9, 1.0, 0.0, 0.05), reach_of(0.9, 1.0, 0.0, 1e-12)
    (28.0, 305.0)
    """
    scale = -1 / log(ratio)
    if alpha < EXACT_FROM:
        s = np.linspace(0.005, 0.995, 199) / scale
        logs = 2 * log(1 - ratio) - np.log(1 - ratio * np.exp(s)) - np.log(1 - ratio * np.exp(-s))
        return float(ceil(np.min((shape * logs + s**2 * rounding / 2 + log(2 / alpha)) / s)))
    size = 1 << ceil((60 + 8 * shape) * scale + 20 * rounding**0.5 + 64).bit_length()
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    spectrum = ((1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angles) + ratio**2)) ** shape * np.exp(-rounding * angles**2 / 2)
    masses = np.maximum(np.fft.irfft(spectrum, size)[1 : size // 2], 0.0)
    beyond = 2 * np.cumsum(masses[::-1])[::-1]  # P(|z| >= j) at j - 1
    return float(np.argmax(beyond <= alpha * (1 - 1e-9)))


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
        raise ParameterError(
            "low, high", (low, high), allowed="numbers: points in time have no sum", fix="send time differences, as numbers"
        )
    return domain
