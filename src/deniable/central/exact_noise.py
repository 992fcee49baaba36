"""Integer noise with exactly the law P(z) proportional to e^-(linear |z| + quadratic z^2), for rational parameters.

**Inversion.** Random words are the binary digits of a number U, uniform between 0 and 1. The outcomes stand in a row, 0, -1, 1, -2, 2 ..,
each as wide as it is likely, and the noise is the one in which U falls. 64 digits of U and of the borders decide that but for about one
draw in 2^50; where a word equals a border's digits, another word and 64 more digits of the borders are taken, until they differ. So the
law is the stated one as real numbers, not up to rounding, and nothing is cut off: far outcomes need more digits, and get them.

**Blocks.** Where the noise is so wide that the table would be long, the row is one of blocks of 2^k integers: U picks a block, a word an
integer in it, and a coin keeps the integer with probability e^-(how much less likely it is than the block's first); otherwise all three
are drawn again. The coin is exact in the same way: digits of e^-x against the digits of a uniform number. In batches, double precision only
sorts out the coins that are clear by a margin of 1e-9, which is a million times what it may lose.

**Words.** Scalar and bulk code turn the same words into the same noise. How many words a draw takes depends on the noise (rejections,
ties), so its time does, by nanoseconds: an attacker who can time single draws is not defended against here.

References: Canonne, Kamath, Steinke 2020 (the discrete Gaussian, and exact coins); Knuth, Yao 1976 (digits against digits).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, isqrt

import numpy as np

from deniable.central.enclosure import SPARE, exp_bounds, exp_digits, partial_sums, thresholds
from deniable.contract.arguments import typed
from deniable.contract.source import SYSTEM, WORD_BITS, Source
from deniable.core.stream import ArraySource, serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.inversion import draw_in_blocks, draw_integers, guide_of

LARGEST_WIDTH = 1 << 40
"""Of scale or sigma, in steps of the grid: the noise then fits 64 bits in any conceivable draw."""
SCALES, SIGMAS = 64, 256
"""The widest noise that has a table of single integers: about 6000 entries."""
_MOST_SUMMED = 1 << 20


@typed
@dataclass(frozen=True)
class ExactNoise:
    """The law P(z) proportional to e^-(linear |z| + quadratic z^2) on all integers.

    >>> noise = ExactNoise(linear=Fraction(1, 10))
    >>> noise.block, len(noise.table)
    (1, 888)
    >>> low, high = noise.probability(0)
    >>> float(low), high - low < Fraction(1, 2**100)
    (0.04995837495787997, True)
    """

    linear: Fraction = Fraction(0)
    quadratic: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.linear < 0 or self.quadratic < 0 or not self.linear + self.quadratic:
            raise ParameterError("noise", self, allowed="rates from 0 on, at least one above 0", fix="give a scale or a sigma")
        if self.width > LARGEST_WIDTH:
            raise ParameterError("scale", self.width, allowed="at most 2^40 steps of the grid", fix="choose a coarser grid")

    @property
    def width(self) -> int:
        """The scale, or sigma where that is smaller; rounded up."""
        scale = ceil(1 / self.linear) if self.linear else None
        sigma = isqrt(ceil(1 / (2 * self.quadratic))) + 1 if self.quadratic else None
        return min(width for width in (scale, sigma) if width is not None)

    @cached_property
    def block(self) -> int:
        """How many integers stand in one place of the table: a power of two."""
        return 1 << max(0, -(-self.width // (SIGMAS if self.quadratic else SCALES)) - 1).bit_length()

    def thresholds(self, bits: int) -> tuple[int, ...]:
        """The first ``bits`` binary digits of the borders between blocks, up to the first that are all ones."""
        return _table(self.linear, self.quadratic, self.block, bits)

    @cached_property
    def table(self) -> Array:
        """The borders, over 2^64."""
        return np.array(self.thresholds(WORD_BITS), dtype=np.uint64)

    @cached_property
    def _guide(self) -> Array:
        return guide_of(self.table)

    # --- drawing ---

    def draw(self, source: Source = SYSTEM) -> int:
        """One number."""
        while True:
            place = self._place(source)
            if self.block == 1:
                return place >> 1 ^ -(place & 1)
            offset = source.below(self.block)
            if self._kept((place >> 1) * self.block + (place & 1), offset, source):
                return (place >> 1) * self.block + offset ^ -(place & 1)

    def draws(self, count: int, source: Source | None = None) -> Array:
        """Many numbers, as 64-bit integers: the same as ``count`` times ``draw`` on the words of a source."""
        out = np.empty(count, dtype=np.int64)

        def serve(part: slice, words: Array) -> tuple[int, int]:
            numbers = out[part]
            served, used = self._quick(numbers, words)
            while served < numbers.size:  # a number that takes more digits, or the end of the words
                reader = ArraySource(words[used:])
                try:
                    numbers[served] = self.draw(reader)
                except EOFError:  # the words have run out
                    break
                used += reader.consumed
                more, taken = self._quick(numbers[served + 1 :], words[used:])
                served, used = served + 1 + more, used + taken
            return served, used

        serve_everyone(count, serve, source)
        return out

    def _quick(self, out: Array, words: Array) -> tuple[int, int]:
        if self.block == 1:
            return draw_integers(self.table, self._guide, out, words)
        bits = self.block.bit_length() - 1
        return draw_in_blocks(self.table, self._guide, bits, float(self.linear), float(self.quadratic), out, words)

    def _place(self, source: Source) -> int:
        """The block in which U falls: with borders F, the first whose F is above U."""
        digits, bits = source.word(), source.word_bits
        while True:
            table = self.thresholds(bits)
            place = bisect_left(table, digits)
            if table[place] != digits:  # digits below those of F: U < F, and all borders before are certainly below U
                return place
            digits, bits = digits << source.word_bits | source.word(), bits + source.word_bits

    def _kept(self, near: int, offset: int, source: Source) -> bool:
        """Whether the coin keeps an integer that is ``offset`` farther from 0 than the block's nearest could be."""
        x = offset * (self.linear + self.quadratic * (2 * near + offset))
        digits, bits = source.word(), source.word_bits
        if not x:
            return True
        while (border := exp_digits(x, bits)) == digits:
            digits, bits = digits << source.word_bits | source.word(), bits + source.word_bits
        return digits < border

    # --- the law ---

    def probability(self, z: int, bits: int = 128) -> tuple[Fraction, Fraction]:
        """Two fractions, 2^-bits apart at most, with the probability of z between them."""
        low, high = exp_bounds(self.linear * abs(z) + self.quadratic * z * z, bits + SPARE)
        least, most = self._total(bits)
        return Fraction(low, most), Fraction(high, least)

    def _total(self, bits: int) -> tuple[int, int]:
        """Bounds of the sum of all weights, over 2^(bits + 64)."""
        if self.width > _MOST_SUMMED:
            raise ParameterError(
                "scale", self.width, allowed=f"at most {_MOST_SUMMED:,} for single probabilities", fix="audit narrower noise"
            )
        return _sum(self.linear, self.quadratic, bits)


@lru_cache(maxsize=64)
def _table(linear: Fraction, quadratic: Fraction, block: int, bits: int) -> tuple[int, ...]:
    return thresholds(linear, quadratic, block, bits)


@lru_cache(maxsize=64)
def _sum(linear: Fraction, quadratic: Fraction, bits: int) -> tuple[int, int]:
    lows, highs, tail = partial_sums(linear, quadratic, 1, bits + SPARE // 2, bits + SPARE)
    return lows[-1], highs[-1] + tail
