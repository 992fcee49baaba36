"""The fast Walsh-Hadamard transform."""

from __future__ import annotations

from deniable.kernels.compiled import Array, kernel


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
