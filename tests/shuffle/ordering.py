"""What tells a shuffled order from one that says something: rank correlations, each a standard normal if every order is as likely.

Spearman's correlation of n ranks with the positions of a uniform permutation has mean 0 and variance 1 / (n - 1). At alpha = 1e-6 a score
beyond 4.9 is rejected; with n = 1000 a true correlation of 0.3 is found with probability above 0.999.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

REJECTED = 4.9
"""Two-sided, alpha = 1e-6."""


def score(ranks: Sequence[int]) -> float:
    """How much the order of items goes with their ranks: standard normal if it says nothing."""
    order = np.argsort(np.argsort(np.asarray(ranks)))
    return float(np.corrcoef(order, np.arange(len(order)))[0, 1] * sqrt(len(order) - 1))


def likeness(first: Sequence[int], second: Sequence[int]) -> float:
    """How much two orders of as many items are the same order: standard normal if they have nothing in common."""
    length = min(len(first), len(second))
    one, other = (np.argsort(np.argsort(np.asarray(order[:length]))) for order in (first, second))
    return float(np.corrcoef(one, other)[0, 1] * sqrt(length - 1))
