"""Numbers of parties as integers, and room for their sum: nothing wraps around, except with a probability that is stated.

A number x becomes the integer nearest to x 2^bits, up at a half. A sum of U of them and of the noise stays within a word of M values if
M > 2 (U B + T), where B bounds a party's integer and T the noise of all entries together, except with probability beta::

    discrete Laplace noise of all parties, scale b, honest share gamma       T = 2 b (ln(2 m / beta) + 0.29 / gamma)
    Skellam noise, standard deviation s (of all parties together)            T = s sqrt(2 ln(2 m / beta)) + ln(2 m / beta)

(Chernoff for Laplace shares of shape 1 / gamma, at half the pole, where the moment is (4 / 3)^(1 / gamma); Bernstein for Skellam.) A sum
that does wrap around is wrong and still private: reducing it is a function of the noisy sum.

**Sensitivity.** Rounding its own numbers moves a party's vector by half a step in each of m entries, so adding or removing one changes the
sum by 2^bits Delta_1 + m / 2 steps at most, or 2^bits Delta_2 + sqrt(m) / 2 in the Euclidean norm. ``encode`` holds a party to it.

A hospital's counts are far larger than what one patient changes in them. With ``of_people`` the noise hides one person and not a whole
party: the norms bound what one *person* changes, and ``largest`` alone bounds the numbers. That nobody changes more than that is the
party's own business: nothing in a count shows it. So norms that contradict each other are refused there: whole numbers that change by
norm_1 in all change by sqrt(norm_1) or more in the Euclidean norm, and by norm_1 / sqrt(m). (``encode`` checks a party's own vector
against both norms, whatever they are.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log, sqrt
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array

BETA = 2.0**-40
"""The probability, at most, that the noise of a sum does not fit its word."""
MOST_BITS = 32


@typed
@dataclass(frozen=True, kw_only=True)
class FixedPoint:
    """How a party's numbers become integers: ``length`` of them, none beyond ``largest``, in steps of 2^-``bits``.

    ``norm_1`` and ``norm_2`` are the sensitivities that the noise is scaled for: they bound a party's whole vector, or with ``of_people``
    what one person changes in it.

    >>> codec = FixedPoint(length=3, largest=1.0, norm_1=2.0, norm_2=1.5, bits=4)
    >>> codec.encode([0.5, -1.0, 0.28]).tolist(), codec.steps_1, round(codec.steps_2, 2)
    ([8, -16, 4], 34, 24.87)
    >>> codec.decode(np.array([8, -16, 4])).tolist()
    [0.5, -1.0, 0.25]
    >>> counts = FixedPoint(length=2, largest=10_000, norm_1=1.0, norm_2=1.0, bits=0, whole=True, of_people=True)
    >>> counts.encode([318, 0]).tolist(), counts.steps_1
    ([318, 0], 1)
    >>> counts.encode([318, 0.5])
    Traceback (most recent call last):
    deniable.errors.DomainError: numbers[1]: got 'between two steps'; allowed: whole numbers; round it first
    """

    length: int
    largest: float
    norm_1: float
    norm_2: float
    bits: int = 4
    whole: bool = False
    """Whether all numbers stand on the grid already, as counts do: others are refused then, and rounding costs nothing."""
    of_people: bool = False
    """Whether the norms bound what one person changes in a party's counts, and not all that a party has."""

    def __post_init__(self) -> None:
        if type(self.length) is not int or self.length < 1:
            raise ParameterError(
                "length", self.length, allowed="an integer from 1 on", fix="give the number of entries in a party's vector"
            )
        if type(self.bits) is not int or not 0 <= self.bits <= MOST_BITS:
            raise ParameterError("bits", self.bits, allowed=f"an integer from 0 to {MOST_BITS}", fix="use 2 to 8 bits")
        for name, question in (
            ("whole", "write True if all numbers are on the grid already"),
            ("of_people", "write True if the norms bound what one person changes"),
        ):
            if type(getattr(self, name)) is not bool:
                raise ParameterError(name, getattr(self, name), allowed="True or False", fix=question)
        if self.of_people and (self.bits or not self.whole):
            received = f"{self.bits}, {self.whole}"
            raise ParameterError(
                "bits, whole",
                received,
                allowed="0 and True: people are whole numbers",
                fix="write bits=0, whole=True, or leave of_people out",
            )
        for name in ("largest", "norm_1", "norm_2"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2.0**40:
                raise ParameterError(name, value, allowed="a number above 0, below 2^40", fix="give the most that one party can have")
        if self.of_people:
            self._check_person()
        if max(self.largest, self.norm_1) * (1 << self.bits) >= 2.0**52:
            raise ParameterError("bits", self.bits, allowed="steps that fit a double", fix="take fewer bits after the point")

    def _check_person(self) -> None:
        """Refuse norms that no person who changes whole numbers could have: the noise would be too small for anybody."""
        if self.norm_1 < 1:
            raise ParameterError("norm_1", self.norm_1, allowed="1 or more", fix="give 1 or more: one person changes a count by 1")
        least = max(sqrt(self.norm_1), self.norm_1 / sqrt(self.length))
        if self.steps_2 < least:
            allowed = f"{least:.6g} or more where norm_1 is {self.norm_1:g}"
            raise ParameterError("norm_2", self.norm_2, allowed=allowed, fix="leave it out: norm_1 is always enough")

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
        most = Fraction(self.largest) * (1 << self.bits)
        return floor(most) if self.whole else ceil(most + Fraction(1, 2))

    def encode(self, numbers: Any) -> Array:
        """A party's integers; DomainError, and nothing is sent, if they are not within the bounds that were agreed on.

        An error may end up in a log: it names the place and the bound, and never a number.
        """
        array = self._read(numbers)
        self._refuse(~np.isfinite(array), "not finite", "a finite number", "write 0 where there is no number")
        self._refuse(np.abs(array) > self.largest, "too large", f"at most {self.largest:g}, up or down", "clip it first")
        steps = array * float(1 << self.bits)
        low = np.floor(steps)
        if self.whole:
            grid = f"multiples of 2^-{self.bits}" if self.bits else "whole numbers"
            self._refuse(steps != low, "between two steps", grid, "round it first")
        whole = (low + (steps - low >= 0.5)).astype(np.int64)
        lengths = int(np.abs(whole).sum()), float(np.sqrt((whole.astype(float) ** 2).sum()))
        if not self.of_people and (lengths[0] > self.steps_1 or lengths[1] > self.steps_2):
            allowed = f"{self.norm_1:g} in absolute values added up, {self.norm_2:g} in the Euclidean norm"
            raise DomainError("numbers", "too much together", allowed=allowed, fix="clip the vector first: the noise is scaled for this")
        return whole

    def _read(self, numbers: Any) -> Array:
        allowed, fix = f"{self.length} real numbers", "as many as the sum has"
        try:
            array = np.asarray(numbers)
            array = array if array.dtype.kind == "c" else array.astype(float)
        except (TypeError, ValueError, OverflowError):  # which would show what could not be read
            raise DomainError("numbers", "something else", allowed=allowed, fix=fix) from None
        if array.dtype.kind == "c" or array.shape != (self.length,):
            raise DomainError("numbers", f"{array.dtype.name} {array.shape}", allowed=allowed, fix=fix)
        return array

    def _refuse(self, wrong: Array, received: str, allowed: str, fix: str) -> None:
        if np.any(wrong):
            raise DomainError(f"numbers[{int(np.argmax(wrong))}]", received, allowed=allowed, fix=fix)

    def decode(self, total: Array) -> Array:
        """The numbers behind ``total``, the sum of integers."""
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
