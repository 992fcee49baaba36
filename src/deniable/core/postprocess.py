"""Post-processing: trading the unbiased estimate for one that obeys what is known about counts. Only when asked.

Counts are not negative and add up to n. Methods that use this lower the error over all values, and every one of them biases single
counts: intervals belong to the raw estimate, which stays beside the result. Names and findings as in Wang, Lopuhaä-Zwakenberg, Li, Skoric,
Li 2020.

===========  =========================================================================================================================
base-cut     zero what is not significant among all values; to list what is really there
norm         add one constant to all counts so that they add up to n; the least-squares fit to the sum, negative counts stay
norm-sub     the nearest point among counts that are not negative and add up to n; the best for whole distributions and for sums of them
norm-mul     zero the negative counts and scale the rest; offered because it is common, and worst: it shrinks every frequent value
===========  =========================================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.frequency import FrequencyEstimate


@dataclass(frozen=True, eq=False, repr=False)
class Postprocessed(Table):
    """Counts after post-processing, with the raw estimate that has the errors.

    >>> norm_sub(np.array([6.0, 3.0, -2.0]), 10.0).tolist()
    [6.5, 3.5, 0.0]
    """

    method: str
    counts: Array
    raw: FrequencyEstimate

    @property
    def values(self) -> Sequence[Any]:
        """What was counted."""
        return self.raw.values

    @property
    def frequencies(self) -> Array:
        """The counts as shares of all reports."""
        return self.counts / max(self.raw.n, 1)

    def rows(self) -> dict[str, Any]:
        low, high = self.raw.interval(0.95)
        return {"value": list(self.values), self.method: self.counts, "raw": self.raw.counts, "low": low, "high": high}

    def headline(self) -> str:
        return f"{self.raw.n:,} reports after {self.method}, which biases single counts; low and high: 95 %, of the raw estimate"

    def order(self) -> Array:
        return np.argsort(-self.counts, kind="stable")


def postprocess(estimate: FrequencyEstimate, method: str) -> Postprocessed:
    """Apply a method by its name."""
    if method not in METHODS:
        raise ParameterError("method", method, allowed=f"one of {sorted(METHODS)}", fix="norm-sub suits whole distributions")
    if estimate.picked and method != "base-cut":
        raise ParameterError(
            "estimate", f"{len(estimate.values)} of {estimate.family_size} values", allowed="all values", fix="post-process before top()"
        )
    return Postprocessed(method, METHODS[method](estimate), estimate)


def norm_sub(counts: Array, total: float) -> Array:
    """The Euclidean projection on the counts that are not negative and add up to ``total``, exactly, by sorting (Held 1974)."""
    falling = np.sort(counts)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, counts.size + 1)
    last = int(np.flatnonzero(falling > shifts)[-1])
    return np.asarray(np.maximum(counts - shifts[last], 0.0))


def _base_cut(estimate: FrequencyEstimate) -> Array:
    noise = np.sqrt(estimate.variance(np.zeros(len(estimate.values))))  # of a value that nobody holds
    threshold = stats.norm.isf(0.05 / estimate.family_size) * noise
    return np.where(estimate.counts >= threshold, estimate.counts, 0.0)


def _norm(estimate: FrequencyEstimate) -> Array:
    return np.asarray(estimate.counts + (estimate.n - estimate.counts.sum()) / estimate.counts.size)


def _norm_mul(estimate: FrequencyEstimate) -> Array:
    positive = np.maximum(estimate.counts, 0.0)
    return np.asarray(positive * (estimate.n / positive.sum() if positive.any() else 0.0))


METHODS: dict[str, Callable[[FrequencyEstimate], Array]] = {
    "base-cut": _base_cut,
    "norm": _norm,
    "norm-sub": lambda estimate: norm_sub(estimate.counts, float(estimate.n)),
    "norm-mul": _norm_mul,
}
