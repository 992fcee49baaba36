"""Arithmetic modulo a prime P below 2^32, and arithmetic progressions: drawing them, and counting which places they visit.

A report is a step, stored less one, and a shift: the progression shift, shift + step, ... of ``size`` places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import draw_below

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_32 = np.uint64(32)


@inlined
def inverse(number: Any, modulus: Any) -> Any:
    """What the number must be multiplied by to give 1, by Euclid's algorithm. Signed 64-bit integers."""
    last, rest, before, now = modulus, number, 0, 1
    while rest != 0:
        quotient = last // rest
        last, rest = rest, last - quotient * rest
        before, now = now, before - quotient * now
    return before + modulus if before < 0 else before


@kernel
def perturb_progression(
    values: Array, modulus: np.uint64, size: np.uint64, keep: np.uint64, steps: Array, shifts: Array, words: Array
) -> tuple[int, int]:
    """RWS: a step, whether the value is a member, and which one; or how far beyond the members it lies."""
    at = 0
    for i in range(values.size):
        start = at
        step, at = draw_below(modulus - _ONE, words, at)
        if at < 0 or at >= words.size:
            return i, start
        kept = words[at] < keep
        at += 1
        place, at = draw_below(size if kept else modulus - size, words, at)
        if at < 0:
            return i, start
        if not kept:
            place += size
        steps[i] = step
        shift = np.uint64(values[i]) + modulus - (step + _ONE) * place % modulus
        shifts[i] = shift - modulus if shift >= modulus else shift
    return values.size, at


@kernel
def support_by_walking(steps: Array, shifts: Array, modulus: np.uint64, size: int, supports: Array) -> None:
    """Add, for each place, the reports that visit it: one addition and one comparison for each of their members."""
    for i in range(steps.size):
        step, at = np.uint64(steps[i]) + _ONE, np.uint64(shifts[i])
        for _ in range(size):
            supports[at] += 1
            at += step
            at -= modulus if at >= modulus else _ZERO


@kernel
def support_by_steps(steps: Array, shifts: Array, modulus: np.uint64, size: int, supports: Array) -> None:
    """The same, for many reports: all that have a step in common are counted on one walk around the wheel.

    On the walk 0, step, 2 step, ... a report is a run of places. Where it begins the count rises by one, where it has ended it falls. The
    walk starts without knowing how many runs are open: that number follows from the sum over all places, which is size for each report.
    """
    ends = np.zeros(modulus, dtype=np.int64)  # the reports, sorted by step: where each step's begin, and later where they end
    for i in range(steps.size):
        ends[np.uint64(steps[i]) + _ONE] += 1
    for number in range(1, ends.size):
        ends[number] += ends[number - 1]
    grouped = np.empty(steps.size, dtype=np.uint32)
    for i in range(steps.size):
        grouped[ends[steps[i]]] = shifts[i]
        ends[steps[i]] += 1
    change = np.zeros(modulus, dtype=np.int64)
    always = first = 0
    for number in range(ends.size - 1):
        step = np.uint64(number) + _ONE
        width = step * np.uint64(size) % modulus
        for i in range(first, ends[number]):
            begin = np.uint64(grouped[i])
            end = begin + width
            change[begin] += 1
            change[end - modulus if end >= modulus else end] -= 1
        count = total = 0
        at = _ZERO
        if ends[number] > first:
            for _ in range(modulus):
                count += change[at]
                change[at] = 0
                supports[at] += count
                total += count
                at += step
                at -= modulus if at >= modulus else _ZERO
        always += ((ends[number] - first) * size - total) // np.int64(modulus)  # without remainder
        first = ends[number]
    supports += always


@kernel
def fractions_of_steps(steps: Array, modulus: np.uint64) -> Array:
    """For each step 2^64 times its inverse divided by P, rounded up."""
    fractions = np.empty(steps.size, dtype=np.uint64)
    for i in range(steps.size):
        number = np.uint64(inverse(np.int64(steps[i]) + 1, np.int64(modulus)))
        high, rest = (number << _32) // modulus, (number << _32) % modulus
        fractions[i] = (high << _32) + ((rest << _32) + modulus - _ONE) // modulus
    return fractions


@kernel
def support_by_fractions(fractions: Array, shifts: Array, modulus: np.uint64, width: np.uint64, keys: Array, supports: Array) -> None:
    """Add, for each given key, the reports that visit it; ``width`` is 2^64 size / P, rounded up.

    A key that lies j steps after the shift, gap = key - shift, is a member if j = gap / step modulo P is below size. In gap times the
    fraction, modulo 2^64, the error of rounding up is below gap < P <= 2^64 / P: the product lies between j 2^64 / P and (j + 1) 2^64 / P,
    and one comparison, without a division, is exact.
    """
    for i in range(shifts.size):
        fraction, shift = fractions[i], np.uint64(shifts[i])
        for j in range(keys.size):
            gap = keys[j] - shift
            gap += modulus if keys[j] < shift else _ZERO
            supports[j] += gap * fraction < width
