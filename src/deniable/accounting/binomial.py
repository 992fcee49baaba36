"""Binomial probabilities to full double precision, for any number of trials.

Differences of log-gamma lose about 2e-15 n, and a certificate would lose as much. Here, as in Loader's algorithm, the logarithm is a sum
of small terms::

    ln b(x; n, p) = s(n) - s(x) - s(n - x) - D(x, n p) - D(n - x, n (1 - p)) + ln(n / (2 pi x (n - x))) / 2

where s(z) = ln z! - (ln(2 pi z) / 2 + z ln z - z) is the error of Stirling's formula and D(x, m) = x ln(x / m) + m - x. The sum over all x
is then 1 to a few units of the last digit, up to n = 10^8.

References: Loader 2000, "Fast and accurate computation of binomial probabilities".
"""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np
import scipy

_SMALL = 16
_STIRLING = np.array([0.0, *(float(scipy.special.gammaln(z + 1)) - (0.5 * log(2 * pi * z) + z * log(z) - z) for z in range(1, _SMALL))])


def pmf(x: Any, n: Any, p: float) -> Any:
    """The probability of x successes in n trials, elementwise; 0 outside 0 .. n.

    >>> round(float(pmf(3, 10, 0.3)), 12)
    0.266827932
    >>> abs(float(pmf(np.arange(40_000, 60_000), 100_000, 0.5).sum()) - 1) < 1e-14
    True
    """
    x, n = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(n, dtype=float))
    found = np.zeros(x.shape)
    if p <= 0 or p >= 1:
        found[x == (0 if p <= 0 else n)] = 1.0
        return found
    none, all_of_them, inside = (x == 0) & (n >= 0), (x == n) & (n > 0), (x > 0) & (x < n)
    found[none] = np.exp(n[none] * np.log1p(-p))
    found[all_of_them] = np.exp(n[all_of_them] * log(p))
    k, m = x[inside], n[inside]
    rest = m - k
    exponent = _stirling_error(m) - _stirling_error(k) - _stirling_error(rest) - _deviance(k, m * p) - _deviance(rest, m * (1 - p))
    found[inside] = np.exp(exponent) * np.sqrt(m / (2 * pi * k * rest))
    return found


def at_least(k: Any, n: Any, p: float) -> Any:
    """The probability of k or more successes in n trials, elementwise.

    >>> float(at_least(2, 2, 0.5)), float(at_least(0, 7, 0.5)), float(at_least(8, 7, 0.5))
    (0.25, 1.0, 0.0)
    """
    k, n = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    inside = (k > 0) & (k <= n)
    found = np.where(k <= 0, 1.0, 0.0)
    found[inside] = scipy.special.betainc(k[inside], n[inside] - k[inside] + 1, p)
    return found


def at_most(k: Any, n: Any, p: float) -> Any:
    """The probability of k or fewer successes in n trials, elementwise, without subtracting from 1."""
    return at_least(np.asarray(n, dtype=float) - k, n, 1 - p)


def _stirling_error(z: Any) -> Any:
    error = np.empty_like(z)
    small = z < _SMALL
    error[small] = _STIRLING[z[small].astype(int)]
    large = z[~small]
    square = large * large
    error[~small] = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * square)) / square) / square) / square) / large
    return error


def _deviance(x: Any, mean: Any) -> Any:
    """D(x, mean); by its series where the two are close, since the difference would cancel."""
    v = (x - mean) / (x + mean)
    near = np.abs(v) < 0.1
    found = np.empty_like(v)
    w = v[near]
    square = w * w
    series = np.full_like(w, 1 / 19)
    for odd in range(17, 1, -2):
        series = series * square + 1 / odd
    found[near] = (x[near] - mean[near]) * w + 2 * x[near] * w * square * series
    if not near.all():
        far, m = x[~near], mean[~near]
        found[~near] = far * np.log(far / m) + m - far
    return found
