"""Sets of items, one row after the other: sorting, gathering, matching against candidates, and drawing one of a padded row.

Rows are given by offsets into a flat array of items, as in a sparse matrix or an Arrow list column.
"""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array, kernel
from deniable.kernels.sampling import draw_below

FINE = -1
"""Returned where no row is wrong."""
_SHORT = 32
"""Rows up to this long are sorted by insertion."""


@kernel
def sort_rows(offsets: Array, items: Array) -> int:
    """Sort each row in place. Returns the first row that names an item twice, or FINE."""
    wrong = FINE
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        if end - start > _SHORT:
            items[start:end] = np.sort(items[start:end])
        else:
            for j in range(start + 1, end):
                item = items[j]
                k = j - 1
                while k >= start and items[k] > item:
                    items[k + 1] = items[k]
                    k -= 1
                items[k + 1] = item
        for j in range(start + 1, end):
            if items[j] == items[j - 1] and wrong == FINE:
                wrong = i
    return wrong


@kernel
def gather_rows(offsets: Array, items: Array, rows: Array, new_offsets: Array, new_items: Array) -> None:
    """Copy some rows; ``new_offsets`` is given, ``new_items`` is written."""
    for i in range(rows.size):
        start, to = offsets[rows[i]], new_offsets[i]
        for j in range(new_offsets[i + 1] - to):
            new_items[to + j] = items[start + j]


@kernel
def hold_candidates(
    offsets: Array, items: Array, first: Array, rest_offsets: Array, rest: Array, last_seen: Array, held_offsets: Array, held: Array
) -> None:
    """The positions of the candidates that each row holds, in rising order.

    ``first[item]..first[item + 1]`` are the candidates whose smallest item this is, ``rest`` are their other items, and ``last_seen`` has
    a place for each item, all -1. The first call, with no room in ``held``, writes ``held_offsets``; the second one writes ``held``.
    """
    at = 0
    for i in range(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        for j in range(start, end):
            last_seen[items[j]] = i
        for j in range(start, end):
            for candidate in range(first[items[j]], first[items[j] + 1]):
                whole = True
                for k in range(rest_offsets[candidate], rest_offsets[candidate + 1]):
                    whole &= last_seen[rest[k]] == i
                if whole:
                    if held.size:
                        held[at] = candidate
                    at += 1
        held_offsets[i + 1] = at


@kernel
def draw_padded(offsets: Array, held: Array, length: int, counted: int, out: Array, words: Array) -> tuple[int, int]:
    """``PadAndSample.encode`` for each row of what is held."""
    at = 0
    for i in range(offsets.size - 1):
        begin = at
        start, size = offsets[i], offsets[i + 1] - offsets[i]
        drawn, at = draw_below(np.uint64(max(size, length)), words, at)
        if at < 0:
            return i, begin
        place = np.int64(drawn)
        out[i] = held[start + place] if place < size else counted + place - size
    return offsets.size - 1, at


@kernel
def draw_two(counts: Array, out: Array, words: Array) -> tuple[int, int]:
    """Two different places below each count, any two as likely as others; where a count is below 2, the words are used up all the same."""
    at = 0
    for i in range(counts.size):
        begin = at
        first, at = draw_below(np.uint64(max(counts[i], 1)), words, at)
        if at < 0:
            return i, begin
        second, at = draw_below(np.uint64(max(counts[i] - 1, 1)), words, at)
        if at < 0:
            return i, begin
        out[i, 0] = np.int64(first)
        out[i, 1] = np.int64(second) + (second >= first)
    return counts.size, at


@kernel
def sum_codes(offsets: Array, items: Array, out: Array) -> None:
    """``SetCode.encode`` for each row."""
    for i in range(offsets.size - 1):
        code = np.int64(0)
        for j in range(offsets[i], offsets[i + 1]):
            code |= np.int64(1) << items[j]
        out[i] = code
