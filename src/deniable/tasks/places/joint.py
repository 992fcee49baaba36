"""A tree whose nodes were measured in groups of people: counts by least squares, with how errors of one group really go together.

``MeasuredTree`` weighs measurements as if they were independent. Those of one group are not: people who are counted in one cell are not in
another, and a report of GRR that names one cell names no other one. The covariance of a group's counts is a diagonal, and::

    apart 1 1' + (own - apart) (f 1' + 1 f') - drawn f f'

with f the shares of the cells, ``apart`` and ``own`` from the oracle's covariances of two cells, and ``drawn`` since the group is a sample.
Any sum of leaves is a sum over all measurements with some weights g. So its variance is the tree's, and for each group, with q = sum g and
m = sum g f, apart q^2 + 2 (own - apart) q m - drawn m^2. Both q and m are what the tree makes of ones and of f in the place of the group's
counts: two passes for all leaves at once, and no weights written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.kernels.compiled import Array
from deniable.tasks.places.tree import MeasuredTree


@dataclass(frozen=True, eq=False)
class GroupErrors:
    """What errors of the nodes from ``start`` on have in common: one group's shares f of them, and the three factors above."""

    start: int
    shares: Array
    apart: float
    own: float
    drawn: float


@dataclass(frozen=True, eq=False)
class Joint:
    """A tree with what its groups' errors have in common; it answers what the tree does.

    Four people in one of two cells, by a coin that is right three times in four: the counts have the same error, one the other's opposite.

    >>> tree = MeasuredTree(np.zeros(3, dtype=int), np.array([4.0, 4.0, 0.0]), np.array([0.0, 9.0, 3.0]))
    >>> coin = GroupErrors(1, np.array([1.0, 0.0]), apart=0.0, own=-3.0, drawn=0.0)
    >>> tree.variances[1:].tolist(), Joint(tree, (coin,)).variances[1:].tolist()
    ([2.25, 2.25], [3.0, 3.0])
    """

    tree: MeasuredTree
    common: tuple[GroupErrors, ...]

    @property
    def leaves(self) -> Array:
        """The positions of the leaves."""
        return self.tree.leaves

    @property
    def counts(self) -> Array:
        """The count of each node."""
        return self.tree.counts

    @cached_property
    def _moved(self) -> list[tuple[GroupErrors, Array, Array]]:
        """For each group, what its ones and its shares move each node by: q and m of that node."""
        return [(group, self._by(group, np.ones(group.shares.size)), self._by(group, group.shares)) for group in self.common]

    def _by(self, group: GroupErrors, numbers: Array) -> Array:
        measured = np.zeros(self.tree.measured.size)
        measured[group.start : group.start + numbers.size] = numbers
        return MeasuredTree(self.tree.parents, measured, self.tree.variance).counts

    def _corrected(self, variance: Array, moved: list[tuple[GroupErrors, Array, Array]]) -> Array:
        for group, q, m in moved:
            variance = variance + group.apart * q**2 + 2 * (group.own - group.apart) * q * m - group.drawn * m**2
        return np.asarray(np.maximum(variance, 0.0))

    @cached_property
    def variances(self) -> Array:
        """The variance of each node's count."""
        return self._corrected(self.tree.variances, self._moved)

    def total(self, weights: Any) -> tuple[float, float]:
        """The weighted sum of all leaves, and its variance."""
        value, variance = self.tree.total(weights)
        weights = np.asarray(weights, dtype=float)
        moved = [(group, weights @ q[self.leaves], weights @ m[self.leaves]) for group, q, m in self._moved]
        return value, float(self._corrected(np.asarray(variance), moved))
