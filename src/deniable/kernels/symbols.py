"""Counting symbols."""

from __future__ import annotations

from deniable.kernels.compiled import Array, kernel


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
