"""Numbers of parties as integers, and room for their sum: nothing wraps around, except with a probability that is stated.

A number x becomes the integer nearest to x 2^bits, up at a half. A sum of U of them and of the noise stays within a word of M values if
M > 2 (U B + T), where B bounds a party's integer and T the noise of all entries together, except with probability beta::

    discrete Laplace noise of all parties, scale b, honest share gamma       T = 2 b (ln(2 m / beta) + 0.29 / gamma)
    Skellam noise, standard deviation s (of all parties together)            T = s sqrt(2 ln(2 m / beta)) + ln(2 m / beta)

(Chernoff for Laplace shares of shape 1 / gamma, at half the pole, where the moment is (4 / 3)^(1 / gamma); Bernstein for Skellam.) A sum
that does wrap around is wrong and still private: reducing it is a function of the noisy sum.

**Sensitivity.** Rounding its own numbers moves a party's vector by half a step in each of m entries, so adding or removing one changes the
sum by 2^bits Delta_1 + m / 2 steps at most, or 2^bits Delta_2 + sqrt(m) / 2 in the Euclidean norm. ``encode`` holds a party to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array

BETA = 2.0**-40
"""The probability, at most, that the noise of a sum does not fit its word."""
MOST_BITS = 32


@dataclass(frozen=True, kw_only=True)
class FixedPoint:
    """How a party's numbers become integers: ``length`` of them, none beyond ``largest``, in steps of 2^-``bits``.

    ``norm_1`` and ``norm_2`` bound a party's whole vector, as the sensitivities that the noise is scaled for.

    >>> codec = FixedPoint(length=3, largest=1.0, norm_1=2.0, norm_2=1.5, bits=4)
    >>> codec.encode([0.5, -1.0, 0.28]).tolist(), codec.steps_1, round(codec.steps_2, 2)
    ([8, -16, 4], 34, 24.87)
    >>> codec.decode(np.array([8, -16, 4])).tolist()
    [0.5, -1.0, 0.25]
    """

    length: int
    largest: float
    norm_1: float
    norm_2: float
    bits: int = 4
    whole: bool = False
    """Whether all numbers stand on the grid already, as counts do: others are refused then, and rounding costs nothing."""

    def __post_init__(self) -> None:
        if type(self.length) is not int or self.length < 1:
            raise ParameterError("length", self.length, allowed="an integer from 1 on", fix="the numbers of a party")
        if type(self.bits) is not int or not 0 <= self.bits <= MOST_BITS:
            raise ParameterError("bits", self.bits, allowed=f"an integer from 0 to {MOST_BITS}", fix="2 to 8 are enough")
        if type(self.whole) is not bool:
            raise ParameterError("whole", self.whole, allowed="True or False", fix="do all numbers stand on the grid?")
        for name in ("largest", "norm_1", "norm_2"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2.0**40:
                raise ParameterError(name, value, allowed="a number above 0, below 2^40", fix="the most that one party can have")
        if max(self.largest, self.norm_1) * (1 << self.bits) >= 2.0**52:
            raise ParameterError("bits", self.bits, allowed="steps that a double can count", fix="take fewer bits after the point")

    @property
    def steps_1(self) -> int:
        """The sensitivity in steps, in absolute values added up."""
        return ceil(Fraction(self.norm_1) * (1 << self.bits) + (0 if self.whole else Fraction(self.length, 2)))

    @property
    def steps_2(self) -> float:
        """The same in the Euclidean norm, rounded up."""
        return (self.norm_2 * (1 << self.bits) + (0.0 if self.whole else sqrt(self.length) / 2)) * (1 + 1e-12)

    @property
    def largest_step(self) -> int:
        """The largest integer of a party."""
        return ceil(Fraction(self.largest) * (1 << self.bits) + Fraction(1, 2))

    def encode(self, numbers: Any) -> Array:
        """A party's integers; DomainError, and nothing is sent, if they are not within the bounds that were agreed on."""
        array = np.asarray(numbers, dtype=float)
        if array.shape != (self.length,) or not np.all(np.isfinite(array)):
            raise DomainError("numbers", array.shape, allowed=f"{self.length} finite numbers", fix="as many as the sum has")
        if np.abs(array).max() > self.largest:
            raise DomainError("numbers", float(np.abs(array).max()), allowed=f"at most {self.largest} each", fix="clip them first")
        steps = array * float(1 << self.bits)
        if self.whole and np.any(steps != np.floor(steps)):
            raise DomainError("numbers", "between two steps", allowed=f"multiples of 2^-{self.bits}", fix="round them first")
        low = np.floor(steps)
        whole = (low + (steps - low >= 0.5)).astype(np.int64)
        if int(np.abs(whole).sum()) > self.steps_1 or float(np.sqrt((whole.astype(float) ** 2).sum())) > self.steps_2:
            received = f"{float(np.abs(array).sum()):.6g} and {float(np.linalg.norm(array)):.6g}"
            allowed = f"{self.norm_1} in absolute values added up, {self.norm_2} in the Euclidean norm"
            raise DomainError("numbers", received, allowed=allowed, fix="clip the vector first: the noise is scaled for this")
        return whole

    def decode(self, total: Array) -> Array:
        """The numbers behind the sum of integers."""
        return np.asarray(total, dtype=float) / float(1 << self.bits)

    def word_bits(self, parties: int, noise: float) -> int:
        """The smallest word, 32 or 64 bits, that the sum fits with noise of at most so much; ParameterError if none does."""
        needed = 2 * (parties * self.largest_step + ceil(noise))
        for bits in (32, 64):
            if needed < 1 << bits:
                return bits
        raise ParameterError("bits", self.bits, allowed="steps with which the sum fits 64 bits", fix="take fewer bits after the point")


def laplace_reach(scale: float, entries: int, honest: float, beta: float = BETA) -> float:
    """How far the discrete Laplace noise of all parties goes in any entry, except with probability beta."""
    return 2 * scale * (log(2 * entries / beta) + 0.29 / honest)


def skellam_reach(deviation: float, entries: int, beta: float = BETA) -> float:
    """The same for Skellam noise of a standard deviation: steps of one each, so Bernstein's inequality holds."""
    tail = log(2 * entries / beta)
    return deviation * sqrt(2 * tail) + tail
