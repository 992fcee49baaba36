"""Points of a projective geometry: drawing those orthogonal to a value's point, and counting the points orthogonal to every value.

Points are the nodes of a tree, as in ``client.pgr``: a further coordinate x after point i makes point q i + 1 + x, where q is the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.progressions import inverse
from deniable.kernels.sampling import draw_below


@inlined
def _write_coordinates(index: Any, order: Any, out: Array) -> None:
    """All coordinates of a point."""
    place = out.size - 1
    while index > 0:
        parent = (index - 1) // order
        out[place] = index - 1 - parent * order
        index = parent
        place -= 1
    out[place] = 1
    out[:place] = 0


@kernel
def table_of_coordinates(count: int, order: int, dimension: int) -> Array:
    """The coordinates of the first points, one row each."""
    table = np.empty((count, dimension), dtype=np.int32)
    for index in range(count):
        _write_coordinates(index, order, table[index])
    return table


@kernel
def perturb_point(
    values: Array, order: int, keep: np.uint64, inside: int, outside: int, table: Array, out: Array, words: Array
) -> tuple[int, int]:
    """PGR: one of the ``inside`` points that begin with 0, or of the ``outside`` others, turned to the value's point."""
    dimension = table.shape[1]
    scratch = np.empty((2, dimension), dtype=table.dtype)
    at = 0
    for i in range(values.size):
        start = at
        if at >= words.size:
            return i, start
        kept = words[at] < keep
        at += 1
        number, at = draw_below(np.uint64(inside if kept else outside), words, at)
        if at < 0:
            return i, start
        key, chosen = np.int64(values[i]), np.int64(number) if kept else inside + np.int64(number)
        if table.shape[0] > 0:
            value, drawn = table[key], table[chosen]
        else:
            value, drawn = scratch[0], scratch[1]
            _write_coordinates(key, order, value)
            _write_coordinates(chosen, order, drawn)
        # The value's point is its row backwards, so that its last coordinate that is not 0 is 1; that place is left for the product.
        place = dimension - 1
        while value[dimension - 1 - place] == 0:
            place -= 1
        missing = np.int64(drawn[0])
        for k in range(place):
            missing -= np.int64(drawn[k + 1]) * value[dimension - 1 - k]
        missing %= order
        index, scale = np.int64(0), np.int64(0)
        for k in range(dimension):
            x = missing if k == place else np.int64(drawn[k + 1 if k < place else k])
            if scale > 0:
                index = order * index + 1 + (x if scale == 1 else x * scale % order)
            elif x > 0:
                scale = x if x == 1 else inverse(x, order)
        out[i] = index
    return values.size, at


@kernel
def supports_of_values(points: Array, order: int, dimension: int, supports: Array) -> None:
    """From the reports at each point, the reports orthogonal to each of the first values. ``points`` is used up."""
    sizes = np.zeros(dimension + 1, dtype=np.int64)  # points in spaces of 0, 1, 2, ... coordinates
    for m in range(dimension):
        sizes[m + 1] = order * sizes[m] + 1
    scratch = np.empty(sizes[:dimension].sum(), dtype=np.int64)
    always = 0
    for m in range(dimension, 0, -1):  # the values that have m coordinates, and 0 from there on: the further ones of a report do not count
        if sizes[m - 1] < supports.size:
            _supports_of_level(points, order, sizes[: m + 1], always, scratch, supports[sizes[m - 1] : sizes[m]])
        always += points[0]  # 0, ..., 0, 1: with the last coordinate gone it is orthogonal to everything
        for parent in range(sizes[m - 1]):
            total = 0
            for child in range(order * parent + 1, order * parent + order + 1):
                total += points[child]
            points[parent] = total


@kernel
def _supports_of_level(points: Array, order: int, sizes: Array, always: int, scratch: Array, out: Array) -> None:
    """The values (v_1, ..., v_(m-1), 1), in order: v_(m-1) is the most significant digit of a value, v_1 the least.

    The last coordinates x, y of a report count as v_(m-1) x + y. So for each v_(m-1) the reports are joined to points of one coordinate
    less, and so on for the next digit, until two coordinates are left and v_1 x + y = 0 names one point for each v_1.
    """
    m = sizes.size - 1
    if m == 1:
        out[0] = always
        return
    levels = [points]
    start = 0
    for k in range(m - 1, 1, -1):
        levels.append(scratch[start : start + sizes[k]])
        start += sizes[k]
    digits = np.zeros(m, dtype=np.int64)
    orthogonal = np.zeros(m, dtype=np.int64)
    orthogonal[0] = always
    depth = written = 0
    while True:
        while depth < m - 2:
            above, digit = levels[depth], digits[depth]
            orthogonal[depth + 1] = orthogonal[depth] + above[1 + (order - digit) % order]
            _join(above, order, sizes[m - depth - 2], digit, levels[depth + 1])
            depth += 1
        for digit in range(min(order, out.size - written)):
            out[written + digit] = orthogonal[depth] + levels[depth][1 + (order - digit) % order]
        written += order
        depth -= 1
        while depth >= 0 and digits[depth] == order - 1:
            digits[depth] = 0
            depth -= 1
        if depth < 0 or written >= out.size:
            return
        digits[depth] += 1


@kernel
def _join(points: Array, order: int, prefixes: int, digit: int, out: Array) -> None:
    """Join the last two coordinates x, y to digit x + y; the one point that becomes all 0 is left out."""
    out[0] = points[0] - points[1 + (order - digit) % order]
    for x in range(1, order + 1):
        out[0] += points[x]
    for prefix in range(prefixes):
        to = order * prefix + 1
        row = order * to + 1
        for y in range(order):
            out[to + y] = points[row + y]
        shift = 0
        for _ in range(1, order):
            row += order
            shift += digit
            shift -= order if shift >= order else 0
            for y in range(order - shift):
                out[to + shift + y] += points[row + y]
            for y in range(shift):
                out[to + y] += points[row + order - shift + y]
