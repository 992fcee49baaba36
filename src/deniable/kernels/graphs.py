"""Graphs as lists and as packed matrices of noisy bits: randomizing lists, counting triangles and common neighbors.

Bit j of row i, of the word j >> 6, says whether i and j are tied. Two rows are compared 64 nodes at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.kernels.compiled import Array, inlined, kernel
from deniable.kernels.sampling import draw_row, draw_true_bit

_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM = np.uint64(0x0101010101010101)


@inlined
def ones(word: Any) -> Any:
    """How many bits of a word are set; compilers know this for what it is, and use the processor's own instruction."""
    word -= (word >> _ONE) & _PAIRS
    word = (word & _FOURS) + ((word >> np.uint64(2)) & _FOURS)
    word = (word + (word >> np.uint64(4))) & _BYTES
    return (word * _SUM) >> np.uint64(56)


@kernel
def count_triangles(starts: Array, neighbors: Array) -> Any:
    """Triangles of a graph in lists, each counted at its largest node: lists are in order, and are walked together."""
    total = np.int64(0)
    for i in range(starts.size - 1):
        for at in range(starts[i], starts[i + 1]):
            j = neighbors[at]
            if j >= i:
                break
            mine, other = starts[i], starts[j]
            while mine < at and other < starts[j + 1] and neighbors[other] < j:
                if neighbors[mine] == neighbors[other]:
                    total += 1
                    mine += 1
                    other += 1
                elif neighbors[mine] < neighbors[other]:
                    mine += 1
                else:
                    other += 1
    return total


@kernel
def perturb_lists(
    starts: Array, neighbors: Array, first: int, end: int, if_true: np.uint64, if_false: np.uint64, out: Array, words: Array
) -> tuple[int, int]:
    """Bits about all smaller nodes for each of some people: ``bernoulli_bits`` as if there were no ties, then those that are, anew."""
    at = 0
    for i in range(first, end):
        begin = at
        row = out[:, : (i + 7) >> 3]
        at = draw_row(i, if_false, row, i, words, at)
        if at >= 0:
            for place in range(starts[i], starts[i + 1]):
                if neighbors[place] >= i:
                    break
                at = draw_true_bit(neighbors[place], if_true, row, i, words, at)
                if at < 0:
                    break
        if at < 0:
            return i - first, begin
    return end - first, at


@kernel
def mirror(lower: Array, out: Array) -> None:
    """The lower triangle of bits as a symmetric matrix of words, which is zero."""
    for i in range(lower.shape[0]):
        for block in range((i + 7) >> 3):
            byte = lower[i, block]
            for bit in range(8):
                if byte >> bit & 1:
                    j = 8 * block + bit
                    out[i, j >> 6] |= _ONE << np.uint64(j & 63)
                    out[j, i >> 6] |= _ONE << np.uint64(i & 63)


@kernel
def compare_rows(
    rows: Array, first: int, end: int, later: bool, tied: float, apart: float, sums: Array
) -> tuple[Any, float, float, float, float]:
    """For all pairs v < u with u from ``first`` to ``end``: what their common neighbors are, as seen through noisy bits.

    A noisy bit stands for ``tied`` if it is 1 and for ``apart`` if not: unbiased for the true one. Over all w that are neither u nor v (or
    only those above u, if ``later``), c = sum of products is unbiased for the common neighbors, and c^2 - sum of squared products + c for
    their square. Returns the common ones of tied pairs, and for pairs that are tied and that are not the sums of the second; and of the
    first. ``sums`` gets how many bits each row has.
    """
    nodes, width = rows.shape[0], rows.shape[1]
    both_tied, one, both_apart = tied * tied, tied * apart, apart * apart
    closed, squares, squares_apart, commons, commons_apart = np.int64(0), 0.0, 0.0, 0.0, 0.0
    for u in range(first, end):
        start = (u + 1) >> 6 if later else 0
        mask = _ALL << np.uint64((u + 1) & 63) if later else _ALL
        mine = rows[u]
        count = np.int64(0)
        for k in range(width):
            count += np.int64(ones(mine[k]))
        sums[u] = count
        for v in range(u):
            theirs = rows[v]
            same, other = np.uint64(0), np.uint64(0)
            if start < width:
                same = ones(mine[start] & theirs[start] & mask)
                other = ones((mine[start] ^ theirs[start]) & mask)
            for k in range(start + 1, width):
                same += ones(mine[k] & theirs[k])
                other += ones(mine[k] ^ theirs[k])
            pair = (mine[v >> 6] >> np.uint64(v & 63)) & _ONE
            n11 = np.int64(same)
            n10 = np.int64(other) - (0 if later else 2 * np.int64(pair))
            n00 = (nodes - 1 - u if later else nodes - 2) - n11 - n10
            common = both_tied * n11 + one * n10 + both_apart * n00
            square = common * common - (both_tied * both_tied * n11 + one * one * n10 + both_apart * both_apart * n00) + common
            if pair:
                closed += n11
                squares += square
                commons += common
            else:
                squares_apart += square
                commons_apart += common
    return closed, squares, squares_apart, commons, commons_apart


@kernel
def count_among(
    starts: Array, neighbors: Array, bounds: Array, limits: Array, rows: Array, counts: Array, pairs: Array, over: Array
) -> None:
    """For each person, how many pairs of the first ``bounds[i]`` smaller nodes on their list there are, and are noisily tied.

    ``over`` tells where one of these nodes has more such ties than ``limits[i]``: what then counts is worked out elsewhere.
    """
    for i in range(starts.size - 1):
        begin = starts[i]
        end = begin
        while end < starts[i + 1] and neighbors[end] < i and end - begin < bounds[i]:
            end += 1
        kept = end - begin
        pairs[i] = kept * (kept - 1) // 2
        total, most = np.int64(0), np.int64(0)
        for a in range(begin, end):
            u, mine = neighbors[a], np.int64(0)
            for b in range(begin, end):  # tied if both rows say so
                v = neighbors[b]
                if u != v:
                    mine += np.int64((rows[u, v >> 6] >> np.uint64(v & 63)) & (rows[v, u >> 6] >> np.uint64(u & 63)) & _ONE)
            total += mine
            most = max(most, mine)
        counts[i] = total  # each pair twice: in halves, as what counts beyond the limit is
        over[i] = most > limits[i]
