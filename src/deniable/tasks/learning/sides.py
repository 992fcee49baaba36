"""The answer of one question about clusters: how many people are near each center, and how they lean, with exact variances.

A report speaks of a cluster and a side of it. A cluster's share is the sum of its sides' shares, its lean their difference. An oracle that
speaks for a fixed number of values makes the sides correlate: a report for one is none for the other. That is in the errors of both; the
fewer the clusters, the more it matters. With one cluster and GRR the share is known, and the lean has twice the variance of two sides that
know nothing of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from deniable.core.frequency import FrequencyEstimate
from deniable.kernels.compiled import Array

LEAST = 1e-12
"""The least variance of a share, per person: one that is known exactly would have all the weight, and no number."""


@dataclass(frozen=True)
class Sides:
    """Shares and leans of clusters, with variances of noise and sampling; infinite where nobody answered."""

    shares: Array
    leans: Array
    share_noise: Array
    lean_noise: Array
    both: Array
    """The covariance of share and lean."""

    @classmethod
    def of(cls, found: FrequencyEstimate, clusters: int) -> Sides:
        """Return the shares and leans from the estimate of each cluster's two sides: zero, then one."""
        n, nothing = found.n, np.zeros(clusters)
        if not n:
            return cls(nothing, nothing, nothing + inf, nothing + inf, nothing)
        zero, one = found.frequencies.reshape(clusters, 2).T
        noise = (np.square(found.stderr) / n).reshape(clusters, 2).T
        f, g = np.clip(zero, 0.0, 1.0), np.clip(one, 0.0, 1.0)
        neither, held = found.spec.pair_covariances
        apart, each = neither + (held - neither) * (f + g), noise.sum(axis=0) + f + g
        share, lean = each + 2 * apart - (f + g) ** 2, each - 2 * apart - (g - f) ** 2
        both = noise[1] - noise[0] + (g - f) * (1 - f - g)
        return cls(zero + one, one - zero, np.maximum(share, LEAST) / n, np.maximum(lean, LEAST) / n, both / n)


def pooled(values: Array, noise: Array) -> tuple[Array, Array, Array]:
    """The mean over questions, each weighted by its precision, its noise, and the weights; infinite noise where none was answered.

    >>> [part.tolist() for part in pooled(np.array([[1.0], [4.0], [9.0]]), np.array([[1.0], [2.0], [inf]]))]
    [[2.0], [0.6666666666666666], [[0.6666666666666666], [0.3333333333333333], [0.0]]]
    """
    precision = 1 / noise
    total = precision.sum(axis=0)
    weights = precision / np.where(total > 0, total, 1.0)
    return (values * weights).sum(axis=0), np.where(total > 0, 1 / np.where(total > 0, total, 1.0), inf), weights
