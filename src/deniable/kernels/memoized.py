"""Bits that are kept and sent again, as they are or flipped now and then (``client.dbit_flip_pm``)."""

from __future__ import annotations

import numpy as np

from deniable.kernels.buckets import draw_set, place_in
from deniable.kernels.compiled import Array, kernel
from deniable.kernels.longitudinal import AGAIN, PERMANENT, PERSONAL
from deniable.kernels.sampling import draw_block, lanes_of

_ONE = np.uint64(1)


@kernel
def buckets_twice(
    values: Array,
    domain_size: int,
    raise_other: np.uint64,
    keep: np.uint64,
    flip: np.uint64,
    steps: int,
    buckets: Array,
    memos: Array,
    out: Array,
    first: int,
    stride: int,
    words: Array,
) -> tuple[int, int]:
    """DBitFlipPM: a set of buckets; a noisy bit for each; then each bit flipped again.

    Bits are one long row, person i's from i ``stride`` on, and zero where they are written, from person ``first`` on.
    """
    count = buckets.shape[1]
    noise = np.zeros((count + 63) // 64, dtype=np.uint64)
    at = 0
    for i in range(buckets.shape[0]):
        start = at
        row = buckets[i]
        if steps & PERSONAL:
            at = draw_set(domain_size, count, row, words, at)
            if at < 0:
                return i, start
        if steps & PERMANENT:
            for block in range(noise.size):
                noise[block], at = draw_block(raise_other, lanes_of(count, block), words, at)
                if at < 0:
                    return i, start
            place = place_in(row, count, np.uint64(values[i]))
            if place < count and np.uint64(row[place]) == np.uint64(values[i]):
                if at >= words.size:
                    return i, start
                bit = np.uint64(place & 63)
                noise[place >> 6] = (noise[place >> 6] & ~(_ONE << bit)) | np.uint64(words[at] < keep) << bit
                at += 1
        else:
            for k in range(count):
                position = (first + i) * stride + k
                bit = np.uint64((memos[position >> 3] >> np.uint8(position & 7)) & 1)
                noise[k >> 6] = (noise[k >> 6] & ~(_ONE << np.uint64(k & 63))) | bit << np.uint64(k & 63)
        if steps & AGAIN:
            for block in range(noise.size):
                flips, at = draw_block(flip, lanes_of(count, block), words, at)
                if at < 0:
                    return i, start
                noise[block] ^= flips
        for k in range(count):  # only now: someone who is taken back leaves no bits behind
            position = (first + i) * stride + k
            out[position >> 3] |= np.uint8((noise[k >> 6] >> np.uint64(k & 63)) & _ONE) << np.uint8(position & 7)
    return buckets.shape[0], at
