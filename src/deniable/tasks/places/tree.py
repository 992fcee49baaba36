"""Counts that add up: the best unbiased counts of a tree's leaves, from measurements of any of its nodes.

Every node may have been measured, with an error of its own, or not at all. A node's count is the sum of its children's, so each is known
twice. Least squares weighs both (Hay, Rastogi, Miklau, Suciu 2010, for unequal errors and trees of any shape), in two passes:

* up: what a node's own subtree says, m_v = (y_v / v + sum_c m_c / sum_c V_c) V_v with 1 / V_v = 1 / v + 1 / sum_c V_c;
* down: what is left between a node and the sum of its children is spread among them in proportion to their variances V_c.

Given a node's count, what happens below it is independent of the rest of the tree. So the variance of any weighted sum of leaves follows
in one more pass up, with the covariances of all leaves in it and none of them written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.errors import ParameterError
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False)
class MeasuredTree:
    """Nodes in an order in which parents come first; the first one is the root, its own parent.

    ``measured`` and ``variance`` have an entry for each node: an infinite variance means that it was not measured, and zero that its count
    is known. Measurements of different nodes are taken to be independent.

    >>> tree = MeasuredTree(np.array([0, 0, 0]), np.array([10.0, 7.0, 5.0]), np.array([0.0, 1.0, 3.0]))
    >>> tree.counts.tolist(), tree.variances.tolist()
    ([10.0, 6.5, 3.5], [0.0, 0.75, 0.75])
    >>> tree.total(np.array([1.0, 1.0])), tree.total(np.array([1.0, 0.0]))
    ((10.0, 0.0), (6.5, 0.75))
    """

    parents: Array
    measured: Array
    variance: Array

    def __post_init__(self) -> None:
        nodes = np.arange(self.parents.size)
        right = self.parents.size and self.parents[0] == 0 and np.all(self.parents[1:] < nodes[1:]) and np.all(self.parents >= 0)
        if not right or not self.measured.size == self.variance.size == nodes.size or not np.all(self.variance >= 0):
            raise ParameterError("parents", self.parents[:5], allowed="parents before their children", fix="put the root first")
        if np.isinf(self.variance[self.leaves]).any():
            raise ParameterError(
                "variance", "an infinite one of a leaf", allowed="leaves that were measured", fix="cut the tree above the leaf"
            )

    @cached_property
    def leaves(self) -> Array:
        """The positions of the leaves."""
        inner = np.zeros(self.parents.size, dtype=bool)
        inner[self.parents[1:]] = True
        return np.flatnonzero(~inner)

    @cached_property
    def _levels(self) -> list[Array]:
        """The nodes by their distance from the root, without the root itself."""
        depth = np.zeros(self.parents.size, dtype=np.int64)
        for _ in range(self.parents.size):  # as many turns as the tree is deep
            deeper = np.where(np.arange(depth.size) == 0, 0, depth[self.parents] + 1)
            if np.array_equal(deeper, depth):
                break
            depth = deeper
        order = np.argsort(depth, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[1:]

    def _sums(self, level: Array, numbers: Array) -> Array:
        """Sums over the children, for each node."""
        return np.bincount(self.parents[level], weights=numbers[level], minlength=self.parents.size)

    @cached_property
    def _upward(self) -> tuple[Array, Array, Array]:
        """What each subtree says about its node: mean, variance; and the sum of the children's variances."""
        mean, variance, below = self.measured.astype(float), self.variance.astype(float), np.zeros(self.parents.size)
        for level in reversed(self._levels):
            inner = np.unique(self.parents[level])
            told, spread = self._sums(level, mean)[inner], self._sums(level, variance)[inner]
            own, error = mean[inner], variance[inner]
            below[inner] = spread
            exact = error + spread == 0
            with np.errstate(invalid="ignore"):
                trust = np.where(np.isinf(error), 1.0, np.where(exact, 0.0, error / np.where(exact, 1.0, error + spread)))
            mean[inner] = np.where(trust == 1, told, own + trust * (told - own))
            variance[inner] = trust * spread
        return mean, variance, below

    @cached_property
    def counts(self) -> Array:
        """The count of each node; children add up to their parents."""
        mean, variance, below = self._upward
        counts = mean.copy()
        for level in self._levels:
            left = (counts - self._sums(level, mean))[self.parents[level]]
            counts[level] += left * _ratio(variance[level], below[self.parents[level]])
        return counts

    @cached_property
    def variances(self) -> Array:
        """The variance of each node's count."""
        _, variance, below = self._upward
        result = variance.copy()
        for level in self._levels:
            share = _ratio(variance[level], below[self.parents[level]])
            result[level] = variance[level] * (1 - share) + share**2 * result[self.parents[level]]
        return np.asarray(np.maximum(result, 0.0))

    def total(self, weights: Any) -> tuple[float, float]:
        """The weighted sum of all leaves, and its variance."""
        _, variance, below = self._upward
        slope, spread = np.zeros(self.parents.size), np.zeros(self.parents.size)
        slope[self.leaves] = weights
        for level in reversed(self._levels):
            inner = np.unique(self.parents[level])
            first = np.bincount(self.parents[level], weights=slope[level] * variance[level], minlength=slope.size)[inner]
            second = np.bincount(self.parents[level], weights=slope[level] ** 2 * variance[level], minlength=slope.size)[inner]
            children = np.bincount(self.parents[level], minlength=slope.size)[inner]
            plain = self._sums(level, slope)[inner] / children  # where nothing below is uncertain, any weights will do
            slope_of_parent = np.where(below[inner] > 0, _ratio(first, below[inner]), plain)
            spread[inner] += self._sums(level, spread)[inner] + second - _ratio(first**2, below[inner])
            slope[inner] = slope_of_parent
        value = float(self.counts[self.leaves] @ np.asarray(weights, dtype=float))
        return value, float(max(spread[0] + slope[0] ** 2 * variance[0], 0.0))


def _ratio(numbers: Array, by: Array) -> Array:
    return np.asarray(np.divide(numbers, by, out=np.zeros_like(numbers, dtype=float), where=by > 0))
