"""The primitives of ``contract.source`` on an array of words, and the mechanisms' draws on top of them.

A kernel takes people in order and consumes words in order, exactly as the scalar code does. It returns how many people it has
served and how many words it has used: when the words run out in the middle of a person, that person is taken back and served
again, from the same words, after the buffer has been filled up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, inlined_late, kernel

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_63 = np.uint64(63)
_AHEAD = 11
DRY = -1
"""Returned as the position when a draw ran out of words."""


@inlined
def multiply(x: Any, y: Any) -> tuple[Any, Any]:
    """The high and low words of a 128-bit product."""
    x_low, x_high, y_low, y_high = x & _LOW, x >> _32, y & _LOW, y >> _32
    middle = x_high * y_low + ((x_low * y_low) >> _32)
    cross = x_low * y_high + (middle & _LOW)
    return x_high * y_high + (middle >> _32) + (cross >> _32), x * y


@inlined_late
def draw_below(count: Any, words: Array, at: int) -> tuple[Any, int]:
    """``Source.below``. Returns the number and the next position, or DRY."""
    result = _ZERO
    while True:
        if at >= words.size:
            at = DRY
            break
        high, low = multiply(words[at], count)
        at += 1
        if low >= count or low >= (_ZERO - count) % count:  # 2^64 mod count is below count: the division is hardly ever made
            result = high
            break
    return result, at


@inlined
def draw_block(threshold: Any, lanes: Any, words: Array, at: int) -> tuple[Any, int]:
    """One block of ``Source.bernoulli_bits``: ``lanes`` masks the bits wanted. Returns the bits and the next position, or DRY."""
    bits, undecided, digits = _ZERO, lanes, threshold
    if at + _AHEAD <= words.size and threshold << np.uint64(_AHEAD - 1) != _ZERO:
        # Most blocks end after 5 to 10 words; walking 11 without a branch and counting those that were needed is twice as fast
        # as guessing where to stop. The threshold still has digits here, so a block can only end by being decided.
        first = np.uint64(at)
        for k in range(_AHEAD):
            flip = _ZERO - (digits >> _63)
            left = undecided & (words[first + np.uint64(k)] ^ flip ^ _ALL)
            bits |= (undecided ^ left) & flip
            at += int(undecided != _ZERO)
            undecided = left
            digits <<= _ONE
    while undecided != _ZERO and digits != _ZERO:
        if at >= words.size:
            at = DRY
            break
        flip = _ZERO - (digits >> _63)  # all ones where the digit of the threshold is 1
        smaller = words[at] ^ _ALL
        at += 1
        bits |= undecided & smaller & flip
        undecided &= smaller ^ flip
        digits <<= _ONE
    return bits, at


@inlined
def lanes_of(count: int, block: int) -> Any:
    """The bits of a block that belong to the first ``count``."""
    left = count - 64 * block
    return _ALL if left >= 64 else (_ONE << np.uint64(left)) - _ONE


@inlined_late
def draw_symbol(symbol: Any, others: Any, keep: Any, words: Array, at: int) -> tuple[Any, int]:
    """``keep_or_replace`` in ``client.grr``, among ``others`` + 1 symbols. Returns the symbol and the next position, or DRY."""
    if at >= words.size:
        at = DRY
    else:
        kept = words[at] < keep
        at += 1
        if not kept:
            other, at = draw_below(others, words, at)
            symbol = other + np.uint64(other >= symbol)
    return symbol, at


@kernel
def fill_below(count: np.uint64, out: Array, words: Array) -> tuple[int, int]:
    """Uniform numbers below ``count``."""
    at = 0
    for i in range(out.size):
        start = at
        draw, at = draw_below(count, words, at)
        if at < 0:
            return i, start
        out[i] = draw
    return out.size, at


@kernel
def perturb_symbol(values: Array, count: int, keep: np.uint64, out: Array, words: Array) -> tuple[int, int]:
    """GRR on ``count`` symbols: keep the value, or draw another one."""
    others = np.uint64(count - 1)
    at = 0
    for i in range(values.size):
        start = at
        symbol, at = draw_symbol(np.uint64(values[i]), others, keep, words, at)
        if at < 0:
            return i, start
        out[i] = symbol
    return values.size, at


@inlined
def draw_row(count: int, threshold: Any, out: Array, i: int, words: Array, at: int) -> int:
    """``Source.bernoulli_bits`` into the packed row ``out[i]``. Returns the next position, or DRY."""
    whole, last = count >> 6, count & 63
    for block in range(whole):
        bits, at = draw_block(threshold, _ALL, words, at)
        if at < 0:
            break
        for k in range(8):
            out[i, 8 * block + k] = np.uint8(bits >> np.uint64(8 * k))
    if last and at >= 0:
        bits, at = draw_block(threshold, (_ONE << np.uint64(last)) - _ONE, words, at)
        for k in range(8 * whole, out.shape[1]):
            out[i, k] = np.uint8(bits >> np.uint64(8 * (k - 8 * whole)))
    return at


@inlined
def draw_true_bit(place: Any, keep: Any, out: Array, i: int, words: Array, at: int) -> int:
    """Draw the bit at ``place`` of the packed row ``out[i]`` anew. Returns the next position, or DRY."""
    if at >= words.size:
        at = DRY
    else:
        bit = np.uint8(1 << (place & 7))
        byte = out[i, place >> 3] & ~bit
        out[i, place >> 3] = byte | bit if words[at] < keep else byte
        at += 1
    return at


@inlined
def parity(bits: Any) -> Any:
    """The number of ones modulo two."""
    for shift in (32, 16, 8, 4, 2, 1):
        bits ^= bits >> np.uint64(shift)
    return bits & _ONE


@kernel
def perturb_unary(values: Array, count: int, raise_other: np.uint64, keep: np.uint64, out: Array, words: Array) -> tuple[int, int]:
    """Unary encoding: ``count`` noisy bits a person, then the true bit drawn anew."""
    at = 0
    for i in range(values.size):
        start = at
        at = draw_row(count, raise_other, out, i, words, at)
        if at >= 0:
            at = draw_true_bit(np.int64(values[i]), keep, out, i, words, at)
        if at < 0:
            return i, start
    return values.size, at


@kernel
def perturb_sign(values: Array, order: np.uint64, keep: np.uint64, rows: Array, signs: Array, first: int, words: Array) -> tuple[int, int]:
    """HRR: a row, and its sign in the value's column or the opposite one; ``signs`` is packed and zero, from bit ``first`` on."""
    at = 0
    for i in range(values.size):
        start = at
        row, at = draw_below(order, words, at)  # a power of two rejects nothing
        if at < 0 or at >= words.size:
            return i, start
        sign = parity(row & np.uint64(values[i])) ^ np.uint64(words[at] >= keep)
        at += 1
        rows[i] = row
        signs[(first + i) >> 3] |= np.uint8(sign << np.uint64((first + i) & 7))
    return values.size, at
