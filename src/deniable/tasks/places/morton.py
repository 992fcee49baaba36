"""Cells of a quadtree as numbers: two bits a level, so that a larger cell is a prefix of all cells inside it.

A grid of 2^depth columns and rows has 4^depth cells. The bits of row and column are interleaved (Morton 1966), the row's first. A search by
prefixes is then a search by ever smaller squares, and the devices that can do the one can do the other.
"""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array

DEEPEST = 12
"""The most levels: 4096 cells on a side."""


def interleaved(column: Array, row: Array) -> Array:
    """The codes of cells.

    >>> interleaved(np.array([0, 1, 0, 3]), np.array([0, 0, 1, 2])).tolist()
    [0, 1, 2, 13]
    """
    return np.asarray(_apart(column) | _apart(row) << np.uint64(1))


def separated(code: Array) -> tuple[Array, Array]:
    """Column and row behind each code.

    >>> [part.tolist() for part in separated(np.array([0, 1, 2, 13], dtype=np.uint64))]
    [[0, 1, 0, 3], [0, 0, 1, 2]]
    """
    code = np.asarray(code, dtype=np.uint64)
    column, row = np.zeros(code.shape, dtype=np.int64), np.zeros(code.shape, dtype=np.int64)
    for bit in range(DEEPEST):
        column |= ((code >> np.uint64(2 * bit)) & np.uint64(1)).astype(np.int64) << bit
        row |= ((code >> np.uint64(2 * bit + 1)) & np.uint64(1)).astype(np.int64) << bit
    return column, row


def blocks_of(codes: Array, level: int, depth: int) -> Array:
    """The blocks of the finest grid that cells of a level are."""
    column, row = separated(codes)
    side = 1 << depth - level
    return np.column_stack([column, row, column + 1, row + 1]) * side


def _apart(number: Array) -> Array:
    """The bits of each number, a zero between any two."""
    number = np.asarray(number, dtype=np.uint64)
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        number = (number | number << np.uint64(shift)) & np.uint64(mask)
    return number
