"""Errors of counts, and distances between distributions.

Estimates are unbiased: single counts may be negative, and frequencies need not add up to 1. Errors and the total variation take them as
they are. Kullback-Leibler, Jensen-Shannon and Wasserstein compare distributions, and refuse anything else: post-process first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

ROUNDING = 1e-9
"""How far from 1 a distribution may add up."""


@typed
def mse(estimated: Any, truth: Any) -> float:
    """Return the mean squared error of ``estimated`` against the ``truth``, over the values: here (9 + 16 + 25) / 3.

    >>> round(mse([103, 46, 5], [100, 50, 0]), 4)
    16.6667
    """
    a, b = _pair(estimated, truth)
    return float(np.mean((a - b) ** 2))


@typed
def mae(estimated: Any, truth: Any) -> float:
    """Return the mean absolute error of ``estimated`` against the ``truth``, over the values.

    >>> mae([103, 46, 5], [100, 50, 0])
    4.0
    """
    a, b = _pair(estimated, truth)
    return float(np.mean(np.abs(a - b)))


@typed
def max_error(estimated: Any, truth: Any) -> float:
    """Return the largest error of any value, ``estimated`` against the ``truth``.

    >>> max_error([103, 46, 5], [100, 50, 0])
    5.0
    """
    a, b = _pair(estimated, truth)
    return float(np.max(np.abs(a - b)))


@typed
def relative_error(estimated: Any, truth: Any) -> float:
    """Return the sum of absolute errors of ``estimated`` divided by the sum of the ``truth``; estimating 0 everywhere gives 1.

    >>> relative_error([90, 60], [100, 50]), relative_error([0, 0], [100, 50])
    (0.13333333333333333, 1.0)
    """
    a, b = _pair(estimated, truth)
    return float(np.abs(a - b).sum() / max(np.abs(b).sum(), 1e-300))


@typed
def range_error(estimated: Any, truth: Any) -> float:
    """Return the root mean squared error of ``estimated`` against the ``truth``, for the sums over all ranges of values.

    In the second example the errors are 1, -2, -1, -1, -3 and -2.

    >>> round(range_error([101, 48], [100, 50]), 4), round(range_error([101, 48, 49], [100, 50, 50]), 4)
    (1.4142, 1.8257)
    """
    a, b = _pair(estimated, truth)
    below = np.concatenate([[0.0], np.cumsum(a - b)])  # a range's error is the difference of two of these
    pairs = below.size * (below.size - 1) / 2
    return float(np.sqrt(max(0.0, below.size * np.sum(below**2) - np.sum(below) ** 2) / pairs))


@typed
def total_variation(estimated: Any, truth: Any) -> float:
    """Return half the sum of absolute differences of frequencies, ``estimated`` and in ``truth``.

    It is the most by which any event's probability differs.

    >>> round(total_variation([0.5, 0.3, 0.2], [0.4, 0.4, 0.2]), 4)
    0.1
    """
    a, b = _pair(estimated, truth)
    return float(np.abs(a - b).sum() / 2)


@typed
def kullback_leibler(truth: Any, estimated: Any) -> float:
    """Return the relative entropy of the truth, in nats: sum of p ln(p / q); infinite if something true was estimated as impossible.

    >>> round(kullback_leibler([0.5, 0.5], [0.75, 0.25]), 6), kullback_leibler([0.5, 0.5], [1, 0]), kullback_leibler([1, 0], [1, 0])
    (0.143841, inf, 0.0)
    """
    p, q = _distributions(truth, estimated)
    held = p > 0
    with np.errstate(divide="ignore"):
        return float(max(0.0, np.sum(p[held] * np.log(p[held] / q[held]))))  # rounding may fall below zero


@typed
def jensen_shannon(estimated: Any, truth: Any) -> float:
    """Return the mean relative entropy of ``estimated`` and ``truth`` to their average, in nats: symmetric, and at most ln 2.

    Its root is a metric.

    >>> round(jensen_shannon([0.5, 0.5], [1, 0]), 6), round(jensen_shannon([0, 1], [1, 0]), 6)
    (0.215762, 0.693147)
    """
    p, q = _distributions(estimated, truth)
    middle = (p + q) / 2
    return (kullback_leibler(p, middle) + kullback_leibler(q, middle)) / 2


@typed
def wasserstein(estimated: Any, truth: Any, values: Any = None) -> float:
    """Return how far probability must move along the line of values, on average, from ``estimated`` to the ``truth``.

    It is the area between the cumulative distributions. Without ``values`` they are 0, 1, 2 ...

    >>> wasserstein([0.5, 0.5, 0], [0, 0.5, 0.5]), wasserstein([1, 0], [0, 1], values=[10, 25])
    (1.0, 15.0)
    """
    p, q = _distributions(estimated, truth)
    places = np.arange(p.size) if values is None else np.asarray(values)
    if places.shape != p.shape or places.dtype.kind not in "iuf":
        raise ParameterError("values", values, allowed=f"{p.size} numbers", fix="use total_variation: labels have no distance")
    order = np.argsort(places, kind="stable")
    gaps = np.diff(places[order].astype(float))
    return float(np.sum(np.abs(np.cumsum((p - q)[order])[:-1]) * gaps))


def _pair(first: Any, second: Any) -> tuple[Array, Array]:
    a, b = _numbers("estimated", first), _numbers("truth", second)
    if a.ndim != 1 or a.shape != b.shape or not a.size:
        raise ParameterError(
            "estimated", f"shape {a.shape}", allowed=f"as the truth, {b.shape}", fix="list both in the order of the values"
        )
    return a, b


def _numbers(name: str, values: Any) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(name, values, allowed="a list of numbers", fix="list them in the order of the values") from error


def _distributions(first: Any, second: Any) -> tuple[Array, Array]:
    for array in _pair(first, second):
        if array.min() < 0 or not abs(array.sum() - 1) <= ROUNDING * array.size:
            raise ParameterError(
                "frequencies",
                f"least {array.min():.3g}, sum {array.sum():.6g}",
                allowed="numbers from 0 on that add up to 1",
                fix='post-process the estimate first: estimate.postprocess("norm-sub").frequencies',
            )
    return _pair(first, second)
