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
def _ones_by_byte(word: Any) -> Any:
    """How many bits are set in each byte of a word."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    return (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)


@inlined
def _ones(word: Any) -> Any:
    """How many bits are set."""
    return (_ones_by_byte(word) * np.uint64(0x0101010101010101)) >> np.uint64(56)


@inlined
def _bit(word: Any, rank: Any) -> Any:
    """The one of this rank, alone in its word: its byte by the running sums of the bytes, then the bit in it."""
    upto = _ones_by_byte(word) * np.uint64(0x0101010101010101)
    shift, below = _ZERO, _ZERO
    while (upto >> shift) & np.uint64(0xFF) <= rank:
        below = (upto >> shift) & np.uint64(0xFF)
        shift += np.uint64(8)
    byte = (word >> shift) & np.uint64(0xFF)
    for _ in range(rank - below):
        byte &= byte - _ONE
    return (byte & (_ZERO - byte)) << shift


@kernel
def perturb_subset(values: Array, others: int, size: int, keep: np.uint64, first: np.uint64, out: Array, words: Array) -> tuple[int, int]:
    """SubsetSelection on ``others`` + 1 values; see ``client.subset_selection`` for the order of the draws."""
    blocks = (others + 63) // 64
    whole = out.shape[1] >> 3
    row = np.zeros(blocks + 1, dtype=np.uint64)
    ones = np.zeros(blocks, dtype=np.uint64)
    lanes = np.full(blocks, _ALL)
    if others % 64:
        lanes[blocks - 1] = (_ONE << np.uint64(others % 64)) - _ONE
    room = np.array([_ones(lane) for lane in lanes])
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
            row[block], at = draw_block(first, lanes[block], words, at)
            if at < 0:
                return i, start
            ones[block] = _ones(row[block])
            count += ones[block]
        while count != target:
            adding = count < target
            rank, at = draw_below(np.uint64(others) - count if adding else count, words, at)
            if at < 0:
                return i, start
            block = 0
            if adding:  # the bit of this rank among the zeros
                while rank >= room[block] - ones[block]:
                    rank -= room[block] - ones[block]
                    block += 1
                row[block] ^= _bit(~row[block] & lanes[block], rank)
                ones[block] += _ONE
                count += _ONE
            else:  # the bit of this rank among the ones
                while rank >= ones[block]:
                    rank -= ones[block]
                    block += 1
                row[block] ^= _bit(row[block], rank)
                ones[block] -= _ONE
                count -= _ONE
        # Put the true value's place back: everything from it on moves up by one bit.
        value = np.int64(values[i])
        row[blocks] = _ZERO
        place, bit = value >> 6, np.uint64(value & 63)
        for block in range(blocks, place, -1):
            row[block] = (row[block] << _ONE) | (row[block - 1] >> np.uint64(63))
        low = (_ONE << bit) - _ONE
        word = row[place]
        row[place] = (word & low) | (np.uint64(included) << bit) | ((word & ~low) << _ONE)
        for block in range(whole):
            for k in range(8):
                out[i, 8 * block + k] = np.uint8(row[block] >> np.uint64(8 * k))
        for byte in range(8 * whole, out.shape[1]):
            out[i, byte] = np.uint8(row[whole] >> np.uint64(8 * (byte - 8 * whole)))
    return values.size, at
