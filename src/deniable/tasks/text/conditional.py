"""Limits for the share of a share: how often one word follows another, of all that follow it, where both are noisy.

With x the share of a pair and S the sum of its row of V pairs, r = x / S. The limits are those r for which x - r S is not too far from 0
(Fieller 1954). For one person's report its variance is, with v the noise of each pair and f the pairs' shares::

    (1 - 2 r) v_x + r^2 sum v  +  c0 (V - 1) (V r^2 - 2 r) - 2 (c1 - c0) ((1 - 2 r) x + r^2 S)  +  S r (1 - r)

c0 and c1 are the covariances of the oracle's scores of two pairs, if its sender holds neither and one of them: an oracle that names one
value makes them negative. The last part is for the draws of pairs and people. All of it is quadratic in r, so the limits are roots.

*Too far* is z standard errors; for many probabilities at once, and where few reports support a pair by chance, what Bernstein's inequality
allows. A pair that two people wrote is then no proof that it is frequent: the normal law is much too sure of it so far out.
"""

from __future__ import annotations

from math import log

import numpy as np
from scipy import stats

from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import NORMAL_TAILS_FROM, Limits
from deniable.core.supports import SupportEstimate
from deniable.kernels.compiled import Array


def conditional_limits(pairs: FrequencyEstimate, size: int, alpha: float, *, together: bool) -> Limits:
    """Limits (low, high) for all V x V probabilities, from the estimate of all pairs; 0 and 1 where a row does not stand out of its noise.

    ``together`` says that alpha is a part of what many limits may miss, and so lies far out.
    """

    def square(values: Array) -> Array:
        return np.asarray(values[: size**2]).reshape(size, size)

    people = max(pairs.n, 1)
    x = square(pairs.frequencies)
    v = square(pairs.variance(np.clip(pairs.counts, 0, pairs.n)) / people)
    row, rows, share = x.sum(axis=1, keepdims=True), v.sum(axis=1, keepdims=True), np.clip(x, 0.0, 1.0)
    total = share.sum(axis=1, keepdims=True)
    c0, c1 = pairs.spec.pair_covariances  # type: ignore[attr-defined]  # an oracle
    drawn, more = np.maximum(row, 0.0), 2 * (c1 - c0)
    whole = np.maximum(rows + c0 * size * (size - 1) - more * total, 0.0)  # the variance of the row's sum, but for its draws
    squared, linear, constant = (
        whole - drawn,
        drawn - 2 * v - 2 * c0 * (size - 1) + 2 * more * share,
        v - more * share,
    )
    few = together and pairs.enough < NORMAL_TAILS_FROM
    far, jump = (2 * log(2 / alpha), _jump(pairs)) if few else (stats.norm.isf(alpha / 2) ** 2, 0.0)
    known = (row > 0) & (row**2 > far * (whole + jump * row / 3) / people)
    ends = []
    for sign in (-1, 1):  # x - r S is above 0 at the lower end, below it at the upper one
        a, b = row**2 - far * squared / people, -2 * x * row - far * (linear + sign * jump * row / 3) / people
        c = x**2 - far * (constant - sign * jump * x / 3) / people
        inside, twice = b**2 - 4 * a * c, np.where(known, 2 * a, 1.0)
        found = (-b + sign * np.sqrt(np.maximum(inside, 0.0))) / twice
        ends.append(np.where(known & (inside >= 0), np.clip(found, 0.0, 1.0), max(sign, 0)))
    return ends[0], ends[1]


def _jump(pairs: FrequencyEstimate) -> float:
    """What one report, or one of its parts that are independent, adds to a score at most."""
    if isinstance(pairs, SupportEstimate):
        return float(1 / np.min(pairs.p - pairs.q))
    return float(np.sqrt(pairs.variance(np.zeros(1))[0] / max(pairs.n, 1)))  # scores of two values, as far from 0 as their noise is
