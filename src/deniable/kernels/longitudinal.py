"""Two steps of noise: what a device keeps permanently, and a report drawn from it (``client.longitudinal``).

Every kernel takes the steps to do: ``PERSONAL`` draws what a device draws once for all, ``PERMANENT`` permanent answers into
``memos``, ``AGAIN`` reports from ``memos`` into ``out``. With all three, ``memos`` and ``out`` may be the same array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.hashing import _spread
from deniable.kernels.sampling import draw_below, draw_block, draw_row, draw_symbol, draw_true_bit, lanes_of
from deniable.kernels.sketches import cell

PERSONAL, PERMANENT, AGAIN = 1, 2, 4
ALL = PERSONAL | PERMANENT | AGAIN
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_32 = np.uint64(32)


@inlined
def _load(row: Array, block: int) -> Any:
    """64 bits of a packed row; those past its end are zero."""
    bits = _ZERO
    for k in range(8 * block, min(8 * block + 8, row.size)):
        bits |= np.uint64(row[k]) << np.uint64(8 * (k - 8 * block))
    return bits


@inlined
def _store(row: Array, block: int, bits: Any) -> None:
    for k in range(8 * block, min(8 * block + 8, row.size)):
        row[k] = np.uint8(bits >> np.uint64(8 * (k - 8 * block)))


@inlined
def _again(count: int, keep: Any, rise: Any, memo: Array, out: Array, kept: Array, words: Array, at: int) -> int:
    """``bits_again`` in ``client.chain``, from one packed row into another. Returns the next position, or DRY."""
    even = keep + rise == _ZERO  # together 2^64
    if not even:
        for block in range(kept.size):
            kept[block], at = draw_block(keep, lanes_of(count, block), words, at)
            if at < 0:
                break
    if at >= 0:
        for block in range(kept.size):
            risen, at = draw_block(rise, lanes_of(count, block), words, at)
            if at < 0:
                break
            bits = _load(memo, block)
            _store(out, block, bits ^ risen if even else bits & kept[block] | risen & ~bits)
    return at


@kernel
def symbols_twice(
    values: Array, count: int, keep: np.uint64, keep_again: np.uint64, steps: int, memos: Array, out: Array, words: Array
) -> tuple[int, int]:
    """LongitudinalGRR: keep the value or another symbol; report what was kept or another symbol."""
    others = np.uint64(count - 1)
    at = 0
    for i in range(out.size):
        start = at
        memo = _ZERO
        if steps & PERMANENT:
            memo, at = draw_symbol(np.uint64(values[i]), others, keep, words, at)
            if at < 0:
                return i, start
            memos[i] = memo
        if steps & AGAIN:
            symbol, at = draw_symbol(np.uint64(memos[i]), others, keep_again, words, at)
            if at < 0:
                return i, start
            out[i] = symbol
    return out.size, at


@kernel
def bits_twice(
    values: Array,
    count: int,
    raise_other: np.uint64,
    keep: np.uint64,
    keep_again: np.uint64,
    raise_again: np.uint64,
    steps: int,
    memos: Array,
    out: Array,
    words: Array,
) -> tuple[int, int]:
    """LongitudinalUnary: noisy bits with the true one drawn anew; then each of them again."""
    kept = np.zeros((count + 63) // 64, dtype=np.uint64)
    at = 0
    for i in range(out.shape[0]):
        start = at
        if steps & PERMANENT:
            at = draw_row(count, raise_other, memos, i, words, at)
            if at >= 0:
                at = draw_true_bit(np.int64(values[i]), keep, memos, i, words, at)
        if steps & AGAIN and at >= 0:
            at = _again(count, keep_again, raise_again, memos[i], out[i], kept, words, at)
        if at < 0:
            return i, start
    return out.shape[0], at


@kernel
def hashed_twice(
    keys: Array, count: np.uint64, keep: np.uint64, keep_again: np.uint64, steps: int, seeds: Array, memos: Array, out: Array, words: Array
) -> tuple[int, int]:
    """LOLOHA: a seed; a symbol kept for the value's symbol; what was kept, or another symbol."""
    others = count - _ONE
    at = 0
    for i in range(out.size):
        start = at
        if steps & PERSONAL:
            if at + seeds.shape[1] > words.size:
                return i, start
            for k in range(seeds.shape[1]):
                seeds[i, k] = words[at]
                at += 1
        if steps & PERMANENT:
            true = ((_spread(seeds, i, np.uint64(keys[i])) >> _32) * count) >> _32
            memo, at = draw_symbol(true, others, keep, words, at)
            if at < 0:
                return i, start
            memos[i] = memo
        if steps & AGAIN:
            symbol, at = draw_symbol(np.uint64(memos[i]), others, keep_again, words, at)
            if at < 0:
                return i, start
            out[i] = symbol
    return out.size, at


@kernel
def symbols_of(keys: Array, count: np.uint64, seeds: Array, symbols: Array) -> None:
    """The symbol of each key under its own seed."""
    for i in range(keys.size):
        symbols[i] = ((_spread(seeds, i, np.uint64(keys[i])) >> _32) * count) >> _32


@kernel
def filters_twice(
    keys: Array,
    functions: Array,
    hashes: int,
    long: bool,
    flip: np.uint64,
    keep_again: np.uint64,
    raise_again: np.uint64,
    count: np.uint64,
    steps: int,
    cohorts: Array,
    memos: Array,
    out: Array,
    words: Array,
) -> tuple[int, int]:
    """RAPPOR: a cohort; flips with the value's bits turned over, each once; then each bit again."""
    groups = np.uint64(functions.shape[0] // hashes)
    places = np.zeros(hashes, dtype=np.int64)
    kept = np.zeros((int(count) + 63) // 64, dtype=np.uint64)
    at = 0
    for i in range(out.shape[0]):
        start = at
        if steps & PERSONAL:
            cohort, at = draw_below(groups, words, at)
            if at < 0:
                return i, start
            cohorts[i] = cohort
        if steps & PERMANENT:
            at = draw_row(int(count), flip, memos, i, words, at)
            if at < 0:
                return i, start
            for h in range(hashes):
                function = np.uint64(cohorts[i]) * np.uint64(hashes) + np.uint64(h)
                place = np.int64(cell(functions, function, np.uint64(keys[i]), long, count))
                again = False
                for earlier in range(h):
                    again |= places[earlier] == place
                places[h] = place
                if not again:
                    memos[i, place >> 3] ^= np.uint8(1 << (place & 7))
        if steps & AGAIN:
            at = _again(int(count), keep_again, raise_again, memos[i], out[i], kept, words, at)
            if at < 0:
                return i, start
    return out.shape[0], at
