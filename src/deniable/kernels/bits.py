"""Counting packed bits: how many rows have each bit set.

Rows are added up in bit-sliced counters. ``planes[k]`` holds digit k of 8 x row_bytes counters side by side, so that one logical
instruction works on hundreds of them; a carry-save adder takes eight rows for seven additions (Harley and Seal; Klarqvist,
Mula, Lemire 2019), and only every 248 rows are the digits unfolded into integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel

_TOGETHER = 248
"""Rows that are counted before the digits are unfolded: eight at a time, and less than 256."""
_FEW = 8
"""Below so many rows adding them bit by bit is quicker than unfolding the digits."""


@inlined
def _add(x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    """A full adder on every bit: the sum and the carry."""
    half = x ^ y
    return half ^ z, (x & y) | (half & z)


@kernel
def column_sums(rows: Array, planes: Array, sums: Array) -> None:
    """Add to ``sums[8 j + b]`` the rows whose byte j has bit b set. ``planes`` is scratch: 8 rows of bytes."""
    width = rows.shape[1]
    row = 0
    while row < rows.shape[0]:
        planes[:, :] = 0
        end = min(row + _TOGETHER, rows.shape[0])
        while row + 8 <= end:
            for j in range(width):
                ones, twos_a = _add(planes[0, j], rows[row, j], rows[row + 1, j])
                ones, twos_b = _add(ones, rows[row + 2, j], rows[row + 3, j])
                twos, fours_a = _add(planes[1, j], twos_a, twos_b)
                ones, twos_a = _add(ones, rows[row + 4, j], rows[row + 5, j])
                ones, twos_b = _add(ones, rows[row + 6, j], rows[row + 7, j])
                twos, fours_b = _add(twos, twos_a, twos_b)
                fours, carry = _add(planes[2, j], fours_a, fours_b)
                planes[0, j], planes[1, j], planes[2, j] = ones, twos, fours
                for k in range(3, 8):
                    digit = planes[k, j]
                    planes[k, j] = digit ^ carry
                    carry &= digit
            row += 8
        while row < end:
            for j in range(width):
                carry = rows[row, j]
                for k in range(8):
                    digit = planes[k, j]
                    planes[k, j] = digit ^ carry
                    carry &= digit
            row += 1
        for j in range(width):
            for b in range(8):
                total = np.int64(0)
                for k in range(8):
                    total += np.int64((planes[k, j] >> b) & 1) << k
                sums[8 * j + b] += total


@kernel
def sums_by_group(rows: Array, groups: Array, order: Array, sums: Array) -> None:
    """``column_sums`` of each group's rows into its row of ``sums``; ``order`` lists the rows group by group."""
    width = rows.shape[1]
    gathered = np.empty((min(_TOGETHER, order.size), width), dtype=np.uint8)
    planes = np.empty((8, width), dtype=np.uint8)
    start = 0
    while start < order.size:
        group = groups[order[start]]
        end = start
        while end < order.size and groups[order[end]] == group and end - start < _TOGETHER:
            end += 1
        if end - start < _FEW:
            for i in range(start, end):
                for j in range(width):
                    byte = rows[order[i], j]
                    for b in range(8):
                        sums[group, 8 * j + b] += (byte >> b) & 1
        else:
            for i in range(start, end):
                gathered[i - start] = rows[order[i]]
            column_sums(gathered[: end - start], planes, sums[group])
        start = end
