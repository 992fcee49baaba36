"""Which values of a column are visible, that is, clearly above zero, and how cells add up to them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.tasks.marginals.estimate import MarginalEstimate

VISIBLE = 3.0
"""The number of standard errors above zero from which a value counts as visible: dividing by smaller shares would amplify noise."""


def merged(estimate: MarginalEstimate, axis: int) -> tuple[Array, tuple[str, ...]]:
    """What counts the values of a column that cannot be seen with its most frequent one: a row for each that is left; and their names."""
    shares, seen = visible(estimate, axis)
    each = np.eye(shares.size)
    each[np.argmax(np.where(seen, shares, -inf))] += ~seen
    values = [value[axis] for value in estimate.values][:: 1 if axis else estimate.shape[1]][: shares.size]
    left_out = tuple(f"{estimate.columns[axis]} = {value}" for value, one in zip(values, seen, strict=True) if not one)
    rows = each[seen]
    if not visible(estimate, axis, rows)[1].all():  # there seem to be less than no others: even the most frequent value is lost
        rows = rows[:1]
    return rows, left_out


def visible(estimate: MarginalEstimate, axis: int, together: Array | None = None) -> tuple[Array, Array]:
    """Return the share of each value of one column, or of some together, and whether it is clearly above zero."""
    sums = adding(estimate.shape, axis) if together is None else together @ adding(estimate.shape, axis)
    shares = sums @ estimate.frequencies
    cells = estimate.every_cell
    if not np.isfinite(cells.covariance).all():  # a group that nobody is in
        return shares, np.zeros(shares.size, dtype=bool)
    errors = np.sqrt(np.maximum(np.diag(sums @ cells.drawn @ sums.T), 0.0))
    return shares, (shares > VISIBLE * errors) & (shares > 0)


def adding(shape: tuple[int, ...], axis: int) -> Array:
    """The matrix that adds up the cells with each value of one column."""
    places = np.indices(shape)[axis].ravel()
    return np.asarray(places == np.arange(shape[axis])[:, None], dtype=float)
