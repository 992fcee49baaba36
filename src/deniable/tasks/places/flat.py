"""Counts of cells without a tree: shifted so that they add up to n, with the exact covariance of the oracles' counts.

Given where everybody is, two counts of an oracle covary by n (c0 + (c1 - c0) (f_i + f_j)), with f the shares of the cells, c1 for people in
one of the two and c0 for all others. So the covariance of all counts is a diagonal D and what all cells have in common::

    diag(D) + n c0 1 1' + n (c1 - c0) (f 1' + 1 f')          D = V - n c0 - 2 n (c1 - c0) f

The same shift of all counts, which makes their sum n, takes the rest away: weights w of cells have the variance sum D (w - mean w)^2. Where
counts add up by themselves, as those of GRR and subset selection do, nothing is shifted, and it is the variance that they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.core.frequency import FrequencyEstimate
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False)
class Flat:
    """Cells whose counts add up to n, which is known; it answers what a ``Tree`` does.

    >>> flat = Flat.known(np.array([3.0, 4.0]))
    >>> flat.total([1.0, 0.0])
    (3.0, 0.0)
    >>> Flat(np.array([7.0, 5.0]), np.array([1.0, 3.0]), 10).counts.tolist()
    [6.0, 4.0]
    """

    measured: Array
    diagonal: Array
    """D, as above."""
    n: float

    @classmethod
    def known(cls, counts: Array) -> Flat:
        """Counts without error."""
        return cls(counts, np.zeros(counts.size), float(counts.sum()))

    @classmethod
    def of(cls, found: FrequencyEstimate) -> Flat:
        """Return an oracle's counts of all cells; the shares in the formula are the estimated ones, cut to 0 and 1."""
        counts = np.asarray(found.counts, dtype=float)
        if found.n == 0:
            return cls(np.zeros(counts.size), np.zeros(counts.size), 0.0)
        likely = np.clip(counts, 0, found.n)
        neither, one = found.spec.pair_covariances
        diagonal = found.law.variance(likely) - found.n * neither - 2 * (one - neither) * likely
        return cls(counts, np.maximum(diagonal, 0.0), float(found.n))

    @property
    def leaves(self) -> Array:
        """The positions of the cells: all."""
        return np.arange(self.measured.size)

    @cached_property
    def counts(self) -> Array:
        """The count of each cell."""
        return np.asarray(self.measured + (self.n - self.measured.sum()) / max(self.measured.size, 1))

    @cached_property
    def variances(self) -> Array:
        """The variance of each cell's count."""
        size = max(self.measured.size, 1)
        return np.asarray(np.maximum(self.diagonal * (1 - 2 / size) + self.diagonal.sum() / size**2, 0.0))

    def total(self, weights: Any) -> tuple[float, float]:
        """The weighted sum of all cells, and its variance."""
        weights = np.asarray(weights, dtype=float)
        return float(self.counts @ weights), float(self.diagonal @ (weights - weights.mean()) ** 2)
