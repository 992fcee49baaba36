"""Limits for a count of triangles where the noisy graph has few of them left: no more than the number of ties allows.

An error that is itself estimated needs events to be estimated from. With few noisy triangles it is often far too small, even 0, and no
inequality makes up for that. Noisy ties are many, and independent: Bernstein's inequality limits the number m of true ones. And m ties
make at most C(x, 3) triangles, where m = C(x, 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.interval import NORMAL_FROM, Limits, bernstein
from deniable.core.law import Law
from deniable.kernels.compiled import Array
from deniable.tasks.graphs.count import check_whole_graph

if TYPE_CHECKING:
    from deniable.tasks.graphs.noisy import NoisyGraph

MOST_KEPT = 0.8
"""From this probability of a true tie to be seen on, half of all triangles are seen, and their error is known from those."""
FEW_EVENTS = "intervals follow from the number of ties: there are too few events to estimate an error, so stderr is an upper bound"
"""What intervals cover then."""
SURE = 0.999
"""The confidence in the largest number of ties, at which the standard error is taken."""


def too_few(noisy: NoisyGraph, seen: int) -> bool:
    """True if the noisy graph does not show the error of a count of triangles."""
    return seen < NORMAL_FROM and noisy.coin.p < MOST_KEPT


@dataclass(frozen=True, eq=False, kw_only=True)
class FewTriangles(Law):
    """A count of triangles whose error cannot be estimated: limits follow from the number of ties, and ``noise`` is an upper bound.

    They cover the number of triangles with probability 1 - alpha at least, whatever the graph.
    """

    n: int
    number: float
    noise: float
    """The largest variance that the number of ties allows."""
    seen: int
    """How many noisy ties there are."""
    p: float
    q: float
    """The probabilities that a tie is seen, and that one is seen where there is none."""

    @classmethod
    def of(cls, noisy: NoisyGraph, number: float) -> FewTriangles:
        """Return the law of a count from a noisy graph."""
        p, q = float(noisy.coin.p), float(noisy.coin.q)
        noise = sum(largest_variance(noisy).values())
        return cls(n=noisy.nodes, number=number, noise=noise, seen=int(noisy.degrees.sum()) // 2, p=p, q=q)

    @property
    def point(self) -> Array:
        return np.array([self.number])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        check_whole_graph(population)
        return np.array([self.noise])

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        check_whole_graph(population)
        most = np.vectorize(lambda each: most_triangles(most_ties(self.n, self.seen, self.p, self.q, each), self.n))
        high = np.atleast_1d(most(alpha))
        return np.zeros(high.size), high

    def select(self, positions: Array) -> Law:
        return self  # there is one number


def most_ties(nodes: int, seen: int, p: float, q: float, alpha: float) -> float:
    """Return the most ties there are, except with probability alpha at most, if so many were ``seen``."""
    pairs = comb(nodes, 2)
    high = bernstein(np.array([seen]), pairs, np.array([p]), np.array([q]), 2 * alpha)[1]  # one side only
    return float(np.clip(high[0], 0.0, pairs))


def most_triangles(ties: float, nodes: int) -> float:
    """Return the most triangles that so many ties of so many nodes can make.

    >>> most_triangles(0, 9), most_triangles(3, 9), most_triangles(comb(40, 2), 99) == comb(40, 3)
    (0.0, 1.0, True)

    References: Kruskal 1963; Katona 1968; Lovasz 1979 (for x that is not whole).
    """
    x = (1 + sqrt(1 + 8 * ties)) / 2
    return min(max(0.0, x * (x - 1) * (x - 2) / 6), float(comb(nodes, 3)))


def largest_variance(noisy: NoisyGraph) -> dict[str, float]:
    """The parts of the variance in ``variance_of``, each as large as so many ties can make it.

    Opposite ties make a 4-cycle in two ways at most, so m ties have at most C(m, 2) 4-cycles. The sum of c^2 over all pairs is four for
    each of these, and one for each of at most C(m, 2) pairs of ties at a person; over tied pairs, four for each 4-cycle at most and three
    for each triangle.
    """
    nodes, seen = noisy.nodes, int(noisy.degrees.sum()) // 2
    ties = most_ties(nodes, seen, float(noisy.coin.p), float(noisy.coin.q), 1 - SURE)
    tied, apart = noisy.spreads
    more, others = max(tied - apart, 0.0), max(nodes - 2, 0)
    cycles = max(ties * (ties - 1) / 2, 0.0)
    paths, triangles = min(cycles, ties * others), most_triangles(ties, nodes)
    squares = min(4 * cycles + paths, comb(nodes, 2) * float(others) ** 2)
    of_tied = min(4 * cycles + 3 * triangles, ties * float(others) ** 2)
    edges = ties * others
    return {
        "common neighbors": apart * squares + more * of_tied,
        "pairs of bits": apart**2 * edges + 2 * apart * more * paths + 3 * more**2 * triangles,
        "triples of bits": apart**3 * comb(nodes, 3) + apart**2 * more * edges + apart * more**2 * paths + more**3 * triangles,
    }
