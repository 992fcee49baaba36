"""Grouping people who answered alike, and drawing graphs with given numbers of edges between groups."""

from __future__ import annotations

import numpy as np

from deniable.contract.source import Source
from deniable.core.stream import random_numbers, random_words
from deniable.kernels.compiled import Array

Weighed = tuple[Array, Array]
"""Nodes, and a weight for each."""
STEPS = 50
TRIES = 20
SMALL = 1 << 18
"""Blocks of so many pairs are drawn at once."""
NEVER = 1e-9
"""The weight of a pair that nobody reported: it comes last."""


def group_alike(points: Array, groups: int, source: Source | None = None) -> Array:
    """Return the group of each point, by k-means: centers start far apart from each other, then follow their points.

    >>> from deniable.testing import ReplaySource
    >>> groups = group_alike(np.array([[0, 9], [1, 8], [9, 0], [8, 1], [0, 8]]), 2, ReplaySource.from_key("docs"))
    >>> bool(groups[0] == groups[1] == groups[4] != groups[2] == groups[3])
    True
    """
    data = points.astype(float)
    centers = data[[int(random_words(1, source)[0] % np.uint64(len(data)))]]
    while len(centers) < min(groups, len(data)):
        far = _distances(data, centers).min(axis=1)
        weights = np.cumsum(far) if far.sum() > 0 else np.arange(1.0, len(data) + 1)
        centers = np.vstack([centers, data[_pick(weights, 1, source)]])
    found = _distances(data, centers).argmin(axis=1)
    for _ in range(STEPS):
        sizes = np.bincount(found, minlength=len(centers))
        sums = np.zeros_like(centers)
        np.add.at(sums, found, data)
        centers = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centers)
        moved = _distances(data, centers).argmin(axis=1)
        if np.array_equal(moved, found):
            break
        found = moved
    return np.asarray(found)


def draw_blocks(ties: Array, weights: Array, groups: Array, source: Source | None = None) -> Array:
    """Pairs of nodes: ``ties[g, h]`` edges, rounded, between groups g and h, the ends in proportion to ``weights[node, other group]``.

    Small blocks are drawn at once, pairs without replacement. In large ones loops and repeated edges are drawn again, some twenty times:
    where such a block hangs on few people, fewer edges come out than were asked for.
    """
    nodes = len(groups)
    members = [np.flatnonzero(groups == group) for group in range(len(ties))]
    chosen = [np.zeros(0, dtype=np.int64)]
    for g, first in enumerate(members):
        for h in range(g, len(members)):
            second = members[h]
            room = first.size * (first.size - 1) // 2 if g == h else first.size * second.size
            wanted = min(int(np.rint(max(ties[g, h], 0.0))), room)
            if wanted:
                draw = _some_of_all if room <= SMALL else _until_enough
                chosen.append(draw(nodes, (first, weights[first, h]), (second, weights[second, g]), wanted, source))
    keys = np.concatenate(chosen)
    return np.stack([keys // nodes, keys % nodes], axis=1)


def _some_of_all(nodes: int, heads: Weighed, tails: Weighed, wanted: int, source: Source | None) -> Array:
    """Every pair waits for a time with a rate proportional to its weight; the first ones are taken (Efraimidis, Spirakis 2006)."""
    a, b = (grid.ravel() for grid in np.meshgrid(heads[0], tails[0], indexing="ij"))
    rates = np.maximum(np.outer(heads[1], tails[1]).ravel().astype(float), NEVER)
    kept = a != b if heads[0] is not tails[0] else a < b
    times = -np.log1p(-random_numbers(int(kept.sum()), source)) / rates[kept]
    return _keys(a[kept], b[kept], nodes)[np.argsort(times, kind="stable")[:wanted]]


def _until_enough(nodes: int, heads: Weighed, tails: Weighed, wanted: int, source: Source | None) -> Array:
    """Draw both ends independently, again and again for what is a loop or was there."""
    keys = np.zeros(0, dtype=np.int64)
    from_heads, from_tails = _rising(heads[1]), _rising(tails[1])
    for _ in range(TRIES):
        lacking = wanted - keys.size
        a, b = heads[0][_pick(from_heads, lacking, source)], tails[0][_pick(from_tails, lacking, source)]
        keys = np.unique(np.concatenate([keys, _keys(a, b, nodes)[a != b]]))
        if keys.size == wanted:
            break
    return keys


def _keys(a: Array, b: Array, nodes: int) -> Array:
    return np.asarray(np.minimum(a, b) * nodes + np.maximum(a, b))


def _rising(weights: Array) -> Array:
    """Cumulative weights; if there are none, everyone weighs the same."""
    return np.cumsum(weights.astype(float)) if weights.any() else np.arange(1.0, weights.size + 1)


def _pick(cumulative: Array, count: int, source: Source | None) -> Array:
    """Positions drawn in proportion to weights. This is after the noise, so that rounding costs no privacy."""
    return np.asarray(
        np.minimum(np.searchsorted(cumulative, random_numbers(count, source) * cumulative[-1], side="right"), cumulative.size - 1)
    )


def _distances(data: Array, centers: Array) -> Array:
    """Squared distances of all points to all centers, column by column: memory stays at points x centers."""
    total = np.zeros((len(data), len(centers)))
    for column in range(data.shape[1]):
        total += (data[:, column, None] - centers[None, :, column]) ** 2
    return total
