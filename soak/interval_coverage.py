"""How often the tasks' intervals at 95 % hold, in the settings that the how-to pages quote: ``python soak/interval_coverage.py sets 200``.

The parts are sets, tables, graphs, ranges and places, each some minutes on one core; then the number of runs. ``make soak`` runs them
with fewer (``test_interval_coverage``), and ``coverage_cases`` has a small case for every other kind of result.
"""

# ruff: noqa: T201  # it prints

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.contract.domain import IndexRange, Integers
from deniable.contract.subsets import Subsets
from deniable.core.sets import ItemSets
from deniable.lab.baskets import Baskets
from deniable.tasks.graphs import ClippedTriangles, Graph, Triangles
from deniable.tasks.itemsets import SVIM, SVSM
from deniable.tasks.marginals import Marginals
from deniable.tasks.places import Box, QuadTree
from deniable.tasks.ranges.ahead import AHEAD
from deniable.testing import ReplaySource


@dataclass(frozen=True)
class Measured:
    """How often intervals held in one setting, each of them counted on its own."""

    setting: str
    held: tuple[int, ...]
    runs: int

    def __str__(self) -> str:
        return f"{self.setting}: {', '.join(f'{hits / self.runs:.1%}' for hits in self.held)} of {self.runs}"


def few_hold_many(people: int) -> ItemSets:
    """3 % hold 12 of 16 items; all others hold the first, and every second of them one more."""
    rng = np.random.default_rng(16)
    held = np.zeros((people, 16), dtype=bool)
    many = rng.random(people) < 0.03
    held[many] = np.argsort(rng.random((int(many.sum()), 16)), axis=1) < 12
    held[~many, 0] = True
    second = np.flatnonzero(~many)[::2]
    held[second, rng.integers(1, 16, second.size)] = True
    return ItemSets.of(Subsets(IndexRange(16)), held)


def sets(runs: int) -> Iterator[Measured]:
    """All intervals of a table together, in baskets of a shop, and where a few hold very many."""
    shops = ((2000, 60, 1.0), (20_000, 60, 1.0), (20_000, 300, 4.0), (30_000, 300, 3.0), (200_000, 1000, 2.0))
    source = ReplaySource.from_key("shop")
    crowds: list[tuple[str, float, Any]] = [
        (f"{n:,} baskets of {items} items", epsilon, Baskets(items=items).draw(n, source)) for n, items, epsilon in shops
    ]
    for name, epsilon, crowd in [*crowds, ("20,000 people, of whom 3 % hold 12 of 16", 4.0, few_hold_many(20_000))]:
        for made in (SVIM, SVSM):
            held = []
            for run in range(runs):
                found = made(domain=crowd.domain, k=8, epsilon=epsilon).run(crowd, source=ReplaySource.from_key(f"{name}/{run}"))
                keys = [value if isinstance(value, tuple) else (value,) for value in found.values]
                truth = np.array([crowd.supports((key,)).item() for key in keys]) / len(crowd)
                low, high = (limit / (found.n if made is SVIM else 1) for limit in found.interval(0.95, simultaneous=True))
                held.append(np.all((low <= truth) & (truth <= high)))
            yield Measured(f"{made.__name__}, {name}, epsilon {epsilon:g}", (int(sum(held)),), runs)


def tables(runs: int) -> Iterator[Measured]:
    """Cramér's V of three values and two, of which the first is rare, and held by people who differ from the others, or do not."""
    for n, epsilon, rare, high, low in (
        (2000, 2.0, 0.1, 7, 3),
        (2000, 2.0, 0.2, 7, 3),
        (1000, 1.0, 0.3, 7, 3),
        (2000, 4.0, 0.1, 7, 3),
        (20_000, 2.0, 0.1, 7, 3),
        (2000, 1.0, 0.3, 9, 1),
        (2000, 2.0, 0.1, 10, 2),
        (400, 4.0, 0.05, 7, 3),
        (2000, 2.0, 0.1, 3, 3),
        (400, 4.0, 0.1, 10, 0),
    ):
        first = np.repeat([0, 1, 2], [int(n * rare), n // 2, n - int(n * rare) - n // 2])
        second = np.where(np.arange(n) % 10 < np.where(first == 0, high, low), 0, 1)
        shares = np.bincount(2 * first + second, minlength=6).reshape(3, 2) / n
        expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
        truth = float(np.sqrt(((shares - expected) ** 2 / expected).sum()))
        survey = Marginals(columns={"first": IndexRange(3), "second": IndexRange(2)}, epsilon=epsilon, people=n)
        held, seen = [], 0
        for run in range(runs):
            source = ReplaySource.from_key(f"{n}/{epsilon}/{rare}/{high}/{run}")
            pair = survey.run({"first": first, "second": second}, source=source)["first", "second"].association()
            below, above = pair.interval(0.95)
            held.append(below <= truth <= above)
            seen += not pair.law.hidden.any()
        setting = f"{n:,} people, epsilon {epsilon:g}, {rare:.0%} hold the rare value, V = {truth:.2f}, all values were seen in {seen} runs"
        yield Measured(setting, (int(sum(held)),), runs)


def graphs(runs: int) -> Iterator[Measured]:
    """Triangles of eight graphs, in one round and in two."""
    import networkx as nx

    made = {
        "karate club": nx.karate_club_graph(),
        "100 people with ten ties": nx.powerlaw_cluster_graph(100, 5, 0.8, seed=1),
        "100 people at random": nx.gnp_random_graph(100, 0.1, seed=2),
        "200 people who prefer many ties": nx.barabasi_albert_graph(200, 4, seed=3),
        "two halves of 30": nx.complete_bipartite_graph(30, 30),
        "a star of 60": nx.star_graph(59),
        "a wheel of 60": nx.wheel_graph(60),
        "40 of 60 all tied": nx.disjoint_union(nx.complete_graph(40), nx.empty_graph(20)),
    }
    for name, drawn in made.items():
        graph = Graph.of(drawn)
        for asked in (Triangles, ClippedTriangles):
            shares = []
            for epsilon in (1.0, 2.0, 4.0, 8.0):
                survey = asked(nodes=graph.nodes, epsilon=epsilon)
                limits = [survey.run(graph, source=ReplaySource.from_key(f"{name}/{epsilon}/{run}")).interval(0.95) for run in range(runs)]
                shares.append(sum(low <= graph.triangles <= high for low, high in limits))
            yield Measured(f"{asked.__name__}, {name}, epsilon 1, 2, 4, 8", tuple(map(int, shares)), runs)


def ranges(runs: int) -> Iterator[Measured]:
    """Ranges of 64 values after AHEAD: people at one value, falling, and spread evenly; ranges of whole cells, and through them."""
    asked = [(0, 0), (5, 5), (4, 6), (0, 7), (16, 31), (5, 30), (40, 63)]
    rng = np.random.default_rng(3)
    for n in (200, 2000, 20_000):
        crowds = {
            "80 % at one value": np.where(rng.random(n) < 0.8, 5, rng.integers(0, 64, n)),
            "10 % at one value": np.where(rng.random(n) < 0.1, 5, 63),
            "falling": np.minimum(rng.geometric(0.2, n) - 1, 63),
            "even": rng.integers(0, 64, n),
        }
        for name, values in crowds.items():
            truth = np.array([((values >= low) & (values <= high)).sum() for low, high in asked])
            for epsilon in (1.0, 4.0):
                held, protocol = np.zeros(len(asked)), AHEAD(domain=Integers(0, 63), epsilon=epsilon, people=n)
                for run in range(runs):
                    source = ReplaySource.from_key(f"{name}/{n}/{epsilon}/{run}")
                    low, high = protocol.run(values, source=source).ranges(asked).interval(0.95)
                    held += (low <= truth) & (truth <= high)
                yield Measured(f"{n:,} people, {name}, epsilon {epsilon:g}", tuple(held.astype(int).tolist()), runs)


def places(runs: int) -> Iterator[Measured]:
    """Boxes on 16 x 16 cells after an adaptive QuadTree: a finest cell, a part of it, half a square, a quarter of all, and two more."""
    boxes = [(5, 6, 6, 7), (5.2, 6.1, 5.6, 6.6), (4, 4, 6, 8), (0, 0, 8, 8), (1, 1, 3, 3), (12, 12, 13, 13)]
    rng, square = np.random.default_rng(3), Box(0, 0, 16, 16, plane=True)
    for n in (200, 2000, 20_000):
        anywhere = rng.uniform(0, 16, (n, 2))
        crowds = {
            "10 % in one cell": np.where(rng.random((n, 1)) < 0.1, [5.5, 6.5], anywhere),
            "10 % in one cell, the others in another": np.where(rng.random((n, 1)) < 0.1, [5.5, 6.5], [12.5, 12.5]),
            "80 % in one cell": np.where(rng.random((n, 1)) < 0.8, [5.5, 6.5], anywhere),
            "even": anywhere,
        }
        for name, points in crowds.items():
            x, y = points.T
            truth = [np.count_nonzero((west <= x) & (x < east) & (south <= y) & (y < north)) for west, south, east, north in boxes]
            for epsilon in (1.0, 4.0):
                held, tree = np.zeros(len(boxes)), QuadTree(box=square, depth=4, epsilon=epsilon, people=n, adaptive=True)
                for run in range(runs):
                    found = tree.run(points, source=ReplaySource.from_key(f"{name}/{n}/{epsilon}/{run}"))
                    limits = [found.count(Box(*box, plane=True)).interval(0.95) for box in boxes]
                    held += [low <= true <= high for true, (low, high) in zip(truth, limits, strict=True)]
                yield Measured(f"{n:,} people, {name}, epsilon {epsilon:g}", tuple(held.astype(int).tolist()), runs)


PARTS: dict[str, Callable[[int], Iterator[Measured]]] = {
    "sets": sets,
    "tables": tables,
    "graphs": graphs,
    "ranges": ranges,
    "places": places,
}
MEASURED = {
    "deniable.tasks.graphs.count.GraphCount": "graphs",
    "deniable.tasks.graphs.few.FewTriangles": "graphs",
    "deniable.tasks.enclosed.Enclosed": "ranges",
}
"""The classes that the parts measure; all others are in ``coverage_cases``."""

if __name__ == "__main__":
    for line in PARTS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 200):
        print(line, flush=True)
