"""How much Poisson noise hides one message among two bins: exact delta, and the smallest noise for a promise.

A message is in one bin or in the other; each bin holds Poisson(noise) dummies as well. Given the total c + 1 of both, c dummies fell like
fair coins, and the message is certainly on its side: D_c of ``clone`` with alpha = 1::

    delta(epsilon) = sum over c of P[C = c] D_c(epsilon),     C ~ Poisson(2 noise)

**Guarantee.** Replacing one message; other bins have the same law under both, and say nothing. The pair itself, not a bound on it.

**Rounding.** D_c falls with c. Totals below the window count as c = 0, where D = 1, those above as the last one, with their exact masses.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log, sqrt

import numpy as np
import scipy

from deniable.accounting.calibration import calibrate, doubled
from deniable.errors import ParameterError
from deniable.shuffle.clone import divergence_given

GUARD = 1e-8
"""Relative, on delta: what double precision may lose, up to ``MOST_NOISE``."""
MOST_NOISE = 1e6


def dummy_delta(noise: float, epsilon: float) -> float:
    """Delta at epsilon if each bin holds Poisson(noise) dummies, rounded up.

    >>> round(dummy_delta(42.65, 1.0) * 1e6, 2)
    1.0
    """
    mean = 2 * noise
    width = 12 * sqrt(mean) + 40
    low, high = max(0, int(mean - width)), int(mean + width) + 1
    counts = np.arange(low, high + 1, dtype=float)
    divergences = divergence_given(counts, epsilon, inf)
    masses = np.exp(counts * log(mean) - mean - scipy.special.gammaln(counts + 1))
    cut = (float(scipy.special.pdtr(low - 1, mean)) if low else 0.0) + float(scipy.special.pdtrc(high, mean)) * float(divergences[-1])
    return (float((masses * divergences).sum()) + cut) * (1 + GUARD)


@lru_cache(maxsize=256)
def dummies_for(epsilon: float, delta: float) -> float:
    """The least noise in each bin that keeps (epsilon, delta), rounded up.

    >>> [round(dummies_for(epsilon, 1e-6), 2) for epsilon in (0.25, 0.5, 1.0, 2.0)]
    [480.62, 136.1, 42.65, 18.09]
    """

    def keeps(noise: float) -> bool:
        return dummy_delta(noise, epsilon) <= delta

    if not keeps(MOST_NOISE):
        allowed = f"what {MOST_NOISE:,.0f} dummies with each value can keep"
        raise ParameterError("epsilon", epsilon, allowed=allowed, fix="promise less: a larger epsilon or delta")
    enough = doubled(keeps, start=1.0, limit=2 * MOST_NOISE, name="noise")
    return calibrate(keeps, safe=enough, risky=1e-3, tolerance=1e-9, name="noise")
