"""One bit a person, eight people to a byte: compared in blocks, which processors do for several people at once, then packed."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.numbers import Served, is_doubtful, shifted_place
from deniable.kernels.sampling import DRY, draw_below, draw_block, multiply

_BLOCK = 1024
"""People to a block: their flags stay in the fastest cache."""
_AHEAD = 8
UNKNOWN = 255
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_GATHER = np.uint64(0x0102040810204080)
"""Times eight bytes of 0 or 1, it has their bits, the first one lowest, in its highest byte."""
_56 = np.uint64(56)


@inlined
def pack_flags(flags: Array, count: int, out: Array, begin: int) -> None:
    """Write ``count`` bytes of 0 or 1 as bits, from bit ``begin`` of ``out`` on, which is zero there."""
    whole = count >> 3 if begin & 7 == 0 else 0
    eights, bytes_ = flags[: 8 * whole].view(np.uint64), out[begin >> 3 : (begin >> 3) + whole]
    for k in range(whole):
        bytes_[k] = np.uint8((eights[k] * _GATHER) >> _56)
    for i in range(8 * whole, count):
        out[(begin + i) >> 3] |= flags[i] << np.uint8((begin + i) & 7)


@kernel
def perturb_bit(values: Array, if_true: np.uint64, if_false: np.uint64, out: Array, begin: int, words: Array) -> tuple[int, int]:
    """RR, SignRR: one word each; ``out`` is packed and zero, from bit ``begin`` on."""
    served = min(values.size, words.size)
    flags = np.empty(_BLOCK, dtype=np.uint8)
    for start in range(0, served, _BLOCK):
        count = min(_BLOCK, served - start)
        some, drawn = values[start : start + count], words[start : start + count]
        for i in range(count):
            flags[i] = drawn[i] < (if_true if some[i] else if_false)
        pack_flags(flags, count, out, begin + start)
    return served, served


@kernel
def round_to_bit(
    numbers: Array,
    start: float,
    scale: float,
    steps: float,
    slack: float,
    first: np.uint64,
    step: np.uint64,
    out: Array,
    begin: int,
    words: Array,
) -> Served:
    """OneBitMean, Duchi: a bit that is 1 with threshold first + point step; ``out`` is packed and zero, from bit ``begin`` on.

    A word rounds, and one makes the bit. In a block with a doubt, which is rare, those before it are served.
    """
    served = min(numbers.size, words.size >> 1)
    flags = np.empty(_BLOCK, dtype=np.uint8)
    for base in range(0, served, _BLOCK):
        count = min(_BLOCK, served - base)
        some, drawn = numbers[base : base + count], words[2 * base : 2 * (base + count)]
        doubts = 0
        for i in range(count):
            even = _TWO * np.uint64(i)  # unsigned, so that no index can be meant from the end: else nothing is done at once
            place = shifted_place(some[i], start, scale, steps, drawn[even])
            floor = np.floor(place)
            doubts += is_doubtful(place, floor, slack)
            flags[i] = drawn[even + _ONE] < first + np.uint64(np.int64(floor) + 1) * step
        if doubts:
            count = 0
            place = shifted_place(some[0], start, scale, steps, drawn[0])
            while not is_doubtful(place, np.floor(place), slack):
                count += 1
                place = shifted_place(some[count], start, scale, steps, drawn[2 * count])
        pack_flags(flags, count, out, begin + base)
        if doubts:
            return base + count, 2 * (base + count), True
    return served, 2 * served, False


@inlined
def mark_coins(threshold: Any, words: Array) -> Array:
    """For each word, what ``draw_block`` for a single lane would draw from there on: its bit, and twice the words it would use.

    The first word whose lowest bit differs from the threshold's digit decides. Who draws cannot know before where it stops, and guessing
    costs more than looking at the same few words for everybody at once. UNKNOWN where it takes more words than are looked at.
    """
    digits = 0
    while digits < _AHEAD and threshold << np.uint64(digits) != _ZERO:
        digits += 1
    marks = np.full(words.size + 1, np.uint8(UNKNOWN) if threshold << np.uint64(digits) != _ZERO else np.uint8(2 * digits), dtype=np.uint8)
    lowest = np.empty(words.size, dtype=np.uint8)
    for i in range(words.size):
        lowest[i] = np.uint8(words[i] & _ONE)
    for k in range(digits - 1, -1, -1):
        digit = np.uint8((threshold >> np.uint64(63 - k)) & _ONE)
        mark, ahead = np.uint8(2 * (k + 1)) | digit, lowest[k:]
        for i in range(ahead.size):
            marks[i] = mark if ahead[i] != digit else marks[i]
    for i in range(max(0, words.size - digits + 1), words.size + 1):
        marks[i] = UNKNOWN
    return marks


@kernel
def first_broken(numbers: Array, start: float, width: float) -> int:
    """The place of the first number that is not whole, once it is clipped to 0..width above start; how many there are if all are."""
    for base in range(0, numbers.size, _BLOCK):
        some = numbers[base : base + _BLOCK]
        broken = 0
        for i in range(some.size):
            above = min(max(some[i] - start, 0.0), width)
            broken += above != np.floor(above)
        if broken:
            for i in range(some.size):
                above = min(max(some[i] - start, 0.0), width)
                if above != np.floor(above):
                    return base + i
    return int(numbers.size)


@kernel
def counter_bits(
    numbers: Array,
    start: float,
    cell: np.uint64,
    steps: np.uint64,
    first: np.uint64,
    step: np.uint64,
    flip: np.uint64,
    out: Array,
    begin: int,
    words: Array,
) -> tuple[int, int]:
    """OneBitMeanPM: alpha, the grid point, its bit, a flip; ``out`` is packed and zero, from bit ``begin`` on."""
    at, end, width = 0, np.uint64(words.size), np.float64(cell * steps)
    width_of_cell, inverse = np.int64(cell), 1.0 / np.float64(cell)
    flags, marks = np.empty(_BLOCK, dtype=np.uint8), mark_coins(flip, words)
    below, missing = np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK, dtype=np.uint64)
    for base in range(0, numbers.size, _BLOCK):
        some = numbers[base : base + _BLOCK]
        for i in range(some.size):  # the threshold of the grid point below, and what is missing to the one above
            above = min(max(some[i] - start, 0.0), width)
            point = np.int64(above * inverse)
            beyond = np.int64(above) - point * width_of_cell
            off = np.int64(beyond >= width_of_cell) - np.int64(beyond < 0)  # the quotient may have been rounded past an integer
            below[i] = first + np.uint64(point + off) * step
            missing[i] = cell - np.uint64(beyond - off * width_of_cell)
        served, before = some.size, at
        for i in range(some.size):
            before = at
            here = np.uint64(at)
            mark = marks[here + _TWO] if here + _TWO < end else np.uint8(UNKNOWN)
            alpha, rest = multiply(words[here], cell) if here < end else (_ZERO, _ZERO)
            if rest >= cell and mark != UNKNOWN:  # alpha is drawn at the first word, and the coin is marked: nearly always
                at += 2 + int(mark >> np.uint8(1))
                word, flipped = words[here + _ONE], mark & np.uint8(1)
            else:
                alpha, at = draw_below(cell, words, at)
                if at < 0 or at >= words.size:
                    served, at = i, DRY
                    break
                word = words[at]
                late, at = draw_block(flip, _ONE, words, at + 1)
                flipped = np.uint8(late)
                if at < 0:
                    served = i
                    break
            flags[i] = np.uint8(word < below[i] + np.uint64(alpha >= missing[i]) * step) ^ flipped
        pack_flags(flags, served, out, begin + base)
        if at < 0:
            return base + served, before
    return numbers.size, at
