"""Enumerating a hash family: the shipping code at a reduced word width, over every seed."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from deniable.contract.hashing import HashFamily


def reduced(family: HashFamily) -> HashFamily:
    """The same family on words short enough to enumerate: 2^16 seeds of two words, or 2^12 of three."""
    word_bits = 8 if family.seed_words == 2 else 4
    key_bits = 4 if family.seed_words == 2 or family.key_bits > family.half else 2  # short keys are half a word
    return HashFamily(key_bits=key_bits, range=min(family.range, 1 << word_bits // 2), shared=family.shared, word_bits=word_bits)


def collisions(family: HashFamily, keys: tuple[int, ...]) -> set[Fraction]:
    """The shares of all seeds under which two of the keys get the same symbol; one share if the family is uniform.

    >>> tiny = reduced(HashFamily(key_bits=64, range=3))
    >>> collisions(tiny, (0, 1, 7, 15)) == {tiny.collision}
    True
    """
    seeds = list(product(range(1 << family.word_bits), repeat=family.seed_words))
    same = dict.fromkeys(combinations(keys, 2), 0)
    for seed in seeds:
        symbols = {key: family.symbol(seed, key) for key in keys}
        for x, y in same:
            same[x, y] += symbols[x] == symbols[y]
    return {Fraction(count, len(seeds)) for count in same.values()}
