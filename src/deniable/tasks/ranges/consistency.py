"""The best estimate of a tree whose every node was counted with an independent error: parents become the sums of their children.

Constrained inference in two passes. Upward, each node's own count and the sum of its children's are averaged, the more exact one weighing
more. Downward, what a parent has more than its children is given to them in proportion to their variances. That is generalized least
squares, exactly, for any tree and any variances, in time proportional to the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from deniable.errors import ParameterError
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False)
class LevelTree:
    """A tree by levels, the roots first: for each further level, where each node's parent stands in the level before.

    Siblings stand together, in the order of their parents, and every node but those of the last level has a child: a leaf further up is
    continued by only children, which are the same thing counted again.

    >>> LevelTree(2, ([0, 0, 1], [0, 0, 1, 2])).sizes
    (2, 3, 4)
    """

    roots: int
    parents: tuple[Any, ...]

    def __post_init__(self) -> None:
        made = tuple(np.asarray(level, dtype=np.int64) for level in self.parents)
        object.__setattr__(self, "parents", made)
        above = self.roots
        for level in made:
            if level.ndim != 1 or not np.array_equal(np.unique(level), np.arange(above)) or np.any(np.diff(level) < 0):
                allowed = f"increasing positions that name each of the {above} nodes above"
                raise ParameterError("parents", level[:5].tolist(), allowed=allowed, fix="continue a leaf by a single child")
            above = level.size

    @classmethod
    def of_cells(cls, levels: Sequence[Any]) -> LevelTree:
        """The tree of ever finer partitions of a line, each given by where its cells start; every start appears again further down.

        >>> LevelTree.of_cells([[0], [0, 2], [0, 1, 2]]).parents[1].tolist()
        [0, 0, 1]
        """
        starts = [np.asarray(level, dtype=np.int64) for level in levels]
        return cls(starts[0].size, tuple(np.searchsorted(a, b, side="right") - 1 for a, b in pairwise(starts)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes there are, level by level."""
        return (self.roots, *(level.size for level in self.parents))

    @cached_property
    def _firsts(self) -> tuple[Array, ...]:
        """Where each node's children begin in the next level."""
        return tuple(np.searchsorted(level, np.arange(above)) for level, above in zip(self.parents, self.sizes, strict=False))

    def sums(self, leaves: Array) -> list[Array]:
        """What the leaves add up to at each node, level by level. Further axes are further trees of the same shape."""
        found = [np.asarray(leaves, dtype=np.float64)]
        for firsts in reversed(self._firsts):
            found.append(np.add.reduceat(found[-1], firsts, axis=0))
        return found[::-1]

    def consistent(self, counts: Sequence[Array], variances: Sequence[Array]) -> Array:
        """The leaves of the closest consistent tree, given every node's count and variance, level by level.

        A variance of 0 is a count that is known, and one of infinity a node that was not counted: leaves of which nothing else is known
        share what is left evenly. Counts may have further axes, for many trees with the same variances.

        >>> tree = LevelTree(1, ([0, 0],))
        >>> tree.consistent([np.array([10.0]), np.array([7.0, 6.0])], [np.array([0.0]), np.array([1.0, 2.0])])
        array([6., 4.])
        """
        known = [np.asarray(level, dtype=np.float64) for level in variances]
        best = [np.where(_beside(np.isinf(v), y), 0.0, y) for v, y in zip(known, counts, strict=True)]
        for level in range(len(self.parents) - 1, -1, -1):  # up: own count and children's sum, by their precision
            below = np.add.reduceat(best[level + 1], self._firsts[level], axis=0)
            spread = np.add.reduceat(known[level + 1], self._firsts[level])
            share = _share_of_own(known[level], spread)
            best[level] = _beside(share, below) * best[level] + _beside(1 - share, below) * below
            known[level] = np.where(np.isinf(known[level]), spread, share * np.where(np.isinf(known[level]), 0.0, known[level]))
        for level, parent in enumerate(self.parents):  # down: what is missing, by the variances
            below = np.add.reduceat(best[level + 1], self._firsts[level], axis=0)
            weights = _weights(known[level + 1], self._firsts[level], parent)
            best[level + 1] = best[level + 1] + _beside(weights, below) * (best[level] - below)[parent]
        return best[-1]

    def covariance(self, queries: Array, variances: Sequence[Array]) -> tuple[Array, list[Array]]:
        """Sums of consistent leaves, a query for each column: their covariances, and what each node's count adds to each.

        With precisions W and the sums X of the leaves at all nodes, the leaves are (X' W X)^-1 X' W y. So u = (X' W X)^-1 q is itself a
        consistent tree, of leaves "counted" as q times their variance. The covariance is Q' u, and the coefficients are W X u.
        """
        last = np.asarray(variances[-1], dtype=np.float64)
        given = [np.zeros((size, queries.shape[1])) for size in self.sizes[:-1]]
        solved = self.consistent([*given, queries * last[:, None]], variances)
        weights = [np.where(v > 0, 1 / np.where(v > 0, v, 1.0), 0.0) for v in variances]  # what is known adds no error
        return queries.T @ solved, [w[:, None] * node for w, node in zip(weights, self.sums(solved), strict=True)]


def _share_of_own(own: Array, children: Array) -> Array:
    """Return the weight of a node's own count against its children's sum: the children's part of both variances."""
    certain = (own == 0) | np.isinf(children)
    with np.errstate(invalid="ignore"):
        share = np.where(certain, 1.0, children / (own + children))
    return np.where(np.isinf(own), 0.0, share)


def _weights(variances: Array, firsts: Array, parent: Array) -> Array:
    """How much of what is missing each child gets; where some are infinite, those alone and evenly, and where all are known, evenly."""
    endless = np.isinf(variances)
    finite = np.where(np.add.reduceat(endless, firsts, dtype=np.int64)[parent] > 0, endless.astype(float), variances)
    total = np.add.reduceat(finite, firsts)[parent]
    size = np.add.reduceat(np.ones(variances.size), firsts)[parent]
    return np.where(total > 0, finite / np.where(total > 0, total, 1.0), 1 / size)


def _beside(column: Array, like: Array) -> Array:
    """One number for each node, shaped to go with what may have further axes."""
    return column.reshape(column.shape + (1,) * (like.ndim - 1))
