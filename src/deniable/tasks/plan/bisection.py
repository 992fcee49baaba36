"""The smallest epsilon that is enough."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

EPSILON_DIGITS = 1e-6
"""How near to the smallest epsilon the one that is found is, relatively."""


def smallest_epsilon(enough: Callable[[float], bool | None], low: float, high: float) -> float:
    """An epsilon between one that is not enough and one that is; hardly above the smallest that is, where larger ones are, too.

    >>> round(smallest_epsilon(lambda epsilon: epsilon >= 2, 1.0, 8.0), 4)
    2.0
    """
    while high > low * (1 + EPSILON_DIGITS):
        middle = exp((log(low) + log(high)) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
