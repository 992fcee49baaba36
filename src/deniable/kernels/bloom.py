"""Bloom filters with flipped bits (``client.bloom_rr``)."""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array, kernel
from deniable.kernels.sampling import draw_below, draw_row
from deniable.kernels.sketches import cell


@kernel
def perturb_filter(
    keys: Array, functions: Array, hashes: int, long: bool, flip: np.uint64, count: np.uint64, cohorts: Array, out: Array, words: Array
) -> tuple[int, int]:
    """BloomRR: a cohort, then ``count`` flips, then the value's bits turned over, each once."""
    groups = np.uint64(functions.shape[0] // hashes)
    places = np.zeros(hashes, dtype=np.int64)
    at = 0
    for i in range(keys.size):
        start = at
        cohort, at = draw_below(groups, words, at)
        if at >= 0:
            at = draw_row(int(count), flip, out, i, words, at)
        if at < 0:
            return i, start
        for h in range(hashes):
            place = np.int64(cell(functions, cohort * np.uint64(hashes) + np.uint64(h), np.uint64(keys[i]), long, count))
            again = False
            for earlier in range(h):
                again |= places[earlier] == place
            places[h] = place
            if not again:
                out[i, place >> 3] ^= np.uint8(1 << (place & 7))
        cohorts[i] = cohort
    return keys.size, at


@kernel
def mark_filters(functions: Array, hashes: int, long: bool, keys: Array, marked: Array) -> None:
    """Set ``marked[cohort, bit, i]`` to one for the bits of the i-th key."""
    count = np.uint64(marked.shape[1])
    for j in range(functions.shape[0]):
        for i in range(keys.size):
            marked[j // hashes, cell(functions, j, keys[i], long, count), i] = 1.0
