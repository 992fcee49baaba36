"""Clusters that a search found: their centers and shares, the noise in them, and the cluster of each point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from deniable.contract.features import HALF, Features
from deniable.contract.guarantee import Guarantee
from deniable.contract.spec import Spec
from deniable.core.estimate import Estimate
from deniable.core.features import nearest, table_of
from deniable.core.law import Unknown
from deniable.core.table import row_numbers
from deniable.kernels.compiled import Array

BIASED = "values beyond the clipping bound were counted as the bound, so centers of far clusters are too close to the middle"
WHY = "stderr and ±: one standard error, of the last round only; no interval is known"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClusterEstimate(Estimate):
    """The share of people in each cluster, and its center in people's own numbers; the order of clusters means nothing.

    It has no intervals: standard errors are those of the last round, and what the rounds before it left out of a cluster is not in them.
    Shares are unbiased, so they may lie below 0.
    """

    law: Unknown
    features: Features
    """The names and ranges of the coordinates."""
    grid: tuple[tuple[int, ...], ...]
    """The centers in steps from the middle of each range."""
    steps_noise: Array
    """The variance of each coordinate of each center through the last round, in squared steps; infinite where none could be said."""
    spec: Spec
    """The mechanism of the last round."""
    quantity: str = "share"

    kind: str = "clusters"
    falling: bool = True

    @classmethod
    def of(
        cls, features: Features, grid: tuple[tuple[int, ...], ...], steps_noise: Array, *, law: Unknown, spec: Spec, guarantee: Guarantee
    ) -> Self:
        """Return clusters with these centers, and the law of their shares."""
        return cls(
            values=[f"cluster {i}" for i in range(len(grid))],
            law=law,
            about=f"{law.n:,} reports, {spec.mechanism}, epsilon = {spec.epsilon:.4g}",
            guarantee=guarantee,
            features=features,
            grid=grid,
            steps_noise=steps_noise,
            spec=spec,
        )

    @property
    def shares(self) -> Array:
        """The share of people in each cluster, in the last round."""
        return self.point

    @property
    def centers(self) -> Array:
        """The centers, clusters x features."""
        return np.array([[self.features.original(j, steps) for j, steps in enumerate(center)] for center in self.grid])

    @property
    def center_stderr(self) -> Array:
        """The standard error of each coordinate of each center: noise and sampling of the last round."""
        return np.asarray(np.sqrt(self.steps_noise) * np.array([self.features.unit(j) for j in range(len(self.features))]))

    def predict(self, values: Any) -> Array:
        """Return the number of the nearest center for each row of a table."""
        return nearest(table_of(values, self.features).points, self.grid)

    def spread(self, values: Any) -> float:
        """Return the mean squared distance of people from their nearest center, features scaled to -1 .. 1: clustering minimizes it."""
        points = table_of(values, self.features).points
        return float((((points - np.array(self.grid)[nearest(points, self.grid)]) / HALF) ** 2).sum(axis=1).mean()) if len(points) else 0.0

    def select(self, positions: Any) -> Self:
        at = row_numbers(positions, len(self.values))
        return replace(super().select(at), grid=tuple(self.grid[i] for i in at), steps_noise=self.steps_noise[at])

    def further(self) -> dict[str, Any]:
        both = zip(self.features.names, self.centers.T, self.center_stderr.T, strict=True)
        return {name: column for title, center, error in both for name, column in ((title, center), (f"{title} ±", error))}
