"""Crowds to practice on."""

from __future__ import annotations

import numpy as np

from deniable.kernels.compiled import Array


def zipf_counts(people: int, values: int, exponent: float = 1.1) -> Array:
    """How many people hold each of some values, the k-th in proportion to 1 / k^exponent: skewed, and no luck involved.

    >>> zipf_counts(1000, 4).tolist()
    [504, 235, 151, 110]
    """
    weights = 1.0 / np.arange(1, values + 1) ** exponent
    exact = people * weights / weights.sum()
    counts: Array = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact)[: people - counts.sum()]] += 1  # the largest remainders get the people left over
    return counts
