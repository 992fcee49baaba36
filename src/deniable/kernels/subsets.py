"""Random subsets as packed bits: independent bits first, then uniform corrections until the size is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import draw_below, draw_block

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_EACH = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_PLACES = np.array([([i for i in range(8) if byte >> i & 1] + [0] * 8)[:8] for byte in range(256)], dtype=np.uint8)
"""For each byte, where its ones are."""
_TOGETHER = 16
_NEVER = np.int32(1 << 30)
"""More than any rank."""


@inlined
def _ones_by_byte(word: Any) -> Any:
    """How many bits are set in each byte of a word."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    return (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)


@inlined
def _ones(word: Any) -> Any:
    """How many bits are set."""
    return (_ones_by_byte(word) * _EACH) >> np.uint64(56)


@inlined
def _bit(word: Any, rank: Any) -> Any:
    """The one of this rank, alone in its word, without a branch: its byte by the running sums of the bytes, then its place in the byte."""
    upto = _ones_by_byte(word) * _EACH
    passed = ((rank * _EACH | _HIGH) - upto) & _HIGH  # the high bit of each byte whose sum is at most the rank; sums are below 128
    shift = ((passed >> np.uint64(7)) * _EACH >> np.uint64(56)) << np.uint64(3)
    before = (upto << np.uint64(8)) >> shift & np.uint64(0xFF)
    return _ONE << (shift + np.uint64(_PLACES[(word >> shift) & np.uint64(0xFF), rank - before]))


@inlined
def _block(upto: Array, rank: Any) -> Any:
    """How many entries are at most the rank; ``_TOGETHER`` of them are compared at once, a number that the compiler knows."""
    block = np.int32(0)
    for start in range(0, upto.size, _TOGETHER):
        for j in range(_TOGETHER):
            block += np.int32(upto[start + j] <= rank)
    return block


@kernel
def perturb_subset(values: Array, others: int, size: int, keep: np.uint64, first: np.uint64, out: Array, words: Array) -> tuple[int, int]:
    """SubsetSelection on ``others`` + 1 values; see ``client.subset_selection`` for the order of the draws.

    Corrections turn over ``flipped`` bits: ones where there are too many, zeros where there are too few. ``upto`` counts them up to the
    end of each block; it is as long as blocks are compared together, and what it has too many is never reached.
    """
    blocks = (others + 63) // 64
    whole = out.shape[1] >> 3
    row = np.zeros(blocks + 1, dtype=np.uint64)
    upto = np.zeros((blocks + _TOGETHER - 1) // _TOGETHER * _TOGETHER, dtype=np.int32)
    lanes = np.full(blocks, _ALL)
    if others % 64:
        lanes[blocks - 1] = (_ONE << np.uint64(others % 64)) - _ONE
    at = 0
    for i in range(values.size):
        start = at
        if at >= words.size:
            return i, start
        included = words[at] < keep
        at += 1
        target = size - int(included)
        count = 0
        for block in range(blocks):
            row[block], at = draw_block(first, lanes[block], words, at)
            if at < 0:
                return i, start
            count += int(_ones(row[block]))
            upto[block] = count
        adding = count < target
        if adding:
            for block in range(blocks):
                upto[block] = min(others, 64 * (block + 1)) - upto[block]
        for block in range(blocks, upto.size):
            upto[block] = _NEVER
        flipped = _ALL if adding else _ZERO
        left = others - count if adding else count
        for _ in range(abs(target - count)):
            rank, at = draw_below(np.uint64(left), words, at)
            if at < 0:
                return i, start
            place = _block(upto, np.int32(rank))
            if place:
                rank -= np.uint64(upto[place - 1])
            row[place] ^= _bit((row[place] ^ flipped) & lanes[place], rank)
            for j in range(upto.size):
                upto[j] -= np.int32(j >= place)
            left -= 1
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
