"""Counts of candidates by regression: each report shows several bits, and many candidates share each bit.

People are split at random into c cohorts with hash functions of their own. In cohort j with n_j reports, let t_jb be the unbiased count of
people whose value has bit b, and X_jb(v) whether v has it. A bit belongs to a value that nobody asked about with the probability
``filled``, over the hash functions, so with both sides centered::

    c (t_jb - filled n_j) = sum over candidates v of (X_jb(v) - filled) n_v + (others, 0 over the hash functions) + noise

Least squares solve this without bias. The estimate of n_v is a sum of scores, one for each report: their variance is the noise of the
bits, what the random cohort does, and, where the list is not complete, the collisions with values that are not on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits
from deniable.core.scores import ScoreEstimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.decoding import Decoded

_CONDITION = 1e-8
"""Designs whose smallest squared singular value is below this share of the largest are not solved: errors would be meaningless."""


@dataclass(frozen=True, eq=False, repr=False)
class RegressionEstimate(FrequencyEstimate):
    """Least-squares counts. ``design`` is cohorts x bits x candidates, ``seen`` cohorts x bits, both centered; ``noise`` is the variance of
    one debiased bit.
    """

    design: Array
    seen: Array
    noise: float = field(kw_only=True)
    filled: float = field(kw_only=True)
    complete: bool = field(kw_only=True)
    """Whether nobody can hold a value that is not a candidate."""

    @cached_property
    def scores(self) -> ScoreEstimate:
        """The solution, as a sum of scores."""
        cohorts, bits, size = self.design.shape
        flat = self.design.reshape(cohorts * bits, size)
        gram = flat.T @ flat
        values, vectors = linalg.eigh(gram)
        if size and values[0] <= _CONDITION * values[-1]:
            raise ParameterError(
                "candidates",
                size,
                allowed=f"a list whose filters are independent, well below {cohorts * bits} candidates",
                fix="use more cohorts or bits, name fewer candidates, or select among them with decode()",
            )
        inverse = (vectors / values) @ vectors.T
        weights = (cohorts * (inverse @ flat.T)).reshape(size, cohorts, bits)  # of a report's bits, in the score of each candidate
        sums = np.einsum("vjb,jb->v", weights, self.seen)
        held = np.clip(sums, 0, self.n)
        rest = 0.0 if self.complete else float(np.clip(self.n - sums.sum(), 0, self.n))
        diagonal = np.diag(inverse)
        # A report in cohort j adds, on average over its noise, weights[v, j] . design[j, :, x] to v if its sender holds x.
        moved = sum((weights[:, j] @ self.design[j]) ** 2 @ held for j in range(cohorts)) / cohorts
        others = self.filled * (1 - self.filled) * (cohorts * rest + rest**2)  # people of one other value collide together, at worst
        spread = moved + diagonal * (self.n * cohorts * self.noise + others)
        flip = (1 - np.sqrt(1 / (1 + 4 * self.noise))) / 2  # noise = q (1 - q) / (1 - 2 q)^2, solved for q
        largest = (1 - flip) / (1 - 2 * flip) + self.filled
        reach = float(np.max(np.abs(weights).sum(axis=2), initial=0.0)) * largest
        return ScoreEstimate(
            self.spec, self.values, self.n, sums, spread, slope=-1.0, reach=reach, worst=reach**2, family_size=self.family_size
        )

    @property
    def counts(self) -> Array:
        return self.scores.counts

    def variance(self, counts: Array, *, population: bool = False) -> Array:
        return self.scores.variance(counts, population=population)

    @property
    def enough(self) -> float:
        return self.scores.enough

    def limits(self, alpha: float, *, simultaneous: bool, population: bool) -> Limits:
        return self.scores.limits(alpha, simultaneous=simultaneous, population=population)

    def bounds(self, alpha: float, method: str) -> Limits:
        return self.scores.bounds(alpha, method)

    def select(self, positions: Any) -> ScoreEstimate:  # type: ignore[override]  # solved with all candidates, then picked
        return self.scores.select(positions)

    def decode(self, alpha: float = 0.05) -> Decoded:
        """The candidates that are there, selected from a list of any length; see ``core.decoding``."""
        from deniable.core.decoding import decode

        return decode(self, alpha)
