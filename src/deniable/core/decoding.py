"""Decoding: which candidates of a long list are there at all, from filters that they share.

First a regression with non-negative counts and an elastic-net penalty keeps few candidates; the penalty is what noise alone would reach for
any of the candidates with probability alpha. Then least squares on those that are left give counts and standard errors
(``core.regression``), and those whose interval lies above zero, at alpha / candidates (Bonferroni), are returned. Frequent values that are
not on the list show in what the candidates leave unexplained, and widen the intervals. Selecting and estimating on the same
reports favors candidates that noise happened to lift: small counts come out too large. Lists may be longer than the number of bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize, stats

from deniable.core.interval import check_level
from deniable.core.regression import RegressionEstimate
from deniable.core.table import Table
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False)
class Decoded(Table):
    """The candidates that were found, the largest first. The counts are biased by the selection."""

    values: list[Any]
    counts: Array
    stderr: Array
    p_values: Array
    """For each, the chance of such a count if nobody held it."""
    candidates: int
    n: int

    def rows(self) -> dict[str, Any]:
        return {"value": self.values, "count": self.counts, "stderr": self.stderr, "p": self.p_values}

    def headline(self) -> str:
        return f"{len(self.values):,} of {self.candidates:,} candidates found in {self.n:,} reports; selection makes small counts too large"

    def order(self) -> Array:
        return np.arange(len(self.values))


def decode(estimate: RegressionEstimate, alpha: float) -> Decoded:
    """Select candidates, then estimate those selected."""
    check_level("alpha", alpha)
    size = len(estimate.values)
    kept = _select(estimate, alpha) if size and estimate.n else []
    if not kept:
        return Decoded([], np.zeros(0), np.zeros(0), np.zeros(0), size, estimate.n)
    values = [estimate.values[i] for i in kept]
    left = replace(estimate, values=values, design=estimate.design[:, :, kept], complete=False, family_size=size)
    p_values = stats.norm.sf(left.counts / np.sqrt(left.variance(np.zeros(len(kept)))))
    low, _ = left.interval(1 - 2 * alpha, simultaneous=True)  # one side counts: that of more than nobody
    found = [int(i) for i in np.argsort(-left.counts, kind="stable") if low[i] > 0]
    return Decoded([values[i] for i in found], left.counts[found], left.stderr[found], p_values[found], size, estimate.n)


def _select(estimate: RegressionEstimate, alpha: float) -> list[int]:
    """The positions with a positive count in the penalized regression."""
    cohorts, bits, size = estimate.design.shape
    flat, target = estimate.design.reshape(cohorts * bits, size), cohorts * estimate.seen.ravel()
    longest = float(np.sqrt((flat**2).sum(axis=0).max()))
    penalty = stats.norm.isf(alpha / size) * longest * np.sqrt(estimate.n * cohorts * estimate.noise)
    ridge = 1e-3 * longest  # makes the solution unique; its square is a millionth of a column's
    stacked = np.vstack([flat, ridge * np.eye(size)])
    found, _ = optimize.nnls(stacked, np.concatenate([target, np.full(size, -penalty / ridge)]))
    return [int(i) for i in np.flatnonzero(found > 0)]
