"""Post-processing: trading the unbiased estimate for one that obeys what is known about counts. Only when asked.

Counts are not negative and add up to n. Methods that use this lower the error over all values, and every one of them biases single
counts: intervals belong to the raw estimate, which is kept with the result. Names and findings as in Wang, Lopuhaä-Zwakenberg, Li, Skoric,
Li 2020.

===========  =========================================================================================================================
base-cut     zero what is not significant among all values; to list what is really there
norm         add one constant to all counts so that they add up to n; the least-squares fit to the sum, negative counts stay
norm-sub     the nearest point among counts that are not negative and add up to n; the best for whole distributions and for sums of them
norm-mul     zero the negative counts and scale the rest; offered because it is common, and worst: it shrinks every frequent value
mle          the most likely counts that are not negative and add up to n; as good as norm-sub, which ignores that common values are noisier
===========  =========================================================================================================================

For reports that name one value each (GRR, RR) ``mle`` is exact: iterative Bayes (expectation maximization) climbs to the same point in
many steps, and is not offered. For all other supports it is the normal approximation, the paper's MLE-Apx.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import scipy

from deniable.core.estimate import PeopleEstimate
from deniable.core.interval import few_large
from deniable.core.law import Unknown
from deniable.core.supports import Supports
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.frequency import FrequencyEstimate


def postprocess(estimate: FrequencyEstimate, method: str) -> PeopleEstimate:
    """Apply a method by its name. The part ``raw`` is the estimate that has the errors."""
    offered = estimate.law.postprocessing
    if method not in offered:
        raise ParameterError(
            "method", method, allowed=f"one of {sorted(offered)} for {estimate.spec.mechanism}", fix="use norm-sub for whole distributions"
        )
    whole = max(estimate.family_size, estimate.whole)
    if len(estimate.values) < whole and method != "base-cut":
        shown = f"{len(estimate.values)} of {whole if whole < 1 << 64 else 'many more'} values"
        raise ParameterError(
            "estimate", shown, allowed="all values of the domain, whose counts add up to n", fix="post-process a whole domain, before top()"
        )
    if estimate.n == 0:  # among nobody, nobody holds it
        return _processed(estimate, method, np.zeros(len(estimate.values)))
    return _processed(estimate, method, METHODS[method](estimate))


def _processed(raw: FrequencyEstimate, method: str, counts: Array) -> PeopleEstimate:
    low, high = raw.interval(0.95)
    return PeopleEstimate(
        values=raw.values,
        law=Unknown(raw.n, counts, f"{method} biases single counts; low and high: 95 %, of the raw estimate"),
        about=f"{raw.n:,} reports after {method}",
        guarantee=raw.guarantee,
        quantity=method,
        parts={"raw": raw},
        spec=raw.spec,
        kind="postprocessed",
        falling=True,
        details={"raw": raw.counts, "low": low, "high": high},
    )


def norm_sub(counts: Array, total: float) -> Array:
    """The Euclidean projection on the counts that are not negative and add up to ``total``, exactly, by sorting (Held 1974).

    >>> norm_sub(np.array([6.0, 3.0, -2.0]), 10.0).tolist()
    [6.5, 3.5, 0.0]
    """
    return np.asarray(np.maximum(counts - _level(counts, np.ones(counts.size), -total, 0.0), 0.0))


def most_likely(supports: Array, p: Array, q: Array) -> Array:
    """The most likely shares if every report supports exactly one value: the highest sum of I log(q + f (p - q)), exactly, by sorting.

    Where f is not zero the slope I (p - q) / (q + f (p - q)) is the same for all values; where it is zero, the slope is at most that.

    >>> most_likely(np.array([70, 25, 5]), np.array(0.6), np.array(0.2)).round(4).tolist()
    [0.9737, 0.0263, 0.0]
    """
    offset = np.broadcast_to(q / (p - q), supports.shape)
    return np.asarray(np.maximum(supports / _level(supports.astype(float), offset, 0.0, 1.0) - offset, 0.0))


def about_most_likely(law: Supports) -> Array:
    """The shares that leave the least sum of (I/n - mean)^2 / variance, mean and variance being what the shares themselves imply.

    With x the multiplier of the sum, f = (I/n - q - s x) / (p - q + (p (1 - p) - q (1 - q)) x), where s = q (1 - q) is the variance of one
    report's support for a value that its sender does not hold. The denominator is always positive, so sorting finds which f are zero.
    """
    p, q = float(np.ravel(law.p)[0]), float(np.ravel(law.q)[0])  # they differ by value only where reports support exactly one
    above, more = law.supports / law.n - q, p * (1 - p) - q * (1 - q)
    noise = np.broadcast_to(q * (1 - q) + law.shared * (p - q) ** 2 / law.n, above.shape)
    x = _level(above, noise, q - p, more)
    return np.asarray(np.maximum((above - noise * x) / (p - q + more * x), 0.0))


def _level(heights: Array, widths: Array, height: float, width: float) -> float:
    """The water level: (height + sum of heights) / (width + sum of widths) over all items whose own ratio is above it.

    Items enter by falling ratio; one that is above the level raises it, but never to its own ratio, so they enter until the first is not.
    """
    falling = np.argsort(-heights / widths, kind="stable")
    levels = (height + np.cumsum(heights[falling])) / (width + np.cumsum(widths[falling]))
    return float(levels[np.flatnonzero((heights / widths)[falling] > levels)[-1]])


def _base_cut(estimate: FrequencyEstimate) -> Array:
    law, alpha = estimate.law, 0.05 / estimate.family_size
    variance = law.variance(np.zeros(len(estimate.values)))  # of a value that nobody holds
    threshold = few_large(variance, law.jump, 2 * alpha) if law.jump else scipy.stats.norm.isf(alpha) * np.sqrt(variance)
    return np.where(estimate.counts >= threshold, estimate.counts, 0.0)


def _norm(estimate: FrequencyEstimate) -> Array:
    return np.asarray(estimate.counts + (estimate.n - estimate.counts.sum()) / estimate.counts.size)


def _norm_mul(estimate: FrequencyEstimate) -> Array:
    positive = np.maximum(estimate.counts, 0.0)
    return np.asarray(positive * (estimate.n / positive.sum() if positive.any() else 0.0))


def _mle(estimate: FrequencyEstimate) -> Array:
    law = estimate.law
    assert isinstance(law, Supports)  # noqa: S101  # no other law offers it
    p, q = (np.broadcast_to(item, law.supports.shape) for item in (law.p, law.q))
    one_each = law.supports.sum() == law.n and np.allclose(p - q + q.sum(), 1.0, rtol=0, atol=1e-9)
    return law.n * (most_likely(law.supports, p, q) if one_each else about_most_likely(law))


METHODS: dict[str, Callable[[FrequencyEstimate], Array]] = {
    "base-cut": _base_cut,
    "norm": _norm,
    "norm-sub": lambda estimate: norm_sub(estimate.counts, float(estimate.n)),
    "norm-mul": _norm_mul,
    "mle": _mle,
}
