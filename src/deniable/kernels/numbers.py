"""Numbers rounded to a grid at random, and the mechanisms for means on top: the same words as the scalar code, person by person.

Positions are computed in double precision. Where that leaves a doubt about which way a number is rounded, a kernel stops before that
person and says so; ``core.number_column`` tells why and who serves them. Each kernel returns the people it served, the words it used, and
whether it stopped in doubt.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.inversion import GUIDE_BITS
from deniable.kernels.sampling import DRY, draw_below

IN_DOUBT = -2
"""Returned as the position when a number could go either way."""
_ULP = 2.0**-64
Served = tuple[int, int, bool]


@inlined
def shifted_place(number: Any, start: float, scale: float, steps: float, word: Any) -> Any:
    """A number's position on the grid, less a random number below 1: the grid point is the first one above it."""
    return min(max((number - start) * scale, 0.0), steps) - word * _ULP


@inlined
def is_doubtful(place: Any, floor: Any, slack: float) -> Any:
    """Whether a shifted position is too close to a point of the grid for double precision."""
    return (place - floor < slack) | (floor + 1.0 - place < slack)


@inlined
def draw_point(number: Any, start: float, scale: float, steps: float, slack: float, words: Array, at: int) -> tuple[Any, int]:
    """``Numbers.draw``: the grid point below or above. Returns it and the next position, DRY or IN_DOUBT."""
    point = 0
    if at >= words.size:
        at = DRY
    else:
        place = shifted_place(number, start, scale, steps, words[at])
        floor = np.floor(place)
        if is_doubtful(place, floor, slack):
            at = IN_DOUBT
        else:
            point = int(floor) + 1
            at += 1
    return point, at


@inlined
def draw_window(point: Any, window: Any, steps: Any, keep: Any, words: Array, at: int) -> tuple[Any, int]:
    """``Piecewise.perturb``: a cell of the window that starts at the point, or one outside. Returns it and the next position, or DRY."""
    cell = np.uint64(0)
    if at >= words.size:
        at = DRY
    else:
        kept = words[at] < keep
        at += 1
        start = np.uint64(point)
        cell, at = draw_below(window if kept else steps, words, at)
        if kept:
            cell += start
        elif cell >= start:
            cell += window
    return cell, at


@kernel
def round_to_window(
    numbers: Array, start: float, scale: float, steps: float, slack: float, window: np.uint64, keep: np.uint64, out: Array, words: Array
) -> Served:
    """Piecewise: a cell each."""
    at = 0
    for i in range(numbers.size):
        before = at
        point, at = draw_point(numbers[i], start, scale, steps, slack, words, at)
        if at >= 0:
            cell, at = draw_window(point, window, np.uint64(steps), keep, words, at)
            out[i] = cell
        if at < 0:
            return i, before, at == IN_DOUBT
    return numbers.size, at, False


@kernel
def round_to_either(numbers: Array, start: float, scale: float, steps: float, slack: float, law: Array, out: Array, words: Array) -> Served:
    """Hybrid: a cell, with threshold ``mix``, or a bit, behind all cells. ``law`` is mix, window, keep, first, step, cells."""
    mix, window, keep, first, step, cells = law[0], law[1], law[2], law[3], law[4], law[5]
    at = 0
    for i in range(numbers.size):
        before = at
        point, at = draw_point(numbers[i], start, scale, steps, slack, words, at)
        if at < 0 or at + 1 >= words.size:
            return i, before, at == IN_DOUBT
        windowed = words[at] < mix
        at += 1
        if windowed:
            cell, at = draw_window(point, window, np.uint64(steps), keep, words, at)
            if at < 0:
                return i, before, False
        else:
            cell = cells + np.uint64(words[at] < first + np.uint64(point) * step)
            at += 1
        out[i] = cell
    return numbers.size, at, False


@kernel
def round_and_add(
    numbers: Array,
    start: float,
    scale: float,
    steps: float,
    slack: float,
    cumulative: Array,
    guide: Array,
    points: np.uint64,
    out: Array,
    words: Array,
) -> Served:
    """DiscreteLaplace: noise from a table, added; its last entry stands for any of all points. ``guide`` is ``inversion.guide_table``."""
    at = 0
    last = cumulative.size
    for i in range(numbers.size):
        before = at
        point, at = draw_point(numbers[i], start, scale, steps, slack, words, at)
        if at < 0 or at >= words.size:
            return i, before, at == IN_DOUBT
        word = words[at]
        at += 1
        noise = np.int64(guide[word >> np.uint64(64 - GUIDE_BITS)])
        while noise < last and cumulative[noise] <= word:
            noise += 1
        cell = np.uint64(point + noise)
        if noise == last:
            cell, at = draw_below(points, words, at)
            if at < 0:
                return i, before, False
        out[i] = cell
    return numbers.size, at, False


@kernel
def sum_and_squares(cells: Array, end: int, sums: Array) -> None:
    """Add the cells below ``end`` to sums[0], their squares to sums[1], and count the others, one by one, from sums[2] on."""
    total, squares = np.uint64(0), np.uint64(0)
    for i in range(cells.size):
        cell = np.uint64(cells[i])
        if cell < np.uint64(end):
            total += cell
            squares += cell * cell
        else:
            sums[2 + np.int64(cell) - end] += 1
    sums[0] += np.int64(total)
    sums[1] += np.int64(squares)
