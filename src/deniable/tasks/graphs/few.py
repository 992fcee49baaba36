"""What can be said of triangles where few of them are left in the noisy graph: no more than their number of ties allows.

An error that is itself estimated needs events to be estimated from. With few noisy triangles it is often far too small, even 0, and no
inequality makes up for that. Noisy ties are many, and independent: Bernstein's inequality limits the number m of true ones. And m ties
make at most C(x, 3) triangles, where m = C(x, 2).
"""

from __future__ import annotations

from math import comb, sqrt
from typing import TYPE_CHECKING

import numpy as np

from deniable.core.interval import NORMAL_FROM, bernstein

if TYPE_CHECKING:
    from deniable.tasks.graphs.noisy import NoisyGraph

MOST_KEPT = 0.8
"""From this probability of a true tie to be seen on, half of all triangles are seen, and their error is known from those."""
SURE = 0.999
"""How sure the largest number of ties is that a standard error is taken at."""


def too_few(noisy: NoisyGraph, seen: int) -> bool:
    """Whether the error of a count of triangles cannot be told from the noisy graph."""
    return seen < NORMAL_FROM and noisy.coin.p < MOST_KEPT


def most_ties(noisy: NoisyGraph, level: float) -> float:
    """So many ties there are at most, with probability ``level`` at least."""
    pairs = comb(noisy.nodes, 2)
    p, q = (np.array([float(side)]) for side in (noisy.coin.p, noisy.coin.q))
    high = bernstein(np.array([int(noisy.degrees.sum()) // 2]), pairs, p, q, 2 * (1 - level))[1]  # one side only
    return float(np.clip(high[0], 0.0, pairs))


def most_triangles(ties: float) -> float:
    """So many triangles there are at most among so many ties.

    >>> most_triangles(0), most_triangles(3), most_triangles(comb(40, 2)) == comb(40, 3)
    (0.0, 1.0, True)

    References: Kruskal 1963; Katona 1968; Lovasz 1979 (for x that is not whole).
    """
    x = (1 + sqrt(1 + 8 * ties)) / 2
    return max(0.0, x * (x - 1) * (x - 2) / 6)


def range_of(noisy: NoisyGraph, level: float) -> tuple[float, float]:
    """Limits (low, high) for the number of triangles; they cover it with probability ``level`` at least, whatever the graph."""
    return 0.0, min(most_triangles(most_ties(noisy, level)), float(comb(noisy.nodes, 3)))


def largest_variance(noisy: NoisyGraph) -> dict[str, float]:
    """The parts of the variance in ``variance_of``, each as large as so many ties can make it.

    Opposite ties make a 4-cycle in two ways at most, so m ties have at most C(m, 2) 4-cycles. The sum of c^2 over all pairs is four for
    each of these, and one for each of at most C(m, 2) pairs of ties at a person; over tied pairs, four for each 4-cycle at most and three
    for each triangle.
    """
    nodes, ties = noisy.nodes, most_ties(noisy, SURE)
    tied, apart = noisy.spreads
    more, others = max(tied - apart, 0.0), max(nodes - 2, 0)
    cycles = max(ties * (ties - 1) / 2, 0.0)
    paths, triangles = min(cycles, ties * others), range_of(noisy, SURE)[1]
    squares = min(4 * cycles + paths, comb(nodes, 2) * float(others) ** 2)
    of_tied = min(4 * cycles + 3 * triangles, ties * float(others) ** 2)
    edges = ties * others
    return {
        "common neighbors": apart * squares + more * of_tied,
        "pairs of bits": apart**2 * edges + 2 * apart * more * paths + 3 * more**2 * triangles,
        "triples of bits": apart**3 * comb(nodes, 3) + apart**2 * more * edges + apart * more**2 * paths + more**3 * triangles,
    }
