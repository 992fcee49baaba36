"""The estimate of one count of a graph: how many edges, stars or triangles there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from deniable.core.estimate import NumberEstimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.graphs.privacy import GraphGuarantee

FEW = 30
"""With fewer people, intervals come from Chebyshev's inequality instead of the normal law."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphCount(Law):
    """An unbiased count of a graph, which may lie below zero.

    Limits are the count -+ z stderr, with z of the normal law; with fewer than 30 people, or where the count hangs on few events, z is
    1 / sqrt(alpha), as in Chebyshev's inequality. That is a promise only where the error is known, as that of edges is. Where it is itself
    estimated from noisy reports, intervals are as good as that.

    >>> law = GraphCount(n=900, number=420.0, noise=900.0)
    >>> [limit.round(1).tolist() for limit in law.limits(0.05)]
    [[361.2], [478.8]]
    """

    n: int
    number: float
    noise: float
    """The variance of the count."""
    normal: bool = True
    """True if the count rests on enough data for a normal error."""

    @property
    def point(self) -> Array:
        return np.array([self.number])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        check_whole_graph(population)
        return np.array([self.noise])

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        check_whole_graph(population)
        z = scipy.stats.norm.isf(alpha / 2) if self.normal and self.n >= FEW else np.asarray(alpha) ** -0.5
        return self.point - z * self.stderr, self.point + z * self.stderr

    def select(self, positions: Array) -> Law:
        return self  # there is one number


def check_whole_graph(population: bool) -> None:
    """Raise if a sampling error is asked for."""
    if population:
        raise ParameterError("population", True, allowed="False: the people in a graph are not a sample", fix="leave out population")


def graph_count(name: str, law: Law, guarantee: GraphGuarantee, **words: Any) -> NumberEstimate:
    """Return the estimate of a count under a ``name``."""
    about = f"{law.n:,} people, epsilon = {guarantee.epsilon:.4g} for {guarantee.neighbors}"
    return NumberEstimate(values=[name], law=law, about=about, guarantee=guarantee, quantity="count", **words)
