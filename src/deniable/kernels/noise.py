"""Draws from a table of probabilities: ``Source.pick`` on an array of words, and the sums of what was drawn."""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array, kernel

_GUIDE_BITS = 12


def guide_table(cumulative: Array) -> Array:
    """Where to start looking, by the top bits of the word: the pick of the smallest word that begins with them."""
    smallest = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - _GUIDE_BITS)
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
            point = np.int64(guide[word >> np.uint64(64 - _GUIDE_BITS)])
            while point < last and cumulative[point] <= word:
                point += 1
            out[i, j] = point
        value = np.int64(values[i])
        out[i, value] = last - out[i, value]
    return served, served * width


@kernel
def sum_rows(rows: Array, sums: Array) -> None:
    """Add up the rows. Narrow integers are read as they are, without a widened copy."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[j] += rows[i, j]
