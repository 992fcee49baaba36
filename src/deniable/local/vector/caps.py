"""How large a cap around a direction should be, and how often to answer from it.

A random direction lies in the cap of height gamma with probability 1 - q. An answer comes from the cap with probability p instead,
uniformly inside and uniformly outside. The ratio of any two probabilities of one answer is then p q / ((1 - p) (1 - q)) = e^epsilon, and
an answer's component along the direction is m on average. The larger m, the smaller the error; the best p is found by search. There m =
gamma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erfc, exp, log, log1p, pi, sqrt
from statistics import NormalDist

import scipy

_STEPS = 60
"""Of a golden section: the best p is then known to 1e-12."""
_DIGITS = 6
"""The digits of p that are kept, so that every machine finds the same one; m is as good as at the best."""


@dataclass(frozen=True)
class Cap:
    """A cap: how often it is answered from, where it begins, how many random directions lie below, and the mean component."""

    p: float
    gamma: float
    q: float
    m: float


def gaussian_cap(p: float, epsilon: float) -> Cap:
    """The cap among normal numbers, whose component along any direction is standard normal."""
    below = exp(_log_below(p, epsilon))
    gamma = NormalDist().inv_cdf(below) if below < 0.5 else -NormalDist().inv_cdf(exp(_log_above(p, epsilon)))
    return cap_from(p, gamma)


def cap_from(p: float, gamma: float) -> Cap:
    """The same for a height: phi(gamma) (p / (1 - q) - (1 - p) / q) is the mean component.

    >>> cap_from(0.5, 0.0).m == 0.0
    True
    """
    q, rest = erfc(-gamma / sqrt(2)) / 2, erfc(gamma / sqrt(2)) / 2
    return Cap(p, gamma, q, exp(-gamma * gamma / 2) / sqrt(2 * pi) * (p / rest - (1 - p) / q))


def sphere_cap(p: float, epsilon: float, dimension: int) -> Cap:
    """The cap on the sphere of a dimension (PrivUnit2): a little better than normal numbers, and harder to sample."""
    a = (dimension - 1) / 2
    q = exp(_log_below(p, epsilon))
    gamma = 2 * float(scipy.special.betaincinv(a, a, q)) - 1
    log_scale = a * log1p(-gamma * gamma) - (dimension - 2) * log(2) - log(dimension - 1) - float(scipy.special.betaln(a, a))
    return Cap(p, gamma, q, exp(log_scale) * (p / exp(_log_above(p, epsilon)) - (1 - p) / q))


def best_cap(cap: Callable[[float], Cap]) -> Cap:
    """The cap with the largest mean component, by golden section over p.

    >>> found = best_cap(lambda p: gaussian_cap(p, 4.0))
    >>> found.p, round(found.gamma, 4), round(found.m, 4)
    (0.790946, 1.5156, 1.5156)
    """
    low, high, golden = 0.5, 1 - 1e-9, (sqrt(5) - 1) / 2
    for _ in range(_STEPS):
        first, second = high - golden * (high - low), low + golden * (high - low)
        if cap(first).m >= cap(second).m:
            high = second
        else:
            low = first
    return cap(round((low + high) / 2, _DIGITS))


def _log_below(p: float, epsilon: float) -> float:
    """The logarithm of q = 1 / (1 + e^-x), where x = epsilon - ln(p / (1 - p))."""
    x = epsilon - log(p / (1 - p))
    return -log1p(exp(-x)) if x > 0 else x - log1p(exp(x))


def _log_above(p: float, epsilon: float) -> float:
    """The logarithm of 1 - q, which is small where epsilon is large."""
    x = epsilon - log(p / (1 - p))
    return -x - log1p(exp(-x)) if x > 0 else -log1p(exp(x))
