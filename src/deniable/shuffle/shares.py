"""How many shares hide a number: the exact collision probability of split-and-mix, and the delta that follows from it.

Each of n people splits a number into m shares: m - 1 uniform modulo q, the last so that all add up to it. All n m shares are shuffled. The
shuffled shares should say nothing but their sum.

**Proof.** Set one share of everyone aside. What remains, k = m - 1 shares, splits a number that is uniform, since the share set aside is.
Let X be n uniform numbers and Y their shuffled shares. (X, Y) lies in a set of q^(n - 1 + n k) pairs with equal sums. Two independent
draws agree if Y does, and if then X does: a linear system in Y, with one equation for each person. Draw an edge for each share, between
its owner in the first draw and its owner in the second; the system has rank n - C, where C is the number of connected components, for any
q. So with u = E[q^(C - 1)] the distance of (X, Y) from uniform is at most sqrt(u - 1) / 2 (Cauchy and Schwarz), and so far, at most, is the
view of *any* numbers from one that is drawn given their sum alone. If the sum is epsilon-DP, the view is (epsilon, delta)-DP with::

    delta = (1 + e^epsilon) sqrt(u - 1) / 2,      u_n - 1 <= sum over t of binomial(n - 1, t) / binomial(n k, t k) q u_t

The sum is over closed sets of t people without the first one: such a set is closed with probability 1 / binomial(n k, t k), and has q^C'
colorings of its own components. For n up to ``LISTED`` it is computed as it stands. Beyond, u_t <= 2 follows by induction, since all terms
fall with n; it is checked where the induction starts. More people never say more (their shares could be added
by anyone), so this holds for n honest people among any.

References: Ishai, Kushilevitz, Ostrovsky, Sahai 2006; Balle, Bell, Gascon, Nissim 2020; Ghazi, Manurangsi, Pagh, Velingker 2020.
Balle et al. need m >= 2 + (2 sigma + log2 q) / (log2 n - log2 e) for a distance of 2^-sigma; for n and q as they
occur together, the exact count is not above it.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np
import scipy

from deniable.errors import ParameterError

LISTED, ENDS = 4096, 128
MOST_SHARES = 64
GUARD = 1e-3
"""Relative, on u - 1: what double precision may lose."""


def shares_for(*, epsilon: float, delta: float, n: int, modulus: int) -> int:
    """The fewest shares that keep delta, if the sum keeps epsilon.

    >>> shares_for(epsilon=1.0, delta=1e-6, n=100_000, modulus=1 << 32)
    7
    """
    for shares in range(3, MOST_SHARES + 1):
        single = float(_closed(n, 1.0, shares - 1)) + log(modulus - 1) if n > 1 else -inf  # the first term of u - 1, which is not above it
        if (1 + exp(epsilon)) / 2 * exp(min(single, 700.0) / 2) > delta:
            continue  # hopeless; the whole sum takes a moment
        if share_delta(epsilon=epsilon, n=n, modulus=modulus, shares=shares) <= delta:
            return shares
    fix = "ask more people, allow a larger delta, or take fewer steps"
    raise ParameterError("delta", delta, allowed=f"what {MOST_SHARES} shares can keep among {n} people", fix=fix)


def share_delta(*, epsilon: float, n: int, modulus: int, shares: int) -> float:
    """Delta of the view of shuffled shares, if their sum is epsilon-DP; rounded up."""
    return (1 + exp(epsilon)) / 2 * sqrt(excess(n, shares - 1, modulus))


@lru_cache(maxsize=256)
def excess(n: int, k: int, modulus: int) -> float:
    """An upper bound on u - 1 for n people with k shares each, besides the one set aside; infinite where none is proved."""
    if n == 1:
        return 0.0  # the sum is the number itself
    top = min(n, LISTED)
    factorials = scipy.special.gammaln(np.arange(k * top + 1.0) + 1)
    one, all_ = factorials[: top + 1], factorials[::k]
    logs, last = np.zeros(top), 0.0  # ln u_t at t - 1
    for people in range(2, top + 1):
        closed = one[people - 1] - one[1:people] - one[people - 2 :: -1] - all_[people] + all_[1:people] + all_[people - 1 : 0 : -1]
        terms = closed + logs[: people - 1]
        largest = float(terms.max())
        last = largest + log(float(np.exp(terms - largest).sum())) + log(modulus)
        logs[people - 1] = np.logaddexp(0.0, last)
    if n <= top:
        return _rounded(last)
    if np.any(logs[-ENDS:] > log(2)) or _beyond(top + 1, k, modulus, logs) > 0.0:
        return inf  # the induction does not start here
    return _rounded(_beyond(n, k, modulus, logs))


def _beyond(n: int, k: int, modulus: int, logs: Any) -> float:
    """Ln of the bound on u_n - 1, where u_t <= 2 from the last listed ones on: first and last terms one by one, others by the largest."""
    few, many = np.arange(1.0, ENDS + 1), np.arange(1.0, logs.size - ENDS + 1)
    first = _closed(n, many, k) + logs[: many.size]
    last = _closed(n, n - few, k) + log(2)
    between = log(2 * n) + max(_closed(n, many[-1], k), last[-1])  # terms are log-convex in t: the largest are at the ends
    return float(scipy.special.logsumexp(np.concatenate([first, last, [between]]))) + log(modulus)


def _closed(n: int, t: Any, k: int) -> Any:
    """Ln of binomial(n - 1, t) / binomial(n k, t k)."""
    return _log_binomial(n - 1, t) - _log_binomial(n * k, t * k)


def _log_binomial(n: int, t: Any) -> Any:
    return scipy.special.gammaln(n + 1) - scipy.special.gammaln(t + 1) - scipy.special.gammaln(n - t + 1)


def _rounded(logarithm: float) -> float:
    return exp(min(logarithm, 700.0)) * (1 + GUARD)
