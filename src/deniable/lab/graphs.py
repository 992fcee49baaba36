"""Graphs in the lab: people with friends whose friends are friends, and ways to count what is in such a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import comb, pi, sqrt
from typing import Any

import numpy as np

from deniable.contract.record import Document
from deniable.contract.source import Source
from deniable.core.estimate import NumberEstimate
from deniable.core.stream import random_words
from deniable.errors import MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, is_integer, require, require_one_of
from deniable.local.oracle_choice import check_people
from deniable.tasks.graphs import ClippedStars, ClippedTriangles, Degrees, Graph, Triangles
from deniable.tasks.graphs.count import GraphCount, graph_count
from deniable.tasks.graphs.triangles import triples

NOTHING = "nothing"


@dataclass(frozen=True)
class Friends(Population, named=False):
    """A graph as it grows: each newcomer befriends ``ties`` people, popular ones more often, or their friends with probability ``closing``.

    People are numbered at random, so that numbers say nothing about when they came.

    >>> from deniable.testing import ReplaySource
    >>> graph = Friends().draw(200, ReplaySource.from_key("docs"))
    >>> graph.nodes, graph.edges, graph.triangles > 1000
    (200, 1888, True)

    References: Holme, Kim 2002.
    """

    ties: int = 10
    closing: float = 0.8

    def __post_init__(self) -> None:
        require(is_integer(self.ties) and self.ties >= 1, "ties", self.ties, "an integer from 1 on", "10 is usual")
        require(0 <= self.closing <= 1, "closing", self.closing, "from 0 to 1", "try 0.8, which closes most triangles")

    def table(self) -> tuple[Any, Array]:
        return np.arange(2), np.ones(2)

    def draw(self, n: int, source: Source | None = None) -> Graph:
        """A graph of n people."""
        check_people(n)
        require(n > self.ties, "n", n, f"more than {self.ties} people", "lower ties")
        try:
            import networkx  # type: ignore[import-untyped]  # it has no types
        except ModuleNotFoundError as error:
            raise MissingExtra("Friends", "lab", error.name) from error
        grown = networkx.powerlaw_cluster_graph(n, self.ties, self.closing, seed=int(random_words(1, source)[0] >> np.uint64(32)))
        numbers = np.argsort(random_words(n, source), kind="stable")
        return Graph.of(numbers[np.array(grown.edges())], nodes=n)


@dataclass(frozen=True)
class GraphSetup(Document):
    """A way to count in a graph of so many people."""

    noun = "setup"
    way: str
    nodes: int
    epsilon: float


Said = tuple[int, "float | NumberEstimate"]
"""The truth, and what a way says; a bare number where it knows no error."""


def _edges_from_bits(sizes: Any, graph: Graph, source: Source) -> Said:
    noisy = Triangles(**sizes).privatize(graph, source=source)
    error = noisy.spreads[0] * comb(graph.nodes, 2)  # the coin is fair: the same for ties and for none
    return graph.edges, graph_count("edges", GraphCount(n=graph.nodes, number=noisy.edges, noise=error), Triangles(**sizes).guarantee)


def _noisy_triangles(sizes: Any, graph: Graph, source: Source) -> Said:
    return graph.triangles, float(triples(Triangles(**sizes).privatize(graph, source=source))[0])


WAYS: dict[str, Callable[[Any, Graph, Source], Said]] = {
    "edges from degrees": lambda sizes, graph, source: (graph.edges, Degrees(**sizes).run(graph, source=source).edges),
    "edges from bits": _edges_from_bits,
    "2-stars from degrees": lambda sizes, graph, source: (graph.stars(2), Degrees(**sizes).run(graph, source=source).stars(2)),
    "2-stars, two rounds": lambda sizes, graph, source: (graph.stars(2), ClippedStars(k=2, **sizes).run(graph, source=source)),
    "triangles, one round": lambda sizes, graph, source: (graph.triangles, Triangles(**sizes).run(graph, source=source)),
    "triangles, two rounds": lambda sizes, graph, source: (graph.triangles, ClippedTriangles(**sizes).run(graph, source=source)),
    "triangles of the noisy graph": _noisy_triangles,
    NOTHING: lambda _, graph, __: (graph.triangles, 0.0),
}


@dataclass(frozen=True)
class GraphCounting(Method):
    """One way to count: its ``relative_error`` is measured, and predicted by its own standard error. "nothing" says 0, without data."""

    way: str

    def __post_init__(self) -> None:
        require_one_of(WAYS, "way", self.way)

    @property
    def label(self) -> str:  # type: ignore[override]  # it is the way
        return "saying 0, no data" if self.way == NOTHING else self.way

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, Friends):
            raise ParameterError("population", population, allowed="a graph", fix="take Friends")
        return GraphSetup(self.way, n, epsilon)

    def run(self, setup: GraphSetup, values: Graph, source: Source) -> Outcome:
        truth, said = WAYS[self.way]({"nodes": setup.nodes, "epsilon": setup.epsilon}, values, source)
        predicted = {}
        if isinstance(said, NumberEstimate):
            if said.bias is None and truth:
                predicted["relative_error"] = sqrt(2 / pi) * said.stderr / truth  # the mean of a normal error's size
            said = said.value
        return Outcome([self.way], np.array([truth]), np.array([said]), predicted=predicted)

    @property
    def gives(self) -> set[str]:
        return {"counts"}

    def identity(self) -> str:
        return repr([getattr(self, f.name) for f in fields(self)])
