"""Sources of randomness, the only ones in the package: six primitives on 64-bit words.

How many words each primitive consumes, and in which order, is part of the contract: scalar Python, the bulk kernels and
the browser client turn the same words into the same report, and ``vectors/`` proves it.

========================  ===================================================================================
primitive                 words consumed
========================  ===================================================================================
``words(k)``              k
``bernoulli(a)``          1; true if the word is below a
``bernoulli_ratio(a,b)``  1, and 1 more for each tie (probability 1 / 2^64); true if the words, as the digits of
                          a number between 0 and 1, are below a / b
``pick(c)``               1; the number of entries of c that are at most the word
``below(k)``              1, and 1 more for each rejection (probability below k / 2^64)
``bernoulli_bits(a,k)``   per block of 64 lanes, 1 for each binary digit of a / 2^64 that is looked at, the most
                          significant first; a block ends when every lane is decided or only zeros of a are left
========================  ===================================================================================

A probability is an integer ``a`` in 0..2^64, meaning a / 2^64. There is no float here and no seed.
"""

from __future__ import annotations

import os
import struct
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence

from deniable.errors import ParameterError

WORD_BITS = 64
ONE = 1 << WORD_BITS
"""The integer that stands for probability 1."""


class Source(ABC):
    """Randomness as 64-bit words. A subclass provides the words."""

    word_bits = WORD_BITS
    """The width of a word. Only the audit of these primitives themselves uses another one, to enumerate them all."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @abstractmethod
    def word(self) -> int:
        """Return the next word, uniform on 0..2^64 - 1."""

    def words(self, count: int) -> tuple[int, ...]:
        """Return the next ``count`` words, as they are."""
        return tuple(self.word() for _ in range(count))

    def fill(self, buffer: memoryview) -> int:
        """Write words into a buffer of 64-bit items and return how many; fewer than its length only at the end."""
        for i in range(len(buffer)):
            buffer[i] = self.word()
        return len(buffer)

    def unread(self, words: memoryview) -> None:  # noqa: B027  # optional: most sources have nothing to take back
        """Take back words that ``fill`` gave and nobody used. A source that is never replayed may forget them."""

    def bernoulli(self, threshold: int) -> bool:
        """Return True with probability threshold / 2^64, exactly."""
        return self.word() < threshold

    def bernoulli_ratio(self, numerator: int, denominator: int) -> bool:
        """Return True with probability numerator / denominator, exactly: as many words as agree with the ratio's digits."""
        while True:
            digits, numerator = divmod(numerator << self.word_bits, denominator)
            word = self.word()
            if word != digits or not numerator:
                return word < digits

    def pick(self, cumulative: Sequence[int]) -> int:
        """Return i with probability (cumulative[i] - cumulative[i - 1]) / 2^64, exactly; the entries rise from above 0 to below 2^64."""
        return bisect_right(cumulative, self.word())

    def below(self, count: int) -> int:
        """Return an integer uniform on 0..count - 1, exactly (Lemire 2019: multiply, and reject the few words that would bias it)."""
        one = 1 << self.word_bits
        if not 1 <= count <= one:
            raise ParameterError("count", count, allowed=f"from 1 to 2^{self.word_bits}", fix="split the draw")
        rejected = one % count
        while True:
            product = self.word() * count
            if product % one >= rejected:
                return product >> self.word_bits

    def bernoulli_bits(self, threshold: int, count: int, lanes: int = 64) -> int:
        """Return ``count`` independent bits as one integer, each 1 with probability threshold / 2^64, exactly.

        Bit i of word j is digit j of lane i's uniform number U. The lane becomes 1 if U < threshold, which is known at
        the first digit where the two differ: about 7.3 words decide a block of 64 lanes, against 64 words one by one.
        """
        top = 1 << (self.word_bits - 1)
        mask = 2 * top - 1
        bits = 0
        for start in range(0, count, lanes):
            undecided = (1 << min(lanes, count - start)) - 1
            if threshold > mask:  # probability 1 has no binary digits after the point
                bits |= undecided << start
                continue
            digits = threshold
            while undecided and digits:
                word = self.word()
                if digits & top:
                    bits |= (undecided & ~word) << start
                    undecided &= word
                else:
                    undecided &= ~word
                digits = (digits << 1) & mask
        return bits


class SystemSource(Source):
    """Words from the operating system's generator, the default on a device.

    Words are fetched 64 at a time and forgotten as they are used. The buffer is emptied in a forked child: parent and
    child must not share noise.
    """

    def __init__(self) -> None:
        self._buffer: list[int] = []
        if hasattr(os, "register_at_fork"):  # absent on Windows, which cannot fork
            os.register_at_fork(after_in_child=self._buffer.clear)

    def word(self) -> int:
        while True:
            try:
                return self._buffer.pop()  # one atomic step, so that two threads never get the same word
            except IndexError:
                self._buffer.extend(struct.unpack("<64Q", os.urandom(512)))


SYSTEM = SystemSource()
