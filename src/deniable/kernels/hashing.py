"""Hashing many people's values, and counting which candidates their reports support (the family of ``contract.hashing``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import draw_symbol

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


@inlined
def _spread(seeds: Array, i: int, key: Any) -> Any:
    """U of ``HashFamily.spread`` for the i-th seed."""
    if seeds.shape[1] == 2:
        return seeds[i, 0] * key + seeds[i, 1]
    return (seeds[i, 0] + (key >> _32)) * (seeds[i, 1] + (key & _LOW)) + seeds[i, 2]


@inlined
def _starts(symbol: Any, count: Any) -> Any:
    """``HashFamily.starts``; for symbol = count it wraps to 0, which is 2^64."""
    return (((symbol << _32) + count - np.uint64(1)) // count) << _32


@kernel
def perturb_hashed(keys: Array, count: np.uint64, keep: np.uint64, seeds: Array, symbols: Array, words: Array) -> tuple[int, int]:
    """OLH: the seed as it comes, then randomized response on the symbol."""
    others = count - np.uint64(1)
    seed_words = seeds.shape[1]
    at = 0
    for i in range(keys.size):
        start = at
        if at + seed_words > words.size:
            return i, start
        for k in range(seed_words):
            seeds[i, k] = words[at]
            at += 1
        symbol = ((_spread(seeds, i, np.uint64(keys[i])) >> _32) * count) >> _32
        symbol, at = draw_symbol(symbol, others, keep, words, at)
        if at < 0:
            return i, start
        symbols[i] = symbol
    return keys.size, at


@kernel
def support_of_range(seeds: Array, symbols: Array, count: np.uint64, first: np.uint64, supports: Array) -> None:
    """Add, for each key first, first + 1, ..., the reports that support it. Seeds of two words only.

    The next key's u is one addition away, and hitting the symbol is one comparison: u - start < width.
    """
    for i in range(symbols.size):
        symbol = np.uint64(symbols[i])
        start = _starts(symbol, count)
        width = _starts(symbol + np.uint64(1), count) - start
        step = seeds[i, 0]
        u = step * first + seeds[i, 1] - start
        for j in range(supports.size):
            supports[j] += u < width
            u += step


@kernel
def support_of_keys(seeds: Array, symbols: Array, count: np.uint64, keys: Array, supports: Array) -> None:
    """Add, for each given key, the reports that support it."""
    for i in range(symbols.size):
        symbol = np.uint64(symbols[i])
        start = _starts(symbol, count)
        width = _starts(symbol + np.uint64(1), count) - start
        for j in range(keys.size):
            supports[j] += _spread(seeds, i, keys[j]) - start < width
