"""Counts that add up: against dense least squares, and against the published formulas and errors for full trees."""

from __future__ import annotations

from math import e

import numpy as np
import pytest

from deniable.errors import ParameterError
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.joint import GroupErrors, Joint
from deniable.tasks.places.tree import MeasuredTree


def full(branching, height, measured, variance, root):
    """A tree of which every inner node has as many children; the root's variance is given."""
    parents, level = [0], [0]
    for _ in range(height):
        level = [len(parents) + place for place in range(branching * len(level))]
        parents += [parent for parent in range(level[0] - len(level) // branching, level[0]) for _ in range(branching)]
    nodes = len(parents)
    return MeasuredTree(np.array(parents), measured[:nodes], np.concatenate([[root], np.full(nodes - 1, variance)]))


def check_groups(tree, sums, draw):
    """Errors that go together within two groups of nodes: against the covariance written out, through the same weights."""
    weight = np.where(np.isinf(tree.variance), 0.0, 1 / tree.variance)
    solve = sums @ np.linalg.inv(sums.T @ (weight[:, None] * sums)) @ sums.T * weight  # from measurements to counts
    groups = [GroupErrors(start, draw.dirichlet(np.ones(8)), *draw.uniform(0, 0.02, 2), drawn=0.03) for start in (5, 20)]
    covariance = np.diag(np.where(np.isinf(tree.variance), 0.0, tree.variance))
    for group in groups:
        ones, part = np.ones(8), slice(group.start, group.start + 8)
        shared = np.outer(group.shares, ones) + np.outer(ones, group.shares)
        covariance[part, part] += group.apart + (group.own - group.apart) * shared - group.drawn * np.outer(group.shares, group.shares)
    joint = Joint(tree, tuple(groups))
    assert joint.variances == pytest.approx(np.diag(solve @ covariance @ solve.T))
    weights = draw.uniform(-1, 2, tree.leaves.size)
    leaves = weights @ solve[tree.leaves]
    assert joint.total(weights)[1] == pytest.approx(leaves @ covariance @ leaves)


def test_cells_without_a_tree_have_the_covariance_written_out():
    """Shifting all counts alike is a projection P: the covariance is P diag(D) P."""
    flat = Flat(np.array([5.0, 1.0, 3.0]), np.array([2.0, 1.0, 4.0]), 12)
    shift = np.eye(3) - 1 / 3
    covariance = shift @ np.diag(flat.diagonal) @ shift
    assert flat.counts.tolist() == [6, 2, 4]
    assert flat.variances == pytest.approx(np.diag(covariance))
    weights = np.array([1.0, 0.5, 0.0])
    assert flat.total(weights) == pytest.approx((7.0, weights @ covariance @ weights))


@pytest.mark.parametrize("seed", range(4))
def test_any_tree_is_solved_like_dense_least_squares(seed):
    """Leaves at all depths, errors of all sizes, inner nodes that were not measured; the root known or not."""
    draw = np.random.default_rng(seed)
    parents = np.array([0, *(draw.integers(max(0, node // 2 - 3), node) for node in range(1, 40))])
    variance = draw.uniform(0.1, 9, 40)
    tree = MeasuredTree(parents, draw.normal(0, 5, 40), variance)
    hidden = np.setdiff1d(np.arange(40), tree.leaves)[1::2]
    variance[hidden] = np.inf
    tree = MeasuredTree(parents, tree.measured, variance)
    sums = np.zeros((40, tree.leaves.size))
    for column, leaf in enumerate(tree.leaves):
        node = leaf
        while True:
            sums[node, column] = 1
            if node == 0:
                break
            node = parents[node]
    check_groups(tree, sums, draw)
    weight = np.where(np.isinf(variance), 0.0, 1 / variance)
    covariance = np.linalg.inv(sums.T @ (weight[:, None] * sums))
    wanted = covariance @ sums.T @ (weight * tree.measured)
    assert tree.counts == pytest.approx(sums @ wanted)
    assert tree.variances == pytest.approx(np.einsum("ij,jk,ik->i", sums, covariance, sums))
    for weights in draw.uniform(-1, 2, (5, tree.leaves.size)):
        value, spread = tree.total(weights)
        assert value == pytest.approx(weights @ wanted)
        assert spread == pytest.approx(weights @ covariance @ weights)


def test_a_full_tree_of_four_follows_the_published_passes():
    """z = (B^h - B^(h-1)) / (B^h - 1) y + (B^(h-1) - 1) / (B^h - 1) sum of the children's z, and then down (Hay et al.)."""
    y = np.random.default_rng(7).normal(10, 3, 21)
    tree = full(4, 2, y, 2.0, 2.0)
    z = y.copy()
    for node in range(1, 5):
        z[node] = 12 / 15 * y[node] + 3 / 15 * y[4 * node + 1 : 4 * node + 5].sum()
    z[0] = 48 / 63 * y[0] + 15 / 63 * z[1:5].sum()
    final = z.copy()
    for node in range(5):
        children = slice(4 * node + 1, 4 * node + 5)
        final[children] = z[children] + (final[node] - z[children].sum()) / 4
    assert tree.counts == pytest.approx(final)


def test_the_error_of_all_ranges_is_the_reference():
    """64 values, B = 4, epsilon = 1, a third of the people at each level: 24.25 on average and 38.72 at worst, times 1 / n."""
    tree = full(4, 3, np.zeros(85), 3 * 4 * e / (e - 1) ** 2, 0.0)
    places = np.arange(64)
    errors = [tree.total((places >= low) & (places < high))[1] for low in range(64) for high in range(low + 1, 65)]
    assert np.mean(errors) == pytest.approx(24.25, abs=0.005)
    assert np.max(errors) == pytest.approx(38.72, abs=0.005)


def test_known_counts_stay_and_nothing_divides_by_nothing():
    parents = np.zeros(3, dtype=np.int64)
    tree = MeasuredTree(parents, np.array([7.0, 3.0, 4.0]), np.zeros(3))
    assert tree.counts.tolist() == [7, 3, 4]
    assert tree.total(np.array([1.0, 0.0])) == (3.0, 0.0)
    free = MeasuredTree(parents, np.array([0.0, 3.0, 4.0]), np.array([np.inf, 1.0, 1.0]))
    assert free.total(np.array([1.0, 1.0])) == (7.0, 2.0)
    chain = MeasuredTree(np.array([0, 0, 1]), np.array([10.0, 9.0, 12.0]), np.array([np.inf, 1.0, 1.0]))  # one place measured twice
    assert chain.counts.tolist() == [10.5] * 3
    assert chain.variances.tolist() == [0.5] * 3


@pytest.mark.parametrize("parents", [[1, 0], [0, 2, 1], []], ids=str)
def test_what_is_no_tree_is_refused(parents):
    with pytest.raises(ParameterError):
        MeasuredTree(np.array(parents, dtype=np.int64), np.zeros(len(parents)), np.ones(len(parents)))


def test_a_leaf_that_nobody_measured_is_refused():
    with pytest.raises(ParameterError, match="leaf"):
        MeasuredTree(np.array([0, 0]), np.zeros(2), np.array([0.0, np.inf]))
