"""Many pure mechanisms of one epsilon, composed exactly.

Every epsilon-DP mechanism is a function of randomized response, so k of them together, chosen adaptively, are at worst k coins. With p =
e^e0 / (1 + e^e0) and j coins that tell the truth, the loss is e0 (2 j - k)::

    delta(epsilon) = sum over j of  C(k, j) p^j (1 - p)^(k - j) (1 - e^(epsilon - e0 (2 j - k)))_+

Nothing smaller is true for all epsilon-DP mechanisms: this is the optimal composition theorem.

References: Kairouz, Oh, Viswanath 2015.
"""

from __future__ import annotations

from math import exp

import numpy as np

from deniable.accounting.binomial import pmf
from deniable.accounting.calibration import smallest
from deniable.accounting.combinations import Bag
from deniable.accounting.event import unknown
from deniable.accounting.leaves import Pure

GUARD = 1e-10
"""Relative, on delta: what double precision may lose, with a wide margin."""
MOST_ROUNDS = 10_000_000


def composed_delta(epsilon0: float, times: int, epsilon: float) -> float:
    """Delta of ``times`` epsilon0-DP mechanisms at epsilon, rounded up.

    >>> round(composed_delta(1.0, 1, 0.0), 9), round(float(np.tanh(0.5)), 9)
    (0.462117157, 0.462117157)
    """
    truths = np.arange(times + 1.0)
    losses = epsilon0 * (2 * truths - times)
    read_at = epsilon - 1e-14 * (times * epsilon0 + epsilon)  # below epsilon, by more than the losses may be off
    paid = losses > read_at
    if not paid.any():
        return 0.0
    weights = pmf(truths[paid], times, 1 / (1 + exp(-epsilon0)))
    return min(1.0, float(weights @ -np.expm1(read_at - losses[paid])) * (1 + GUARD))


def exact(bag: Bag, delta: float) -> float:
    """Epsilon of k pure events of one epsilon, exactly composed.

    >>> round(exact(Bag({Pure(epsilon=0.1): 1000}), 1e-6), 4)
    19.3447
    """
    other = next((leaf for leaf in bag if not isinstance(leaf, Pure)), None)
    if other is not None or len(bag) > 1 or bag.total() > MOST_ROUNDS:
        raise unknown("exact composition", other or next(iter(bag)), f"up to {MOST_ROUNDS:,} Pure events of one epsilon")
    ((leaf, times),) = bag.items()
    epsilon0 = float(leaf.epsilon)  # type: ignore[attr-defined]  # Pure, as just checked
    limit = times * epsilon0 * (1 + 1e-12)
    return smallest(lambda e: composed_delta(epsilon0, times, e), delta, guess=limit / 2, limit=limit) if epsilon0 else 0.0
