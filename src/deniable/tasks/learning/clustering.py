"""Clusters that were found: their centers and shares, the noise in them, and whose point belongs to which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.features import HALF, Features
from deniable.contract.spec import Spec
from deniable.core.features import nearest, table_of
from deniable.core.table import Table
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart

BIASED = "values beyond the clipping bound counted as the bound: centers of far clusters lie too near to the middle"


@dataclass(frozen=True, eq=False, repr=False)
class ClusterEstimate(Table):
    """Centers in people's own numbers, one row for each cluster; the order of clusters means nothing.

    It has no intervals: standard errors are those of the last round, and what the rounds before it left out of a cluster is not in them.
    """

    features: Features
    """The names and ranges of the coordinates."""
    grid: tuple[tuple[int, ...], ...]
    """The centers in steps from the middle of each range."""
    steps_noise: Array
    """The variance of each coordinate of each center through the last round, in squared steps; infinite where none could be said."""
    shares: Array
    """The share of people in each cluster, in the last round; unbiased, so it may lie below 0."""
    share_noise: Array
    """The variance of each share."""
    n: int
    spec: Spec
    """The mechanism of the last round."""
    clip: int
    """How often the range was halved around its middle: what lies beyond counted as the bound."""

    @property
    def centers(self) -> Array:
        """The centers, clusters x features."""
        return np.array([[self.features.original(j, steps) for j, steps in enumerate(center)] for center in self.grid])

    @property
    def stderr(self) -> Array:
        """The standard error of each coordinate of each center: noise and sampling of the last round."""
        return np.asarray(np.sqrt(self.steps_noise) * np.array([self.features.unit(j) for j in range(len(self.features))]))

    @property
    def biased(self) -> str | None:
        """How the centers may be biased; None if they are not."""
        return BIASED if self.clip else None

    def predict(self, values: Any) -> Array:
        """The number of the nearest center for each row of a table."""
        return nearest(table_of(values, self.features).points, self.grid)

    def spread(self, values: Any) -> float:
        """The mean squared distance of people from their nearest center, features scaled to -1 .. 1: what clustering makes small."""
        points = table_of(values, self.features).points
        return float((((points - np.array(self.grid)[nearest(points, self.grid)]) / HALF) ** 2).sum(axis=1).mean()) if len(points) else 0.0

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        columns = {name: self.centers[:, j] for j, name in enumerate(self.features.names)}
        errors = {f"{name} ±": self.stderr[:, j] for j, name in enumerate(self.features.names)}
        both = {name: column for pair in zip(columns.items(), errors.items(), strict=True) for name, column in pair}
        return {
            "value": [f"cluster {i}" for i in range(len(self.grid))],
            "share": self.shares,
            "share ±": np.sqrt(self.share_noise),
            **both,
        }

    def headline(self) -> str:
        errors = "±: one standard error, of the last round alone: no interval"
        told = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.spec.epsilon:.4g}; {errors}"
        return f"{told}\n{self.biased}" if self.biased else told

    def order(self) -> Array:
        return np.argsort(-self.shares, kind="stable")

    def chart(self) -> Chart:
        """The share of each cluster."""
        from deniable.core.number_chart import dot_chart

        names = [f"cluster {i}" for i in range(len(self.grid))]
        return dot_chart(names, self.shares.tolist(), title=f"Shares of clusters, {self.n:,} reports, epsilon = {self.spec.epsilon:.4g}")
