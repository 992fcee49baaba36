"""Constrained inference against dense least squares, the literature's formula, and trees that are none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable.errors import ParameterError
from deniable.tasks.enclosed import GROWN
from deniable.tasks.ranges.consistency import LevelTree

IRREGULAR = LevelTree.of_cells([[0], [0, 4], [0, 2, 4], [0, 1, 2, 4, 5, 6]])
"""A node with one child, one with three, a leaf that is counted again and again."""


def dense(tree):
    """The matrix whose rows are the nodes, level by level, as sums of leaves; found from the leaves, one by one."""
    return np.concatenate(tree.sums(np.eye(tree.sizes[-1])))


def numbers(count, seed):
    """Irregular numbers, always the same."""
    return np.modf(np.sin(np.arange(1, count + 1) * 12.9898 + seed) * 43758.5453)[0]


@pytest.mark.parametrize("root", [0.0, 0.7, np.inf], ids=["total known", "root counted", "root unknown"])
def test_two_passes_are_least_squares(root):
    matrix = dense(IRREGULAR)
    variances = [np.abs(numbers(size, level)) + 0.1 for level, size in enumerate(IRREGULAR.sizes)]
    variances[0][:] = root
    variances[2][1] = np.inf  # one node that was not counted
    counts = [10 * numbers(size, 50 + level) for level, size in enumerate(IRREGULAR.sizes)]
    flat, spread = np.concatenate(counts), np.concatenate(variances)
    weights = np.where(np.isinf(spread), 0.0, 1 / np.where(spread == 0, 1e-9, spread))  # known: all but no variance
    normal = matrix.T @ (weights[:, None] * matrix)
    wanted = np.linalg.solve(normal, matrix.T @ (weights * flat))
    found = IRREGULAR.consistent(counts, variances)
    assert found == pytest.approx(wanted, abs=1e-6 if root == 0 else 1e-9)
    if root == 0:
        assert found.sum() == pytest.approx(counts[0][0], abs=1e-12)
    queries = np.stack([np.ones(6), [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0.5, 0, 1, 0, 0, 0]], axis=1)
    together, added = IRREGULAR.covariance(queries, variances)
    assert together == pytest.approx(queries.T @ np.linalg.inv(normal) @ queries, abs=1e-6 if root == 0 else 1e-9)
    # What each count adds to a sum, times the counts, is the sum; the known total adds the rest.
    weighted = sum(weight.T @ count for weight, count in zip(added, counts, strict=True))
    offset = queries.T @ found - weighted
    assert (offset == pytest.approx(0, abs=1e-9)) == (root != 0)


def test_the_literature_writes_it_like_this():
    """Hay et al. 2010, equal variances: z = (B^h - B^(h-1)) / (B^h - 1) y + (B^(h-1) - 1) / (B^h - 1) sum of children's z; then down."""
    branching, levels = 3, 4
    tree = LevelTree.of_cells([range(0, 27, 3 ** (3 - level)) for level in range(levels)])
    counts = [numbers(3**level, level) for level in range(levels)]
    z = [*counts[:-1], counts[-1]]
    for level in range(levels - 2, -1, -1):
        h = levels - level
        whole = branching**h - 1
        below = z[level + 1].reshape(-1, branching).sum(axis=1)
        z[level] = (branching**h - branching ** (h - 1)) / whole * counts[level] + (branching ** (h - 1) - 1) / whole * below
    found = z[0]
    for level in range(1, levels):
        missing = found - z[level].reshape(-1, branching).sum(axis=1)
        found = z[level] + np.repeat(missing / branching, branching)
    assert tree.consistent(counts, [np.ones(size) for size in tree.sizes]) == pytest.approx(found, abs=1e-12)


def test_many_trees_at_once_and_levels_that_nobody_counted():
    variances = [np.zeros(1), np.ones(2), np.ones(3), np.full(6, np.inf)]
    counts = [np.ones((1, 2)), *(np.stack([numbers(size, 1), numbers(size, 2)], axis=1) for size in IRREGULAR.sizes[1:])]
    found = IRREGULAR.consistent(counts, variances)
    for column in range(2):
        alone = IRREGULAR.consistent([level[:, column] for level in counts], variances)
        assert found[:, column] == pytest.approx(alone, abs=1e-12)
        assert alone[:2] == pytest.approx(alone[:2].mean())  # leaves of which nothing is known share evenly
        assert alone[3:] == pytest.approx(alone[3:].mean())
        assert alone.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("parents", [([0, 2],), ([1, 0, 1],), ([0, 0],), ([[0, 1]],), ([0, 1], [0])], ids=str)
def test_what_is_no_tree_is_refused(parents):
    with pytest.raises(ParameterError, match="parents"):
        LevelTree(2, parents)


@pytest.mark.parametrize(("branching", "levels"), [(2, 11), (4, 2), (4, 6), (8, 4), (16, 3), (45, 2)])
def test_a_grown_tree_misses_no_more_than_it_says_whatever_the_threshold(branching, levels):
    """A cell's own error z > t gets the weight of a cell that is cut, and of one that stays whole if not: all errors integrated, for 60
    thresholds. Without the extra length, the worst one misses in more than 5.5 % in place of 5."""
    z = np.linspace(-8, 8, 4001)
    density, later = stats.norm.pdf(z) * (z[1] - z[0]), 1.0
    for _ in range(levels - 1):  # what the levels below say about a cell that is cut: the sum of its children
        below = branching * later
        later = below / (1 + below)
    cases = {True: below, False: 1 / (levels - 1)}  # the variance of what later levels say, with that of the own count as 1
    missed = {}
    for length in (1.0, GROWN):
        chances = {}
        for cut, variance in cases.items():
            own = variance / (1 + variance)
            reach, rest = stats.norm.isf(0.025) * length * own**0.5, (1 - own) * variance**0.5
            chances[cut] = stats.norm.sf((reach - own * z) / rest) + stats.norm.cdf((-reach - own * z) / rest)
        missed[length] = max((density * np.where(z > t, chances[True], chances[False])).sum() for t in np.linspace(-1, 4, 60))
    assert missed[GROWN] <= 0.05 < 0.055 < missed[1.0]
