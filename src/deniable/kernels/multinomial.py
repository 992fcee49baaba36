"""Drawing a whole tally anew, in time that depends on its cells and not on the people behind it.

For analysts' resampling, never for a report: probabilities here are doubles.
"""

from __future__ import annotations

import math

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import DRY

_ULP = 2.0**-53
_FEW = 10.0
"""The expected number up to which counting up from zero is quick."""


@inlined
def draw_uniform(words: Array, at: int) -> tuple[float, int]:
    """A number strictly between 0 and 1, of 52 random bits. Returns it and the next position, or DRY."""
    number = 0.5
    if at >= words.size:
        at = DRY
    else:
        number = (np.float64(words[at] >> np.uint64(12)) + 0.5) * 2.0 * _ULP
        at += 1
    return number, at


@kernel
def fill_uniform(out: Array, words: Array) -> tuple[int, int]:
    """Numbers strictly between 0 and 1, one word each."""
    served = min(out.size, words.size)
    for i in range(served):
        out[i] = draw_uniform(words, i)[0]
    return served, served


@kernel
def draw_binomial(n: int, p: float, words: Array, at: int) -> tuple[int, int]:
    """How many of n people do what each does with probability p. Returns it and the next position, or DRY.

    Where few are expected their number is counted up (inversion); else it is found by Hörmann's transformed rejection, BTRS, 1993.
    """
    if n <= 0 or p <= 0.0:
        return 0, at
    if p >= 1.0:
        return n, at
    rare = min(p, 1.0 - p)
    if n * rare < _FEW:
        found, at = _counted_up(n, rare, words, at)
    else:
        found, at = _transformed(n, rare, words, at)
    return (found if p <= 0.5 else n - found), at


@kernel
def _counted_up(n: int, p: float, words: Array, at: int) -> tuple[int, int]:
    u, at = draw_uniform(words, at)
    chance = math.exp(n * math.log1p(-p))
    odds = p / (1.0 - p)
    found = 0
    while u > chance and found < n:
        u -= chance
        found += 1
        chance *= odds * (n - found + 1) / found
    return found, at


@kernel
def _transformed(n: int, p: float, words: Array, at: int) -> tuple[int, int]:
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    center, steep = n * p + 0.5, (2.83 + 5.1 / b) * spread
    sure = 0.92 - 4.2 / b
    odds, mode = math.log(p / (1.0 - p)), math.floor((n + 1) * p)
    top = math.lgamma(mode + 1.0) + math.lgamma(n - mode + 1.0)
    while True:
        v, at = draw_uniform(words, at)
        if at < 0:
            return 0, at
        u, at = draw_uniform(words, at)
        if at < 0:
            return 0, at
        u -= 0.5
        near = 0.5 - abs(u)
        found = math.floor((2.0 * a / near + b) * u + center)
        if near >= 0.07 and v <= sure:
            return int(found), at
        if 0 <= found <= n:
            height = math.log(v * steep / (a / (near * near) + b))
            if height <= top - math.lgamma(found + 1.0) - math.lgamma(n - found + 1.0) + (found - mode) * odds:
                return int(found), at


@kernel
def draw_tallies(weights: Array, people: int, out: Array, words: Array) -> tuple[int, int]:
    """Fill each row of ``out`` with so many people, each in a cell at random, by the weights: cell by cell, binomials."""
    total, last = weights.sum(), weights.size - 1
    at = 0
    for row in range(out.shape[0]):
        start = at
        left, rest = people, total
        for cell in range(last):
            found, at = draw_binomial(left, weights[cell] / rest, words, at)
            if at < 0:
                return row, start
            out[row, cell] = found
            left -= found
            rest -= weights[cell]
        out[row, last] = left
    return out.shape[0], at
