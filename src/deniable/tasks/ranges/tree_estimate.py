"""The estimate behind trees: levels counted by different people, made consistent, and the exact error of every sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

import numpy as np

from deniable.contract.domain import Domain
from deniable.core.frequency import FrequencyEstimate
from deniable.core.postprocess import norm_sub
from deniable.kernels.compiled import Array
from deniable.tasks.ranges.consistency import Tree
from deniable.tasks.ranges.estimate import RangeEstimate
from deniable.tasks.ranges.levels import level_variance

GROWN = 1.06
"""How much longer intervals are in a tree that has grown: enough at 95 % and above, for 2 to 45 branches and as many levels as fit."""


@dataclass(frozen=True, eq=False, repr=False)
class TreeEstimate(RangeEstimate):
    """Shares of the finest cells, from the counts of all levels.

    The counts of every level are unbiased, and so is any fixed linear function of them. Consistency is one: its weights are each level's
    noise at an average cell and how many people told it, not what was found. The total is known, which halves the error even without a
    tree.

    The error of a sum is exact, with the estimated shares in the place of the true ones. If g_l(x) is what a person with the value x adds
    through level l, then the levels' noise adds up, and so do the variances of g_l(x) among people, divided by the people of the level.
    """

    tree: Tree = field(kw_only=True)
    levels: Sequence[FrequencyEstimate] = field(kw_only=True)
    grown: bool = field(default=False, kw_only=True)
    """Whether earlier levels decided what the later ones are."""

    @classmethod
    def of(
        cls, domain: Domain, how: str, cells: Sequence[Any], levels: Sequence[FrequencyEstimate], *, grown: bool = False
    ) -> TreeEstimate:
        """The consistent estimate of ever finer cells, each level counted by its own people."""
        tree = Tree.of_cells([[0], *cells])
        groups = tuple(level.n for level in levels)
        counted = [np.array([1.0]), *(level.counts / max(level.n, 1) for level in levels)]
        shares = tree.consistent(counted, _spread(levels)) if any(groups) else np.full(tree.sizes[-1], nan)
        return cls(domain, levels[0].spec.epsilon, how, np.asarray(cells[-1]), shares, groups, tree=tree, levels=levels, grown=grown)

    def reach(self, level: float) -> float:
        """How many standard errors an interval goes to each side; more in a tree that has ``grown``.

        There a cell's own count y decides, with a threshold t, whether it is cut, and with that its weight w beside what later levels say,
        y': the estimate is w y + (1 - w) y'. With four branches w is 0.8 for a cell that was cut, and 1/2 down to 1/m for one that was
        counted again by m - 1 more levels. Given t, both cases have the error that is stated, but large y meet the large weight: for the
        worst t, an interval at 95 % misses with 5.7 % for two levels, and 6.2 % for four. Longer by ``GROWN``, it misses with 5 % at most.
        """
        return super().reach(level) * (GROWN if self.grown else 1.0)

    def variances(self, queries: Array) -> Array:
        found = np.zeros(queries.shape[1])
        _, (_, *added) = self.tree.covariance(queries, _spread(self.levels))
        likely = self.tree.sums(norm_sub(self.shares, 1.0))[1:]
        for level, share, weight in zip(self.levels, likely, added, strict=True):
            n, (neither, one) = level.n, level.spec.pair_covariances  # type: ignore[attr-defined]  # an oracle
            squares, held, total = weight.T**2, weight.T @ share, weight.sum(axis=0)
            noise = squares @ np.maximum(level.variance(n * share), 0.0) / n**2
            pairs = neither * (total**2 - squares.sum(axis=1)) + 2 * (one - neither) * (total * held - squares @ share)
            found += noise + (pairs + squares @ share - held**2) / n
        return found


def _spread(levels: Sequence[FrequencyEstimate]) -> list[Array]:
    """The variances that decide the weights: none for the known total; infinite for levels that nobody told."""
    each = [level_variance(level.spec) / level.n if level.n else inf for level in levels]
    return [np.zeros(1), *(np.full(len(level.values), spread) for level, spread in zip(levels, each, strict=True))]
