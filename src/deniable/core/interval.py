"""Intervals and bounds for a count of which only noisy supports were seen.

With c true holders among n people, I = Bin(c, p) + Bin(n - c, q): mean n q + c (p - q), variance n q (1 - q) + c s with
s = p (1 - p) - q (1 - q). Every interval here is the set of counts c that a test does not reject, given the observed I:

* ``score``: the normal test with the variance *at c*. Used from n q (1 - q) = 200 on, where its coverage stays within 94 to 96 %
  at the level 95 % (``tests/exact`` sums the exact law). ``skewness=True`` adds the Cornish-Fisher term and half a count,
  for the far tails that simultaneous intervals need; they use it from n q (1 - q) = 1000 on.
* ``exact``: both one-sided tests with the exact law; covers at least the level, however rare the reports.
* ``hoeffding``, ``bernstein``: concentration inequalities; cover at least the level without any approximation, and are wider.
* ``sampling_*``: the people are themselves a sample; then I = Bin(n, f p + (1 - f) q).

``smallest_error`` goes the other way: the smallest error at which an interval excludes 0 is a p-value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

Limits = tuple[Array, Array]
NORMAL_FROM = 200.0
"""The variance n q (1 - q) of the supports from which the normal test is used."""
NORMAL_TAILS_FROM = 1000.0
"""The same for the far tails that simultaneous intervals and tests of many values need."""
SMALLEST = 1e-15
"""P-values below this are not told apart."""
_HALVINGS = 40


def check_level(name: str, level: object) -> None:
    """Raise unless the level is a probability: 95 is not 95 %."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(name, level, allowed="a number between 0 and 1", fix="use 0.95 for a level, 0.05 for alpha")


def score(supports: Array, n: int, p: Array, q: Array, alpha: float, *, skewness: bool = False) -> Limits:
    """Limits by the normal test, without clipping to 0..n: clipping would make the coverage of rare values uneven."""
    if not skewness:
        return _invert(supports, n, p, q, quadratic=scipy.stats.norm.isf(alpha / 2) ** 2)
    z = scipy.stats.norm.isf(0.95 * alpha / 2)  # a twentieth is set aside for what the expansion leaves out: at worst 2.4 % of alpha
    count = np.clip((supports - n * q) / (p - q), 0, n)
    variance = n * q * (1 - q) + count * (p * (1 - p) - q * (1 - q))
    third = n * q * (1 - q) * (1 - 2 * q) + count * (p * (1 - p) * (1 - 2 * p) - q * (1 - q) * (1 - 2 * q))
    shift = third / variance**1.5 * (z * z - 1) / 6
    low, _ = _invert(supports - 0.5, n, p, q, quadratic=(z + shift) ** 2)
    _, high = _invert(supports + 0.5, n, p, q, quadratic=(z - shift) ** 2)
    return low, high


def hoeffding(supports: Array, n: int, p: Array, q: Array, alpha: float) -> Limits:
    """Limits by Hoeffding's inequality: |I - E I| <= sqrt(n ln(2 / alpha) / 2)."""
    reach = np.sqrt(n * np.log(2 / alpha) / 2)
    return (supports - n * q - reach) / (p - q), (supports - n * q + reach) / (p - q)


def bernstein(supports: Array, n: int, p: Array, q: Array, alpha: float) -> Limits:
    """Limits by Bernstein's inequality: x^2 - (2/3) L x <= 2 L Var with x = |I - E I| and L = ln(2 / alpha)."""
    log = np.log(2 / alpha)
    return _invert(supports, n, p, q, quadratic=2 * log, linear=2 * log / 3)


def few_large(variance: Array, jump: Any, alpha: float) -> Array:
    """How far a sum of independent parts strays with probability alpha at most, none larger than ``jump`` (Bernstein), on either side."""
    log = np.log(2 / alpha)
    return np.asarray(log * jump / 3 + np.sqrt((log * jump / 3) ** 2 + 2 * log * variance))


def exact(supports: Array, n: int, p: Array, q: Array, alpha: Any) -> Limits:
    """Limits by inverting both one-sided tests at alpha / 2 with the exact law of I; within 0..n."""
    given = [np.broadcast_to(each, supports.shape) for each in (p, q, alpha)]
    rows, back = np.unique(np.stack([supports, *given]), axis=1, return_inverse=True)  # equal supports have equal limits
    seen, p, q, alpha = rows
    low = _first_count(lambda count: _tail(seen, n, count, p, q) > alpha / 2, n, seen.size)
    # P(I <= i) falls as the count grows: the last count it accepts comes just before the first it rejects.
    high = _first_count(lambda count: 1 - _tail(seen + 1, n, count, p, q) <= alpha / 2, n + 1, seen.size) - 1
    back = back.ravel()
    return low[back].astype(float), np.clip(high[back], 0, n).astype(float)


def sampling_score(supports: Array, n: int, p: Array, q: Array, alpha: float) -> Limits:
    """Wilson's limits for the probability of a support, carried over to counts."""
    z = scipy.stats.norm.isf(alpha / 2)
    center = (supports + z * z / 2) / (n + z * z)
    reach = z / (n + z * z) * np.sqrt(supports * (1 - supports / n) + z * z / 4)
    return n * (center - reach - q) / (p - q), n * (center + reach - q) / (p - q)


def sampling_exact(supports: Array, n: int, p: Array, q: Array, alpha: float) -> Limits:
    """Clopper and Pearson's limits for the probability of a support, carried over to counts."""
    low, high = clopper_pearson(supports, n, alpha)
    return n * (low - q) / (p - q), n * (high - q) / (p - q)


def clopper_pearson(hits: Array, n: int, alpha: float) -> Limits:
    """Exact limits for a probability after so many hits in n trials."""
    hits = np.asarray(hits, dtype=float)
    low = np.where(hits > 0, scipy.stats.beta.ppf(alpha / 2, np.maximum(hits, 1), n - hits + 1), 0.0)
    high = np.where(hits < n, scipy.stats.beta.isf(alpha / 2, hits + 1, np.maximum(n - hits, 1)), 1.0)
    return low, high


def _invert(supports: Array, n: int, p: Array, q: Array, *, quadratic: Any, linear: float = 0.0) -> Limits:
    """The counts c where x = |I - E_c I| solves x^2 - linear x = quadratic Var_c; below c = 0 the variance is that of 0."""
    delta = p - q
    excess = supports - n * q
    slope = (p * (1 - p) - q * (1 - q)) / delta  # of the variance, per unit of the mean
    noise = n * q * (1 - q)
    flat = linear / 2 + np.sqrt(linear**2 / 4 + quadratic * noise)
    inner = 4 * quadratic * np.maximum(noise + slope * excess, 0)
    falling, rising = linear - quadratic * slope, linear + quadratic * slope
    below = np.where(excess > flat, (falling + np.sqrt(falling**2 + inner)) / 2, flat)
    above = np.where(excess > -flat, (rising + np.sqrt(rising**2 + inner)) / 2, flat)
    return (excess - below) / delta, (excess + above) / delta


def _first_count(accepts: Any, end: int, size: int) -> Array:
    """For each cell the smallest count in 0..end that a monotone test accepts, ``end`` if none before it does."""
    low, high = np.zeros(size, dtype=np.int64), np.full(size, end, dtype=np.int64)
    while np.any(low < high):
        middle = (low + high) // 2
        yes = accepts(middle)
        high = np.where(yes, middle, high)
        low = np.where(yes, low, np.minimum(middle + 1, high))
    return low


def _tail(supports: Array, n: int, count: Array, p: Array, q: Array) -> Array:
    """P(I >= supports) for each cell, summed over the reports of the others, of which few support by chance."""
    others = n - count
    mean, spread = others * q, np.sqrt(n * q * (1 - q))
    start = np.maximum(np.floor(mean - 12 * spread - 12), 0)
    noise = start[:, None] + np.arange(int(np.max(24 * spread + 25)) + 1)
    weights = scipy.stats.binom.pmf(noise, others[:, None], q[:, None])
    result: Array = (weights * scipy.stats.binom.sf(supports[:, None] - noise - 1, count[:, None], p[:, None])).sum(axis=1)
    return result


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
