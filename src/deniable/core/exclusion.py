"""P-values from intervals: the smallest error at which the interval of a change excludes 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deniable.kernels.compiled import Array

SMALLEST = 1e-15
"""P-values below this are not told apart."""
_HALVINGS = 40


def smallest_error(limits: Callable[[Any], tuple[Any, Any]], size: int) -> Array:
    """Return for each of ``size`` changes the smallest alpha whose ``limits`` exclude 0, by bisection; 1 where no alpha does.

    ``limits`` takes an array of alphas, one for each change, and gives narrower limits for a larger alpha. Where they miss with
    probability alpha at most, so does the test that rejects "no change" at a p-value of alpha.

    >>> smallest_error(lambda alpha: (2 + np.log(alpha), 2 - np.log(alpha)), 1).round(6).tolist() == [round(np.exp(-2), 6)]
    True
    """
    low, high = np.full(size, np.log(SMALLEST)), np.zeros(size)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below, above = limits(np.exp(middle))
        out = (below > 0) | (above < 0)
        low, high = np.where(out, low, middle), np.where(out, middle, high)
    return np.asarray(np.exp(high))
