"""Counting symbols."""

from __future__ import annotations

from deniable.kernels.compiled import Array, kernel


@kernel
def count_symbols(symbols: Array, counts: Array) -> None:
    """Add to ``counts[s]`` the number of symbols equal to s. Narrow integers are read as they are, without a widened copy."""
    for i in range(symbols.size):
        counts[symbols[i]] += 1
