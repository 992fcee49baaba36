"""Symbols and rows of numbers, counted, added up and transformed; the symbols of the Hadamard response among them."""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array, kernel
from deniable.kernels.sampling import draw_below, parity


@kernel
def walsh_hadamard(sums: Array) -> None:
    """Multiply by the Hadamard matrix in place, in K log2 K additions; the length is a power of two."""
    half = 1
    while half < sums.size:
        for start in range(0, sums.size, 2 * half):
            for i in range(start, start + half):
                x, y = sums[i], sums[i + half]
                sums[i], sums[i + half] = x + y, x - y
        half *= 2


@kernel
def count_symbols(symbols: Array, counts: Array) -> None:
    """Add to ``counts[s]`` the number of symbols equal to s. Narrow integers are read as they are, without a widened copy."""
    for i in range(symbols.size):
        counts[symbols[i]] += 1


@kernel
def signed_counts(rows: Array, signs: Array, first: int, sums: Array) -> None:
    """Add to ``sums[r]`` the reports of row r with sign +, and subtract those with sign -; ``signs`` is packed, 1 for -."""
    for i in range(rows.size):
        sums[rows[i]] += 1 - 2 * ((signs[(first + i) >> 3] >> ((first + i) & 7)) & 1)


@kernel
def perturb_hadamard(values: Array, blocks: np.uint64, order: np.uint64, keep: np.uint64, out: Array, words: Array) -> tuple[int, int]:
    """HadamardResponse: a marked symbol of the value's block, or any other; see ``client.hadamard_response``."""
    half = order // np.uint64(2)
    rest = np.uint64(2) * blocks * half - half
    shift = np.uint64(0)
    while np.uint64(1) << shift < blocks:
        shift += np.uint64(1)
    at = 0
    for i in range(values.size):
        start = at
        if at >= words.size:
            return i, start
        kept = words[at] < keep
        rank, at = draw_below(half if kept else rest, words, at + 1)
        if at < 0:
            return i, start
        value = np.uint64(values[i])
        first = (value & (blocks - np.uint64(1))) * order
        if kept or rank < half:
            row = (value >> shift) + np.uint64(1)
            low = row & (np.uint64(0) - row)  # this bit is left open, and then set so that the parity is right
            symbol = (rank & (low - np.uint64(1))) | (rank & (np.uint64(0) - low)) << np.uint64(1)
            if parity(symbol & row) == np.uint64(kept):
                symbol |= low
            symbol += first
        else:
            symbol = rank - half
            if symbol >= first:
                symbol += order
        out[i] = symbol
    return values.size, at


@kernel
def sum_rows(rows: Array, sums: Array) -> None:
    """Add up the rows. Narrow integers are read as they are, without a widened copy."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[j] += rows[i, j]
