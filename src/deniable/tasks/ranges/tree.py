"""The law of trees: levels counted by different people, made consistent, and the exact error of every sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan
from typing import Any

import numpy as np

from deniable.core.frequency import FrequencyEstimate
from deniable.core.postprocess import norm_sub
from deniable.kernels.compiled import Array
from deniable.tasks.ranges.consistency import LevelTree
from deniable.tasks.ranges.levels import level_variance
from deniable.tasks.ranges.line import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeLine(Line):
    """Shares of the finest cells, from the counts of all levels.

    The counts of every level are unbiased, and so is any fixed linear function of them. Consistency is one: its weights are each level's
    noise at an average cell and how many people reported on it, not what was found. The total is known, which halves the error even without
    a tree.

    The error of a sum is exact, with the estimated shares in the place of the true ones. If g_l(x) is what a person with the value x adds
    through level l, then the levels' noise adds up, and so do the variances of g_l(x) among people, divided by the people of the level.
    """

    parents: tuple[Array, ...]
    """For each level, the position of each cell's parent in the level before."""
    costs: tuple[float, ...]
    """What one person adds to the error of an average cell of each level."""
    noises: tuple[Array, ...]
    """The variance of each level's counts, if the likely shares are the true ones."""
    pairs: tuple[tuple[float, float], ...]
    """How two counts of each level vary together for one person in neither of the cells, and in one of them."""

    @classmethod
    def of(cls, size: int, cells: Sequence[Any], levels: Sequence[FrequencyEstimate], *, grown: bool = False) -> TreeLine:
        """The consistent shares of ever finer cells, each level counted by its own people."""
        tree = LevelTree.of_cells([[0], *cells])
        groups, costs = tuple(level.n for level in levels), tuple(level_variance(level.spec) for level in levels)
        counted = [np.array([1.0]), *(level.counts / max(level.n, 1) for level in levels)]
        shares = tree.consistent(counted, _spread(tree, groups, costs)) if any(groups) else np.full(tree.sizes[-1], nan)
        noises: tuple[Array, ...] = ()
        if all(groups):  # otherwise no error is known
            likely = tree.sums(norm_sub(shares, 1.0))[1:]
            noises = tuple(np.maximum(level.law.variance(level.n * share), 0.0) for level, share in zip(levels, likely, strict=True))
        return cls(
            size=size,
            starts=np.asarray(cells[-1]),
            shares=shares,
            groups=groups,
            grown=grown,
            parents=tree.parents,
            costs=costs,
            noises=noises,
            pairs=tuple(tuple(map(float, level.spec.pair_covariances)) for level in levels),  # type: ignore[misc]  # two of them
        )

    @cached_property
    def tree(self) -> LevelTree:
        """The cells of all levels, under a root with everybody in it."""
        return LevelTree(1, self.parents)

    def variances(self, queries: Array) -> Array:
        found = np.zeros(queries.shape[1])
        _, (_, *added) = self.tree.covariance(queries, _spread(self.tree, self.groups, self.costs))
        likely = self.tree.sums(norm_sub(self.shares, 1.0))[1:]
        for n, noise, (neither, one), share, weight in zip(self.groups, self.noises, self.pairs, likely, added, strict=True):
            squares, held, total = weight.T**2, weight.T @ share, weight.sum(axis=0)
            pairs = neither * (total**2 - squares.sum(axis=1)) + 2 * (one - neither) * (total * held - squares @ share)
            found += squares @ noise / n**2 + (pairs + squares @ share - held**2) / n
        return found


def _spread(tree: LevelTree, groups: Sequence[int], costs: Sequence[float]) -> list[Array]:
    """The variances that decide the weights: none for the known total; infinite for levels on which nobody reported."""
    each = [cost / n if n else inf for n, cost in zip(groups, costs, strict=True)]
    return [np.zeros(1), *(np.full(size, spread) for size, spread in zip(tree.sizes[1:], each, strict=True))]
