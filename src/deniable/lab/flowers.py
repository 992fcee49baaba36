"""Clusters in the lab: a crowd of real records, and how far they lie from the centers that were found for them.

The records are the 150 irises that scikit-learn ships (Anderson 1935, Fisher 1936): four lengths, in centimeters, of flowers of three
species, which no method sees. **Crowds are drawn with replacement**: what grows with them is only how well noise averages out. The ranges
are declared beforehand, in round numbers, and all flowers lie within.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from deniable.client.discrete_laplace import DiscreteLaplace
from deniable.contract.features import HALF
from deniable.contract.source import Source
from deniable.core.features import FeatureTable
from deniable.errors import MissingExtra
from deniable.kernels.compiled import Array
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require
from deniable.lab.records import OneWay, RecordSetup, draw_rows
from deniable.tasks.learning import KMeans

RANGES = {"petal length": (1, 7), "petal width": (0, 3), "sepal length": (4, 8), "sepal width": (2, 5)}
KINDS = 3
FLOWERS = 150


@dataclass(frozen=True)
class Irises(Population, named=False):
    """Irises, with the first so many of four lengths.

    >>> from deniable.testing import ReplaySource
    >>> {name: column.tolist() for name, column in Irises(features=2).draw(3, ReplaySource.from_key("docs")).items()}
    {'petal length': [4.4, 1.5, 3.9], 'petal width': [1.4, 0.2, 1.2]}
    """

    features: int = 4

    def __post_init__(self) -> None:
        good = type(self.features) is int and 1 <= self.features <= len(RANGES)
        require(
            good, "features", self.features, f"an integer from 1 to {len(RANGES)}", "try 2, the petals, which separate the species best"
        )

    def table(self) -> tuple[Any, Array]:
        return np.arange(FLOWERS), np.ones(FLOWERS)

    def describe(self) -> str:
        return f"{self.features} lengths of irises"

    def identity(self) -> str:
        _flowers()  # the extra that is missing is named there
        return f"{self!r}, scikit-learn {version('scikit-learn')}"

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The declared range of each length."""
        return dict(list(RANGES.items())[: self.features])

    def rows(self, positions: Array) -> dict[str, Array]:
        """Some flowers, as a table."""
        return {name: _flowers()[positions, j] for j, name in enumerate(self.ranges)}

    def draw(self, n: int, source: Source | None = None) -> dict[str, Array]:
        return self.rows(draw_rows(n, FLOWERS, source))


@cache
def _flowers() -> Array:
    try:
        from sklearn.datasets import load_iris  # type: ignore[import-untyped]  # it has no types
    except ModuleNotFoundError as error:
        raise MissingExtra("Irises", "lab", error.name) from error
    data = load_iris()
    places = [data.feature_names.index(f"{name} (cm)") for name in RANGES]
    return np.asarray(data.data[:, places])


@dataclass(frozen=True)
class Clustered(OneWay):
    """One way to find three centers: the ``rmse`` of a flower's lengths if it is taken for the nearest center, in ranges from -1 to 1.

    ``noisy records``: everybody sends all lengths with Laplace noise, a part of epsilon each; k-means runs on what came in, and what lies
    out of range counts as its end. ``one center`` is the mean of all, not private: worse than that was worth nobody's report.
    """

    ways: ClassVar[tuple[str, ...]] = ("private", "noisy records", "not private", "one center")
    crowd: ClassVar[type[Population]] = Irises

    def run(self, setup: RecordSetup, values: Any, source: Source) -> Outcome:
        search = KMeans(features=setup.population.ranges, clusters=KINDS, epsilon=setup.epsilon, people=max(setup.people, 1))
        flowers = FeatureTable(setup.population.rows(np.arange(FLOWERS)), search.features).points / HALF
        if self.way == "private":
            centers = np.array(search.run(values, source=source).grid) / HALF
        else:
            centers = self._plain(setup, FeatureTable(values, search.features).points / HALF, source)
        near = np.argmin(((flowers[:, None] - centers) ** 2).sum(axis=2), axis=1)
        return Outcome(range(flowers.size), flowers.ravel(), centers[near].ravel())

    def _plain(self, setup: RecordSetup, points: Array, source: Source) -> Array:
        """Centers by ordinary k-means of the records as they are, or as they came in."""
        from sklearn.cluster import KMeans as Plain  # type: ignore[import-untyped]  # Irises came from there

        if self.way == "one center":
            return np.asarray(points.mean(axis=0, keepdims=True))
        if self.way == "noisy records":
            spec = DiscreteLaplace(low=-1, high=1, epsilon=setup.epsilon / points.shape[1])
            sent = spec.privatize(points.ravel(), source=source).columns["point"].astype(float)
            points = np.clip((sent - spec.reach) * 2 / spec.steps - 1, -1.0, 1.0).reshape(points.shape)
        return np.asarray(Plain(KINDS, n_init=3, random_state=0).fit(points).cluster_centers_)

    @property
    def gives(self) -> set[str]:
        return {"counts"}
