"""Signed counts of HCMS: the same as of a plain loop, also where the kernel's bytes overflow."""

from __future__ import annotations

import numpy as np

from deniable.kernels.sketches import signed_cells


def test_crowded_cells_carry_over():
    """One cell with 70,000 reports of each sign, some with 255 to 257, all others few; counted in two parts that begin inside a byte."""
    crowded = [(3, 1, 0, 70_000), (3, 1, 1, 69_999), (0, 0, 0, 255), (0, 1, 0, 256), (0, 2, 1, 256), (7, 7, 1, 257), (7, 7, 0, 1)]
    names, rows, signs = np.repeat(np.array(crowded)[:, :3], [many for *_, many in crowded], axis=0).T
    order = np.random.default_rng(3).permutation(names.size)
    names, rows, signs = (column[order].astype(np.uint16) for column in (names, rows, signs))
    table, totals = np.zeros((8, 8), np.int64), np.zeros(8, np.int64)
    packed = np.packbits(signs.astype(np.uint8), bitorder="little")
    for part in (slice(0, 1003), slice(1003, names.size)):
        signed_cells(names[part], rows[part], packed, part.start, table, totals)
    expected = np.zeros((8, 8), np.int64)
    np.add.at(expected, (names, rows), 1 - 2 * signs.astype(np.int64))
    assert np.array_equal(table, expected)
    assert np.array_equal(totals, np.bincount(names, minlength=8))
