"""Noisy bits about a few values drawn at random.

Bits are addressed as one long row: person i has those from i ``stride`` on. So a single bit a person, packed across people, and
several, padded to whole bytes, are the same thing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import draw_below, draw_block, lanes_of

_ONE = np.uint64(1)


@inlined
def place_in(row: Array, size: int, value: Any) -> int:
    """How many of the first ``size`` items of an increasing row are below a value."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if np.uint64(row[middle]) < value:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def draw_set(domain_size: int, count: int, row: Array, words: Array, at: int) -> int:
    """``count`` different values in increasing order into a row (Floyd's algorithm). Returns the next position, or DRY."""
    for size in range(count):
        newest = np.uint64(domain_size - count + size)
        drawn, at = draw_below(newest + _ONE, words, at)
        if at < 0:
            break
        place = place_in(row, size, drawn)
        if place < size and np.uint64(row[place]) == drawn:
            place, drawn = size, newest  # larger than all before
        for k in range(size, place, -1):
            row[k] = row[k - 1]
        row[place] = drawn
    return at


@kernel
def fill_sets(domain_size: int, rows: Array, words: Array) -> tuple[int, int]:
    """A set of different values in each row."""
    at = 0
    for i in range(rows.shape[0]):
        start = at
        at = draw_set(domain_size, rows.shape[1], rows[i], words, at)
        if at < 0:
            return i, start
    return rows.shape[0], at


@kernel
def perturb_buckets(
    values: Array,
    domain_size: int,
    raise_other: np.uint64,
    keep: np.uint64,
    buckets: Array,
    bits: Array,
    first: int,
    stride: int,
    words: Array,
) -> tuple[int, int]:
    """DBitFlip: a set of buckets, a noisy bit for each, the true one drawn anew. ``bits`` is zero from person ``first`` on."""
    count = buckets.shape[1]
    noise = np.zeros((count + 63) // 64, dtype=np.uint64)
    at = 0
    for i in range(values.size):
        start = at
        row = buckets[i]
        at = draw_set(domain_size, count, row, words, at)
        if at < 0:
            return i, start
        for block in range(noise.size):
            noise[block], at = draw_block(raise_other, lanes_of(count, block), words, at)
            if at < 0:
                return i, start
        value = np.uint64(values[i])
        place = place_in(row, count, value)
        if place < count and np.uint64(row[place]) == value:
            if at >= words.size:
                return i, start
            kept = np.uint64(words[at] < keep)
            at += 1
            bit = np.uint64(place & 63)
            noise[place >> 6] = (noise[place >> 6] & ~(_ONE << bit)) | kept << bit
        for k in range(count):  # only now: someone who is taken back leaves no bits behind
            position = (first + i) * stride + k
            bits[position >> 3] |= np.uint8((noise[k >> 6] >> np.uint64(k & 63)) & _ONE) << np.uint8(position & 7)
    return values.size, at


@kernel
def count_buckets(buckets: Array, bits: Array, first: int, stride: int, ones: Array, asked: Array) -> None:
    """Add to ``asked[v]`` the reports that drew v, and to ``ones[v]`` those of them that have its bit set."""
    for i in range(buckets.shape[0]):
        for k in range(buckets.shape[1]):
            position = (first + i) * stride + k
            asked[buckets[i, k]] += 1
            ones[buckets[i, k]] += (bits[position >> 3] >> (position & 7)) & 1
