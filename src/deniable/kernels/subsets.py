"""Random subsets as packed bits: independent bits first, then uniform corrections until the size is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import draw_below, draw_block

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _ones(word: Any) -> Any:
    """How many bits are set; compiled to one instruction."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inlined
def _flip(row: Array, flipped: Any, count: int, rank: Any) -> None:
    """Flip the bit of this rank among the ones of ``row ^ flipped``, within the first ``count`` bits."""
    for block in range(row.size):
        word = row[block] ^ flipped
        if 64 * block + 64 > count:
            word &= (_ONE << np.uint64(count - 64 * block)) - _ONE
        ones = _ones(word)
        if rank < ones:
            for shift in range(0, 64, 8):  # the byte first, then the bit in it
                byte = (word >> np.uint64(shift)) & np.uint64(0xFF)
                ones = _ones(byte)
                if rank < ones:
                    while rank > _ZERO:
                        byte &= byte - _ONE
                        rank -= _ONE
                    row[block] ^= (byte & (_ZERO - byte)) << np.uint64(shift)
                    break
                rank -= ones
            break
        rank -= ones


@kernel
def perturb_subset(values: Array, others: int, size: int, keep: np.uint64, first: np.uint64, out: Array, words: Array) -> tuple[int, int]:
    """SubsetSelection on ``others`` + 1 values; see ``client.subset_selection`` for the order of the draws."""
    blocks = (others + 63) // 64
    last = _ALL if others % 64 == 0 else (_ONE << np.uint64(others % 64)) - _ONE
    row = np.zeros(blocks + 1, dtype=np.uint64)
    at = 0
    for i in range(values.size):
        start = at
        if at >= words.size:
            return i, start
        included = words[at] < keep
        at += 1
        target = np.uint64(size - int(included))
        count = _ZERO
        for block in range(blocks):
            row[block], at = draw_block(first, last if block == blocks - 1 else _ALL, words, at)
            if at < 0:
                return i, start
            count += _ones(row[block])
        while count != target:
            adding = count < target
            pool = np.uint64(others) - count if adding else count
            rank, at = draw_below(pool, words, at)
            if at < 0:
                return i, start
            _flip(row, _ALL if adding else _ZERO, others, rank)
            count = count + _ONE if adding else count - _ONE
        # Put the true value's place back: everything from it on moves up by one bit.
        value = np.int64(values[i])
        row[blocks] = _ZERO
        place, bit = value >> 6, np.uint64(value & 63)
        for block in range(blocks, place, -1):
            row[block] = (row[block] << _ONE) | (row[block - 1] >> np.uint64(63))
        low = (_ONE << bit) - _ONE
        word = row[place]
        row[place] = (word & low) | (np.uint64(included) << bit) | ((word & ~low) << _ONE)
        for byte in range(out.shape[1]):
            out[i, byte] = np.uint8(row[byte >> 3] >> np.uint64(8 * (byte & 7)))
    return values.size, at
