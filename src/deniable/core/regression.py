"""Counts of candidates by regression: each report shows several bits, and many candidates share each bit.

People are split at random into c cohorts with hash functions of their own. In cohort j with n_j reports, let t_jb be the unbiased count of
people whose value has bit b, and X_jb(v) whether v has it. A bit belongs to a value that nobody asked about with the probability
``filled``, over the hash functions, so with both sides centered::

    c (t_jb - filled n_j) = sum over candidates v of (X_jb(v) - filled) n_v + (others, 0 over the hash functions) + noise

Least squares solve this without bias. The estimate of n_v is a sum of scores, one for each report: their variance is the noise of the
bits, what the random cohort does, and, where the list is not complete, the collisions with values that are not on it.

Decoding tells which candidates of a long list are there at all. First a regression with non-negative counts and an elastic-net penalty
keeps few candidates; the penalty is what noise alone would reach for any of the candidates with probability alpha. Then least squares on
those that are left give counts and standard errors, and those whose interval lies above zero, at alpha / candidates (Bonferroni), are
returned. Frequent values that are not on the list show in what the candidates leave unexplained, and widen the intervals. Selecting and
estimating on the same reports favors candidates that noise happened to lift: small counts come out too large. Lists may be longer than the
number of bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from deniable.core.estimate import PeopleEstimate
from deniable.core.interval import Limits, check_level
from deniable.core.law import CountLaw, Unknown
from deniable.core.scores import Scores
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.frequency import FrequencyEstimate

_CONDITION = 1e-8
"""Designs whose smallest squared singular value is below this share of the largest are not solved: errors would be meaningless."""


@dataclass(frozen=True, eq=False)
class Regression(CountLaw):
    """Least-squares counts. ``design`` is cohorts x bits x candidates, ``seen`` cohorts x bits, both centered; ``noise`` is the variance of
    one debiased bit, and ``largest`` how large it can be.
    """

    n: int
    design: Array
    seen: Array
    noise: float = field(kw_only=True)
    largest: float = field(kw_only=True)
    filled: float = field(kw_only=True)
    complete: bool = field(kw_only=True)
    """Whether nobody can hold a value that is not a candidate."""

    @cached_property
    def _solved(self) -> tuple[Array, Array, Array]:
        """The inverse of the design's squares, the weights of a report's bits in each candidate's score, and the counts."""
        cohorts, bits, size = self.design.shape
        flat = self.design.reshape(cohorts * bits, size)
        squares = flat.T @ flat
        factor, singular = scipy.linalg.lapack.dpotrf(squares, lower=1)
        condition = 0.0 if singular else float(scipy.linalg.lapack.dpocon(factor, np.abs(squares).sum(axis=0).max(), uplo="L")[0])
        if size >= cohorts * bits or condition < _CONDITION:
            raise ParameterError(
                "candidates",
                size,
                allowed=f"a list whose filters are independent, well below {cohorts * bits} candidates",
                fix="use more cohorts or bits, name fewer candidates, or select among them with decode()",
            )
        inverse = scipy.linalg.cho_solve((factor, True), np.eye(size))
        weights = (cohorts * (inverse @ flat.T)).reshape(size, cohorts, bits)
        return inverse, weights, np.einsum("vjb,jb->v", weights, self.seen)

    @cached_property
    def off_list(self) -> float:
        """The sum of the squared counts of values that are not candidates, from what is left unexplained.

        Values too rare to show there add less to a count than its noise does.
        """
        if self.complete:
            return 0.0
        cohorts, bits, size = self.design.shape
        left = cohorts * self.seen.ravel() - self.design.reshape(cohorts * bits, size) @ self._solved[2]
        freedom = cohorts * bits - size
        even = self.filled * (1 - self.filled)
        expected = cohorts * self.n * (self.noise + even)  # of each equation: flipped bits, and people split among cohorts
        found = float(left @ left) / freedom - expected
        return float(np.clip(found / even, 0.0, float(self.n) ** 2))

    @cached_property
    def scores(self) -> Scores:
        """The solution, as a sum of scores."""
        inverse, weights, sums = self._solved
        cohorts = self.design.shape[0]
        held = np.clip(sums, 0, self.n)
        # A report in cohort j adds, on average over its noise, weights[v, j] . design[j, :, x] to v if its sender holds x.
        moved = sum((weights[:, j] @ self.design[j]) ** 2 @ held for j in range(cohorts)) / cohorts
        rest = 0.0 if self.complete else self.n * self.filled * (1 - self.filled)
        noise = np.diag(inverse) * cohorts * self.noise
        spread = moved + self.n * noise + np.diag(inverse) * cohorts * rest
        reach = float(np.max(np.abs(weights).sum(axis=2), initial=0.0)) * (self.largest + self.filled)
        collisions = self.filled * (1 - self.filled) * np.diag(inverse)  # for each squared count of a value that is not on the list
        return Scores(
            self.n,
            sums,
            spread,
            slope=-1.0,
            reach=reach,
            worst=reach**2,
            least=noise,
            known=True,
            shared=collisions * self.off_list,
            most_shared=0.0 if self.complete else collisions * float(self.n) ** 2,
            jump=self.off_list**0.5 * int((self.design > 0).sum(axis=1).max(initial=0)) * float(np.abs(weights).max(initial=0.0)) / cohorts,
        )

    @property
    def point(self) -> Array:
        return self.scores.point

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return self.scores.variance(at, population=population)

    @property
    def jump(self) -> float:  # type: ignore[override]  # known once the regression is solved
        return self.scores.jump

    @property
    def enough(self) -> float:
        return self.scores.enough

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        return self.scores.limits(alpha, family=family, population=population)

    def bounds(self, alpha: float, method: str) -> Limits:
        return self.scores.bounds(alpha, method)

    def select(self, positions: Array) -> Scores:
        return self.scores.select(positions)  # solved with all candidates, then picked

    def settled(self) -> Scores:
        return self.scores


def decode(estimate: FrequencyEstimate, law: Regression, alpha: float) -> PeopleEstimate:
    """Select candidates by the estimate's ``law``, then estimate those selected."""
    check_level("alpha", alpha)
    size = len(estimate.values)
    kept = _select(law, alpha) if size and law.n else []
    if not kept:
        return _decoded(estimate, [], np.zeros(0), np.zeros(0), np.zeros(0))
    values, few = [estimate.values[i] for i in kept], replace(law, design=law.design[:, :, kept], complete=False)
    left = replace(estimate, values=values, law=few, family_size=size)
    p_values = scipy.stats.norm.sf(left.counts / np.sqrt(few.variance(np.zeros(len(kept)))))
    low, _ = left.interval(1 - 2 * alpha, simultaneous=True)  # one side counts: that of more than nobody
    found = [int(i) for i in np.argsort(-left.counts, kind="stable") if low[i] > 0]
    return _decoded(estimate, [values[i] for i in found], left.counts[found], left.stderr[found], p_values[found])


def _decoded(estimate: FrequencyEstimate, values: list[Any], counts: Array, stderr: Array, p_values: Array) -> PeopleEstimate:
    size = len(estimate.values)
    return PeopleEstimate(
        values=values,
        law=Unknown(estimate.n, counts, "small counts are too high on average, since only high ones were selected", stderr),
        about=f"{len(values):,} of {size:,} candidates found in {estimate.n:,} reports",
        guarantee=estimate.guarantee,
        spec=estimate.spec,
        kind="decoded",
        family_size=size,
        details={"p": p_values},
        remarks=("p: the probability of such a count if nobody held the value",),
    )


def _select(law: Regression, alpha: float) -> list[int]:
    """The positions with a positive count in the penalized regression."""
    cohorts, bits, size = law.design.shape
    flat, target = law.design.reshape(cohorts * bits, size), cohorts * law.seen.ravel()
    longest = float(np.sqrt((flat**2).sum(axis=0).max()))
    penalty = scipy.stats.norm.isf(alpha / size) * longest * np.sqrt(law.n * cohorts * law.noise)
    ridge = 1e-3 * longest  # makes the solution unique; its square is a millionth of a column's
    stacked = np.vstack([flat, ridge * np.eye(size)])
    found, _ = scipy.optimize.nnls(stacked, np.concatenate([target, np.full(size, -penalty / ridge)]))
    return [int(i) for i in np.flatnonzero(found > 0)]
