"""Decoding: which candidates of a long list are there at all, from filters that they share.

First a regression with non-negative counts and an elastic-net penalty keeps few candidates; the penalty is what noise alone would reach for
any of the candidates with probability alpha. Then least squares on those that are left give counts and standard errors
(``core.regression``), and those whose interval lies above zero, at alpha / candidates (Bonferroni), are returned. Frequent values that are
not on the list show in what the candidates leave unexplained, and widen the intervals. Selecting and estimating on the same
reports favors candidates that noise happened to lift: small counts come out too large. Lists may be longer than the number of bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize, stats

from deniable.core.estimate import PeopleEstimate
from deniable.core.interval import check_level
from deniable.core.law import Unknown
from deniable.core.regression import Regression
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.frequency import FrequencyEstimate


def decode(estimate: FrequencyEstimate, law: Regression, alpha: float) -> PeopleEstimate:
    """Select candidates by the estimate's ``law``, then estimate those selected."""
    check_level("alpha", alpha)
    size = len(estimate.values)
    kept = _select(law, alpha) if size and law.n else []
    if not kept:
        return _decoded(estimate, [], np.zeros(0), np.zeros(0), np.zeros(0))
    values, few = [estimate.values[i] for i in kept], replace(law, design=law.design[:, :, kept], complete=False)
    left = replace(estimate, values=values, law=few, family_size=size)
    p_values = stats.norm.sf(left.counts / np.sqrt(few.variance(np.zeros(len(kept)))))
    low, _ = left.interval(1 - 2 * alpha, simultaneous=True)  # one side counts: that of more than nobody
    found = [int(i) for i in np.argsort(-left.counts, kind="stable") if low[i] > 0]
    return _decoded(estimate, [values[i] for i in found], left.counts[found], left.stderr[found], p_values[found])


def _decoded(estimate: FrequencyEstimate, values: list[Any], counts: Array, stderr: Array, p_values: Array) -> PeopleEstimate:
    size = len(estimate.values)
    return PeopleEstimate(
        values=values,
        law=Unknown(estimate.n, counts, "selection makes small counts too large", stderr),
        about=f"{len(values):,} of {size:,} candidates found in {estimate.n:,} reports",
        guarantee=estimate.guarantee,
        spec=estimate.spec,
        kind="decoded",
        family_size=size,
        details={"p": p_values},
        remarks=("p: the chance of such a count if nobody held it",),
    )


def _select(law: Regression, alpha: float) -> list[int]:
    """The positions with a positive count in the penalized regression."""
    cohorts, bits, size = law.design.shape
    flat, target = law.design.reshape(cohorts * bits, size), cohorts * law.seen.ravel()
    longest = float(np.sqrt((flat**2).sum(axis=0).max()))
    penalty = stats.norm.isf(alpha / size) * longest * np.sqrt(law.n * cohorts * law.noise)
    ridge = 1e-3 * longest  # makes the solution unique; its square is a millionth of a column's
    stacked = np.vstack([flat, ridge * np.eye(size)])
    found, _ = optimize.nnls(stacked, np.concatenate([target, np.full(size, -penalty / ridge)]))
    return [int(i) for i in np.flatnonzero(found > 0)]
