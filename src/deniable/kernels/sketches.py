"""Reports about the cells of public hash functions, and what they add up to: sketches (``client.sketch``), filters (``bloom_rr``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import draw_below, draw_row, draw_symbol, draw_true_bit, parity
from deniable.kernels.symbols import walsh_hadamard

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_MIXER = np.uint64(0xD6E8FEB86659FD93)


@inlined
def cell(functions: Array, j: Any, key: Any, long: bool, cells: Any) -> Any:
    """The cell of a key under the j-th function: ``HashFamily.symbol`` for shared functions."""
    a, c, b = functions[j, 0], functions[j, 1], functions[j, 2]
    if long:
        key = (key ^ key >> _32) * _MIXER
        key = (key ^ key >> _32) * _MIXER
        key ^= key >> _32
        u = (a + (key >> _32)) * (c + (key & _LOW)) + b
    else:
        u = (a * key + c) * key + b
    return ((u >> _32) * cells) >> _32


@kernel
def perturb_function_and_symbol(
    keys: Array, functions: Array, long: bool, cells: np.uint64, keep: np.uint64, names: Array, symbols: Array, words: Array
) -> tuple[int, int]:
    """FLH: a function, then randomized response on the symbol."""
    count = np.uint64(functions.shape[0])
    at = 0
    for i in range(keys.size):
        start = at
        j, at = draw_below(count, words, at)
        if at < 0:
            return i, start
        symbol, at = draw_symbol(cell(functions, j, np.uint64(keys[i]), long, cells), cells - np.uint64(1), keep, words, at)
        if at < 0:
            return i, start
        names[i] = j
        symbols[i] = symbol
    return keys.size, at


@kernel
def perturb_function_and_bits(
    keys: Array,
    functions: Array,
    long: bool,
    cells: np.uint64,
    raise_other: np.uint64,
    keep: np.uint64,
    names: Array,
    out: Array,
    words: Array,
) -> tuple[int, int]:
    """CMS: a function, then unary encoding of the cell."""
    count = np.uint64(functions.shape[0])
    at = 0
    for i in range(keys.size):
        start = at
        j, at = draw_below(count, words, at)
        if at >= 0:
            at = draw_row(int(cells), raise_other, out, i, words, at)
        if at >= 0:
            at = draw_true_bit(np.int64(cell(functions, j, np.uint64(keys[i]), long, cells)), keep, out, i, words, at)
        if at < 0:
            return i, start
        names[i] = j
    return keys.size, at


@kernel
def perturb_function_and_sign(
    keys: Array,
    functions: Array,
    long: bool,
    cells: np.uint64,
    keep: np.uint64,
    names: Array,
    rows: Array,
    signs: Array,
    first: int,
    words: Array,
) -> tuple[int, int]:
    """HCMS: a function, a row, and its sign in the cell's column or the opposite one; ``signs`` is packed and zero, from ``first`` on."""
    count = np.uint64(functions.shape[0])
    at = 0
    for i in range(keys.size):
        start = at
        j, at = draw_below(count, words, at)
        if at < 0:
            return i, start
        row, at = draw_below(cells, words, at)
        if at < 0 or at >= words.size:
            return i, start
        sign = parity(row & cell(functions, j, np.uint64(keys[i]), long, cells)) ^ np.uint64(words[at] >= keep)
        at += 1
        names[i] = j
        rows[i] = row
        signs[(first + i) >> 3] |= np.uint8(sign << np.uint64((first + i) & 7))
    return keys.size, at


@kernel
def count_cells(names: Array, symbols: Array, table: Array) -> None:
    """Add to ``table[j, s]`` the reports with function j and symbol s."""
    for i in range(names.size):
        table[names[i], symbols[i]] += 1


@kernel
def signed_cells(names: Array, rows: Array, signs: Array, first: int, table: Array, totals: Array) -> None:
    """Add to ``table[j, r]`` the reports of function j and row r with sign +, subtract those with sign -; ``totals[j]`` counts both.

    Both are counted in bytes first, which stay in the cache where eight times as much would not; a byte that is full carries over.
    """
    width = np.uint64(table.shape[1])
    full, one = np.uint64(256), np.uint64(1)
    few = np.zeros(2 * table.size, dtype=np.uint8)
    for i in range(names.size):
        at = np.uint64(first + i)
        sign = np.uint64(signs[at >> np.uint64(3)]) >> (at & np.uint64(7)) & one
        cell = (np.uint64(names[i]) * width + np.uint64(rows[i])) << one | sign
        count = np.uint64(few[cell]) + one
        few[cell] = count
        if count == full:
            table[names[i], rows[i]] += 256 - 512 * np.int64(sign)
            totals[names[i]] += 256
    for j in range(table.shape[0]):
        for r in range(table.shape[1]):
            plus, minus = np.int64(few[2 * (j * table.shape[1] + r)]), np.int64(few[2 * (j * table.shape[1] + r) + 1])
            table[j, r] += plus - minus
            totals[j] += plus + minus


@kernel
def transform_cells(table: Array, totals: Array) -> None:
    """Signed counts of rows to supports of cells, function by function."""
    for j in range(table.shape[0]):
        walsh_hadamard(table[j])  # agreements minus disagreements, for every cell
        for cell in range(table.shape[1]):
            table[j, cell] = (totals[j] + table[j, cell]) >> 1


@kernel
def supports_of_cells(functions: Array, long: bool, table: Array, keys: Array, supports: Array) -> None:
    """Add up, for each key, the supports of its cells under all functions."""
    cells = np.uint64(table.shape[1])
    for j in range(table.shape[0]):
        for i in range(keys.size):
            supports[i] += table[j, cell(functions, j, keys[i], long, cells)]


@kernel
def perturb_filter(
    keys: Array, functions: Array, hashes: int, long: bool, flip: np.uint64, count: np.uint64, cohorts: Array, out: Array, words: Array
) -> tuple[int, int]:
    """BloomRR: a cohort, then ``count`` flips, then the value's bits turned over, each once."""
    groups = np.uint64(functions.shape[0] // hashes)
    places = np.zeros(hashes, dtype=np.int64)
    at = 0
    for i in range(keys.size):
        start = at
        cohort, at = draw_below(groups, words, at)
        if at >= 0:
            at = draw_row(int(count), flip, out, i, words, at)
        if at < 0:
            return i, start
        for h in range(hashes):
            place = np.int64(cell(functions, cohort * np.uint64(hashes) + np.uint64(h), np.uint64(keys[i]), long, count))
            again = False
            for earlier in range(h):
                again |= places[earlier] == place
            places[h] = place
            if not again:
                out[i, place >> 3] ^= np.uint8(1 << (place & 7))
        cohorts[i] = cohort
    return keys.size, at


@kernel
def mark_filters(functions: Array, hashes: int, long: bool, keys: Array, marked: Array) -> None:
    """Set ``marked[cohort, bit, i]`` to one for the bits of the i-th key."""
    count = np.uint64(marked.shape[1])
    for j in range(functions.shape[0]):
        for i in range(keys.size):
            marked[j // hashes, cell(functions, j, keys[i], long, count), i] = 1.0
