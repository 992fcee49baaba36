"""Marginals in components: what several views say about the same columns is averaged where it is about the same thing, and agrees.

The share of a cell in a table of columns A is a sum over all sets S of these columns::

    f_A(x) = sum over S in A of  g_S(x_S) / (cells of A without S)

where g_S is what the columns of S say together that no fewer of them do: it depends on the cell in S alone, and adds up to zero along each
column (an analysis of variance; for columns with two values, a Hadamard coefficient). g of no columns is the number 1: shares add up to
one, and nobody need be asked. Every view that has S estimates g_S without bias, and so does any average. Marginals that are put together
from averaged components agree on whatever columns they share, exactly: no further step makes them consistent.

The best weights are in proportion to the views' **strengths**, n_V / (a_V d_V) for n_V people, d_V cells, and a_V the variance of one
person's score for a cell: noise of d_V / d_S cells adds up in each cell of S.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import prod

import numpy as np

from deniable.kernels.compiled import Array
from deniable.tasks.marginals.columns import Names

Component = frozenset[str]


def components(names: Iterable[str]) -> Iterator[Component]:
    """All sets of some columns, except of none."""
    listed = tuple(names)
    return (frozenset(some) for size in range(1, len(listed) + 1) for some in combinations(listed, size))


def rank(component: Component, sizes: Mapping[str, int]) -> int:
    """How many numbers a component has that can be chosen freely."""
    return prod(sizes[name] - 1 for name in component)


def spreading(asked: Names, sizes: Mapping[str, int], view: Names, weights: Mapping[Component, float]) -> Array:
    """What the shares of a view add to those of the columns asked for: a row for each cell asked for, a column for each of the view.

    ``weights`` are those of the view for each component.

    >>> spreading(("a",), {"a": 2, "b": 2}, ("a", "b"), {frozenset("a"): 1.0})
    array([[ 0.5,  0.5, -0.5, -0.5],
           [-0.5, -0.5,  0.5,  0.5]])
    """
    common = [name for name in asked if name in view]
    total: Array = np.zeros((prod(sizes[name] for name in asked), prod(sizes[name] for name in common)))
    for component in components(common):
        if weights.get(component):
            total += weights[component] * reduce(np.kron, [_block(name, sizes[name], name in view, component) for name in asked])
    return total[:, positions(view, common, sizes)]


def _block(name: str, size: int, seen: bool, component: Component) -> Array:
    if not seen:
        return np.full((size, 1), 1 / size)
    mean = np.full((size, size), 1 / size)
    return np.eye(size) - mean if name in component else mean


def positions(view: Sequence[str], common: Sequence[str], sizes: Mapping[str, int]) -> Array:
    """For each cell of a view, in which cell of some of its columns it lies.

    >>> positions(("a", "b"), ("b",), {"a": 2, "b": 3}).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    shape = [sizes[name] for name in view]
    places = dict(zip(view, np.indices(shape).reshape(len(shape), -1), strict=True))
    found: Array = np.zeros(prod(shape), dtype=np.int64)
    for name in common:
        found = found * sizes[name] + places[name]
    return found


def signs(asked: Names, sizes: Mapping[str, int], masks: Mapping[str, int]) -> Array:
    """The sign of a Hadamard coefficient in each cell: -1 where the keys have an odd number of ones under the masks.

    >>> signs(("a", "b"), {"a": 2, "b": 3}, {"a": 1, "b": 2}).tolist()
    [1.0, 1.0, -1.0, -1.0, -1.0, 1.0]
    """
    columns = [1.0 - 2.0 * (np.bitwise_count(np.arange(sizes[name]) & masks.get(name, 0)) & 1) for name in asked]
    return np.asarray(reduce(np.kron, columns))


def shared_weights(views: Sequence[Names], strengths: Sequence[float]) -> tuple[list[dict[Component, float]], set[Component]]:
    """Each view's weight for each of its components, and the components that no view with any strength has."""
    totals: dict[Component, float] = {}
    for view, strength in zip(views, strengths, strict=True):
        for component in components(view):
            totals[component] = totals.get(component, 0.0) + strength
    weights = [
        {component: strength / totals[component] for component in components(view) if totals[component] > 0}
        for view, strength in zip(views, strengths, strict=True)
    ]
    return weights, {component for component, total in totals.items() if not total > 0}
