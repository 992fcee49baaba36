"""The hash families, written down so that any language can follow them.

**Strings to keys.** A byte string (text is UTF-8, without normalization) becomes a 64-bit key once::

    key = first 8 bytes, little-endian, of HMAC-SHA-256(key = b"deniable/key/1", message = string)

Among m candidate strings two share a key with probability below m^2 / 2^65 (m = 10^6: 3e-8).

**Keys to symbols.** A seed is two words (a, b) if every key is below 2^32, three words (a, c, b) otherwise. With
x = low + 2^32 high the family is (pair-)multiply-shift, all arithmetic modulo 2^64::

    u = a x + b                              keys of up to 32 bits
    u = (a + high) (c + low) + b             keys of up to 64 bits
    symbol = floor((u >> 32) range / 2^32)

Where many reports share a function (a sketch), pairs are not enough: how collisions with *different* values add up depends on three keys
at once. A *shared* function has three words (a, c, b) for short keys too::

    u = (a x + c) x + b                      keys of up to 32 bits, shared

For three distinct keys every triple of 32-bit values is then equally likely, as long as 2^33 does not divide the product of the keys'
three differences (it never does below 4096). Longer keys are mixed first, by a bijection that leaves no pattern in them, and then take the
pair form; for keys without a pattern it treats triples alike, too (a determinant of their halves' differences takes the product's place)::

    x = x ^ (x >> 32);  x = x 0xD6E8FEB86659FD93;  both once more;  x = x ^ (x >> 32)

**Public functions.** A spec that shares functions derives them from its salt, both as 8 bytes, little-endian::

    (a, c, b) of function j = first 24 bytes, as little-endian words, of SHA-256(b"deniable/hash/1" + salt + j)

Over uniform seeds ``u >> 32`` is strongly universal (Dietzfelbinger 1996; Thorup 2015): for two distinct keys every pair
of 32-bit values is equally likely. Hence two distinct keys get the same symbol with probability exactly
sum_j (m_j / 2^32)^2, where m_j is the number of 32-bit values that fall on symbol j: 1 / range if the range is a power of
two, and its tiny excess otherwise enters the estimator. ``tests/exact`` enumerates the whole family at a reduced width.

Walking keys in order costs an addition each, and "the symbol is j" is one comparison: u lies in an interval.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from deniable.contract.source import WORD_BITS
from deniable.errors import ParameterError

KEY_LABEL = b"deniable/key/1"
FUNCTION_LABEL = b"deniable/hash/1"
LARGEST_RANGE = 1 << 31
_MIXER = 0xD6E8FEB86659FD93


def string_key(content: bytes) -> int:
    """Return the 64-bit key of a byte string.

    >>> f"{string_key(b'tea'):016x}"
    '8c350663f0d3052a'
    """
    return int.from_bytes(hmac.digest(KEY_LABEL, content, "sha256")[:8], "little")


@dataclass(frozen=True, kw_only=True)
class HashFamily:
    """Seeded hashing of keys to ``0..range - 1``. ``word_bits`` differs from 64 only where tests enumerate all seeds.

    >>> family = HashFamily(key_bits=10, range=4)
    >>> family.seed_words, family.collision
    (2, Fraction(1, 4))
    >>> [family.symbol((0x9E3779B97F4A7C15, 7), key) for key in range(6)]
    [0, 2, 0, 3, 1, 0]
    >>> float(HashFamily(key_bits=10, range=3).collision - Fraction(1, 3))
    3.614007241618348e-20
    """

    key_bits: int
    range: int
    shared: bool = False
    word_bits: int = WORD_BITS

    def __post_init__(self) -> None:
        if not isinstance(self.range, int) or not 2 <= self.range <= LARGEST_RANGE:
            raise ParameterError(
                "hash_range", self.range, allowed=f"an integer from 2 to {LARGEST_RANGE}", fix="leave it out for the best one"
            )

    @property
    def half(self) -> int:
        """Half a word: what is kept of u, and the longest key that a seed of two words can take."""
        return self.word_bits // 2

    @property
    def seed_words(self) -> int:
        """How many words make a seed."""
        return 2 if self.key_bits <= self.half and not self.shared else 3

    def spread(self, seed: tuple[int, ...], key: int) -> int:
        """u, the full word before it is cut to the range."""
        mask = (1 << self.word_bits) - 1
        if len(seed) == 2:
            return (seed[0] * key + seed[1]) & mask
        if self.key_bits <= self.half:
            return ((seed[0] * key + seed[1]) * key + seed[2]) & mask
        if self.shared:
            key = self.mixed(key)
        low, high = key & ((1 << self.half) - 1), key >> self.half
        return ((seed[0] + high) * (seed[1] + low) + seed[2]) & mask

    def mixed(self, key: int) -> int:
        """Return a long key without its pattern."""
        for _ in range(2):
            key = ((key ^ key >> self.half) * _MIXER) & ((1 << self.word_bits) - 1)
        return key ^ key >> self.half

    def symbol(self, seed: tuple[int, ...], key: int) -> int:
        """Return the symbol of a key under a seed."""
        return (self.spread(seed, key) >> self.half) * self.range >> self.half

    def starts(self, symbol: int) -> int:
        """Return the smallest u that falls on a symbol; a symbol's interval ends where the next one starts."""
        return -(-(symbol << self.half) // self.range) << self.half

    @cached_property
    def collision(self) -> Fraction:
        """The exact probability that two distinct keys get the same symbol."""
        values = 1 << self.half
        small, larger = divmod(values, self.range)  # `larger` symbols own small + 1 values, the others small
        return Fraction(larger * (small + 1) ** 2 + (self.range - larger) * small**2, values**2)


def public_function(salt: int, index: int) -> tuple[int, ...]:
    """Return the seed of a shared function, for anyone to derive.

    >>> HashFamily(key_bits=10, range=1024, shared=True).symbol(public_function(salt=0, index=7), 42)
    752
    """
    content = FUNCTION_LABEL + salt.to_bytes(8, "little") + index.to_bytes(8, "little")
    return struct.unpack_from("<3Q", hashlib.sha256(content).digest())
