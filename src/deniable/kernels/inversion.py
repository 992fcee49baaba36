"""Draws by table inversion: one look at a table of thresholds for each word, and the rest only where that leaves it open.

The kernels for exact noise stop before a number that 64-bit thresholds do not decide. The caller draws that one with more digits,
and goes on. Those for the noise of mechanisms are ``Source.pick`` on an array of words.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel

GUIDE_BITS = 12
"""The top bits of a word that say where to start looking."""
_DOUBT = 1e-9
"""Far more than double precision loses in an exponential: closer than this, a comparison is left to exact arithmetic."""


def guide_of(thresholds: Array) -> Array:
    """Where to start looking, by a word's top bits: the first border that is not below the smallest such word."""
    smallest = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    return np.searchsorted(thresholds, smallest, side="left").astype(np.uint16)


@inlined
def _find(word: Any, thresholds: Array, guide: Array) -> tuple[Any, bool]:
    """How many thresholds are at most the word, and whether one equals it. The last threshold is the largest word, so the walk ends."""
    place = np.int64(guide[word >> np.uint64(64 - GUIDE_BITS)])
    while thresholds[place] < word:
        place += 1
    return place, thresholds[place] == word


@kernel
def draw_integers(thresholds: Array, guide: Array, out: Array, words: Array) -> tuple[int, int]:
    """Blocks of one integer: one word each."""
    count = min(out.size, words.size)
    for i in range(count):
        place, tie = _find(words[i], thresholds, guide)
        if tie:
            return i, i
        out[i] = (place >> 1) ^ -(place & 1)
    return count, count


@kernel
def draw_in_blocks(
    thresholds: Array, guide: Array, block_bits: int, linear: float, quadratic: float, out: Array, words: Array
) -> tuple[int, int]:
    """A block, an integer in it, and a coin that keeps it: three words for each try."""
    down = np.uint64(64 - block_bits)
    at = 0
    for i in range(out.size):
        start = at
        while True:
            if at + 3 > words.size:
                return i, start
            place, tie = _find(words[at], thresholds, guide)
            if tie:
                return i, start
            offset = np.int64(words[at + 1] >> down)
            far = (place >> 1 << block_bits) + offset
            near = float((place >> 1 << block_bits) + (place & 1))
            x = offset * (linear + quadratic * (2.0 * near + offset))
            margin = exp(-x) - words[at + 2] / 18446744073709551616.0
            if offset and abs(margin) < _DOUBT:
                return i, start
            at += 3
            if margin > 0 or offset == 0:
                out[i] = far ^ -(place & 1)
                break
    return out.size, at


def guide_table(cumulative: Array) -> Array:
    """Where to start looking, by the top bits of the word: the pick of the smallest word that begins with them."""
    smallest = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    return np.searchsorted(cumulative, smallest, side="right").astype(np.uint16)


@kernel
def perturb_noisy(values: Array, cumulative: Array, guide: Array, out: Array, words: Array) -> tuple[int, int]:
    """SHE: one pick for each entry; the true value's is mirrored. Most words are decided at the first or second look."""
    width = out.shape[1]
    last = cumulative.size
    served = min(values.size, words.size // width)
    for i in range(served):
        for j in range(width):
            word = words[i * width + j]
            point = np.int64(guide[word >> np.uint64(64 - GUIDE_BITS)])
            while point < last and cumulative[point] <= word:
                point += 1
            out[i, j] = point
        value = np.int64(values[i])
        out[i, value] = last - out[i, value]
    return served, served * width
