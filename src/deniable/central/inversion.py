"""Exact draws from laws with irrational probabilities: the distribution function inverted, to as many digits as a draw needs.

A draw is the number of j with F(j) <= U, where U is uniform and F the distribution function. Words are the digits of U. They are compared
with the digits of F, which are computed in integer arithmetic between two bounds, with more digits until the bounds agree. If a word is
equal to the digits of some F(j), about once in 2^60 draws, another word and more digits decide. Nothing is rounded, and no tail is cut.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import count
from threading import Lock

import numpy as np

from deniable.contract.source import SYSTEM, Source
from deniable.core.stream import random_words
from deniable.kernels.compiled import Array

WORD = 64
_GUARD = 64
_GROWING = Lock()
"""Tables grow in one thread at a time: a generator cannot be shared."""


class Inversion(ABC):
    """A law on 0, 1, 2, .. of which the first probability and all ratios of neighbors are known."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[list[int], Iterator[int]]] = {}

    @abstractmethod
    def first(self, bits: int) -> tuple[int, int]:
        """Bounds, from below and above, on P[0] times 2^bits."""

    @abstractmethod
    def ratio(self, j: int) -> tuple[int, int]:
        """P[j + 1] / P[j], numerator and denominator."""

    def draw(self, source: Source = SYSTEM) -> int:
        """One number; consumes a word, and one more for each tie."""
        return self._resolve(source.word(), source)

    def draws(self, size: int, source: Source | None = None) -> Array:
        """So many numbers at once; each consumes a word, and ties consume more after all of those."""
        words = random_words(size, source)
        table = np.array(self.table(WORD, int(words.max(initial=0))), dtype=np.uint64)
        found = np.searchsorted(table, words, side="right")
        tied = np.flatnonzero((found > 0) & (table[np.maximum(found - 1, 0)] == words))
        for i in tied:
            found[i] = self._resolve(int(words[i]), source or SYSTEM)
        return found

    def _resolve(self, digits: int, source: Source) -> int:
        bits = source.word_bits
        while True:
            table = self.table(bits, digits)
            found = bisect_right(table, digits)
            if not found or table[found - 1] != digits:
                return found
            digits = digits << source.word_bits | source.word()
            bits += source.word_bits

    def table(self, bits: int, digits: int) -> list[int]:
        """The first digits of F(0), F(1), .., that is, F(j) 2^bits rounded down, at least up to the first that is above ``digits``."""
        known, more = self._tables.setdefault(bits, ([], self._floors(bits)))
        last = (1 << bits) - 1

        def short() -> bool:
            return not known or known[-1] <= digits < last or known[-1] < digits

        if short():
            with _GROWING:
                while short():
                    known.append(next(more))
        return known

    def _floors(self, bits: int) -> Iterator[int]:
        guard, done = _GUARD, 0
        while True:  # where the bounds leave a doubt, all over again with more digits
            whole = 1 << (bits + guard)
            low, high = self.first(bits + guard)
            below = above = 0
            for j in count():
                below, above = below + low, min(above + high, whole - 1)  # F(j) is below 1
                if below >> guard != above >> guard:
                    break
                if j >= done:
                    yield below >> guard
                    done += 1
                up, down = self.ratio(j)
                low, high = low * up // down, -(-high * up // down)
            guard *= 2


class PoissonNoise(Inversion):
    """Poisson noise with a rational mean.

    >>> from deniable.testing import ReplaySource
    >>> PoissonNoise(Fraction(1, 2)).draw(ReplaySource([1 << 63])), PoissonNoise(Fraction(1, 2)).draw(ReplaySource([(1 << 64) - 1, 5]))
    (0, 16)
    """

    def __init__(self, mean: Fraction) -> None:
        super().__init__()
        self.mean = mean

    def first(self, bits: int) -> tuple[int, int]:
        return _exponential(-self.mean, -self.mean, bits)

    def ratio(self, j: int) -> tuple[int, int]:
        return self.mean.numerator, self.mean.denominator * (j + 1)


class PolyaNoise(Inversion):
    """Negative binomial noise of a fractional shape: P[j] proportional to shape (shape + 1) .. (shape + j - 1) a^j / j!.

    The sum over 1 / shape people is geometric with the ratio a.
    """

    def __init__(self, shape: Fraction, a: Fraction) -> None:
        super().__init__()
        self.shape, self.a = shape, a

    def first(self, bits: int) -> tuple[int, int]:
        """(1 - a)^shape."""
        down, up = _contexts(bits)
        rest = 1 - self.a
        low, high = (context.divide(Decimal(rest.numerator), Decimal(rest.denominator)).ln(context) for context in (down, up))
        return _exponential(self.shape * Fraction(down.next_minus(low)), self.shape * Fraction(up.next_plus(high)), bits)

    def ratio(self, j: int) -> tuple[int, int]:
        shape, a = self.shape, self.a
        return a.numerator * (shape.numerator + j * shape.denominator), a.denominator * shape.denominator * (j + 1)


def _exponential(low: Fraction, high: Fraction, bits: int) -> tuple[int, int]:
    """Bounds on e^x 2^bits for an x between two negative numbers."""
    down, up = _contexts(bits)
    least = down.next_minus(down.divide(Decimal(low.numerator), Decimal(low.denominator)).exp(down))
    most = up.next_plus(up.divide(Decimal(high.numerator), Decimal(high.denominator)).exp(up))
    scaled = [Fraction(bound) * (1 << bits) for bound in (least, most)]
    return max(0, scaled[0].__floor__()), scaled[1].__ceil__()


def _contexts(bits: int) -> tuple[Context, Context]:
    """Enough digits. Functions round to nearest whatever a context says: its neighbors are certain bounds."""
    digits = bits // 3 + 20
    return Context(prec=digits, rounding=ROUND_FLOOR), Context(prec=digits, rounding=ROUND_CEILING)
