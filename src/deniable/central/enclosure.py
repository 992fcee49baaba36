"""Tables of thresholds for noise whose weights are e^(-x), certain to the last bit.

Weights are known as pairs of integers, one certainly below and one certainly above, over 2^precision. Sums of them give each cumulative
probability within two bounds; where both have the same first bits, those bits are the threshold, and otherwise the precision is raised.
No float takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import count
from math import ceil

Bounds = tuple[int, int]
"""An integer that is not above a number times 2^precision, and one that is not below it."""
SPARE = 64
"""Bits beyond the threshold's, at first: enough for all tables but one in a million."""


def exp_bounds(x: Fraction, precision: int) -> Bounds:
    """Bounds of e^-x, over 2^precision, for x from 0 on.

    >>> low, high = exp_bounds(Fraction(1), 20)
    >>> low / 2**20 < 0.36787944117 < high / 2**20, high - low
    (True, 1)
    """
    if x == 0:
        return 1 << precision, 1 << precision
    if x > precision:  # e^-x is below 2^-precision already
        return 0, 1
    digits = ceil(precision * 0.302) + 12
    down, up = (Context(prec=digits, rounding=mode, Emin=MIN_EMIN, Emax=MAX_EMAX) for mode in (ROUND_FLOOR, ROUND_CEILING))
    top, bottom = Decimal(x.numerator), Decimal(x.denominator)
    # Decimal.exp rounds to nearest whatever the context says; the neighbors are certain bounds.
    low = down.next_minus(up.divide(top, bottom).copy_negate().exp(down))  # a plain minus would round to the thread's 28 digits
    high = up.next_plus(down.divide(top, bottom).copy_negate().exp(up))
    return int(Fraction(low) * (1 << precision)), ceil(Fraction(high) * (1 << precision))


def exp_digits(x: Fraction, bits: int) -> int:
    """The first bits of e^-x, for a rational x above 0: e^-x is irrational, so they are found.

    >>> exp_digits(Fraction(1), 8) == int(0.36787944 * 256)
    True
    """
    for spare in count(SPARE, SPARE):
        low, high = exp_bounds(x, bits + spare)
        if low >> spare == high >> spare:
            return low >> spare
    raise AssertionError("not reached")


def weight_bounds(linear: Fraction, quadratic: Fraction, first: int, step: int, precision: int) -> Iterator[tuple[Bounds, Bounds]]:
    """Bounds of e^-(linear m + quadratic m^2) at m = first, first + step .., each with bounds of its ratio to the weight before.

    Weights are products of ratios, and ratios fall by the same factor from one to the next: two multiplications each.
    """
    low, high = exp_bounds(linear * first + quadratic * first**2, precision)
    ratio_low, ratio_high = exp_bounds(linear * step + quadratic * (2 * first * step + step**2), precision)
    fall_low, fall_high = exp_bounds(2 * quadratic * step**2, precision)
    while True:
        yield (low, high), (ratio_low, ratio_high)
        low, high = low * ratio_low >> precision, -(-high * ratio_high >> precision)
        ratio_low, ratio_high = ratio_low * fall_low >> precision, -(-ratio_high * fall_high >> precision)


def thresholds(linear: Fraction, quadratic: Fraction, block: int, bits: int) -> tuple[int, ...]:
    """The first bits of each cumulative probability over the blocks of integers, from 0 outward, up to the first that are all ones.

    Block 2 q holds the integers from q block on, block 2 q + 1 those from -q block - 1 downward. A block weighs as much as the integer in
    it that is nearest to 0 does. The probabilities are irrational for rational parameters, so their bits are found.

    >>> [t / 2**64 for t in thresholds(Fraction(1), Fraction(0), 1, 64)][:3]
    [0.46211715726000974, 0.6321205588285577, 0.8021239603971057]
    """
    for spare in count(SPARE, SPARE):
        found = _thresholds(linear, quadratic, block, bits, bits + spare)
        if found is not None:
            return found
    raise AssertionError("not reached")


def _thresholds(linear: Fraction, quadratic: Fraction, block: int, bits: int, precision: int) -> tuple[int, ...] | None:
    """The same at a precision; None where it does not suffice."""
    lows, highs, tail = partial_sums(linear, quadratic, block, bits + SPARE // 2, precision)
    least, most = lows[-1], highs[-1] + tail
    table, all_ones = [], (1 << bits) - 1
    for low, high in zip(lows, highs, strict=True):
        threshold = (low << bits) // most
        if threshold != min((high << bits) // least, all_ones):
            return None
        table.append(threshold)
        if threshold == all_ones:
            return tuple(table)
    return None


def partial_sums(linear: Fraction, quadratic: Fraction, block: int, bits: int, precision: int) -> tuple[list[int], list[int], int]:
    """Bounds of the sums of the first weights, from 0 outward, and of all the rest, which is below 2^-bits.

    The exponent is convex, so ratios fall, and what follows a weight w with the ratio r is at most w r / (1 - r).
    """
    lows, highs = [], []
    low = high = 0
    rests = [1 << precision] * 2
    sides = [weight_bounds(linear, quadratic, near, block, precision) for near in (0, 1)]
    while sum(rests) > 1 << precision - bits:
        for side, weights in enumerate(sides):
            (weight_low, weight_high), (_, ratio_high) = next(weights)
            low, high = low + weight_low, high + weight_high
            lows.append(low)
            highs.append(high)
            rests[side] = -(-weight_high * ratio_high // ((1 << precision) - ratio_high)) if ratio_high < 1 << precision else 1 << precision
    return lows, highs, sum(rests)
