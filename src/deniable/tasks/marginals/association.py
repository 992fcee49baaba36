"""How columns go together: Cramér's V, and shares among the people with one value of a column, with errors from the whole covariance.

With the share f of each cell and r, c of its row and column, the residual D = f - r c is zero where the two columns have nothing to do with
each other, and phi^2 = sum of D^2 / (r c). Noise alone makes the squares positive, by the sum of Var(D) / (r c) on average, which is
subtracted. Errors are by the delta method, the second order included: with the gradient g of phi^2 in the shares, their covariance K,
W = diag(1 / (r c)) and the covariance C of D::

    Var(phi^2) = g' K g + 2 tr(W C W C)

The first term vanishes where there is no association, the second one does not. Intervals test each value of phi^2 with the error that it
has there (``squares``), and hold near zero too. The test of no association is Wald's, on the residuals themselves.

Shares are divided by, so a value that cannot be told from nobody has no place of its own: it is counted with the most frequent value of its
column. Counting values together never raises phi^2 (it is an f-divergence, of the table from the product of its columns): what is found is
then a lower limit, and there is no upper one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import inf, nan, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.marginals.columns import Names
from deniable.tasks.marginals.squares import SquareLaw

if TYPE_CHECKING:
    from deniable.tasks.marginals.estimate import MarginalEstimate

VISIBLE = 3.0
"""A value of a column takes part if its share is so many standard errors above zero: others would be divided by, and are noise."""


@dataclass(frozen=True, repr=False)
class Association:
    """Cramér's V of two columns, from 0 (nothing to do with each other) to 1 (one follows from the other).

    ``value``, ``stderr`` and ``interval`` are about the people who reported; ``p_value`` is how likely residuals as large are if there is
    no association among everyone like them. ``left_out`` names the values that cannot be seen. They are counted with the most frequent
    ones, and may hide an association: ``value`` is of that smaller table, and ``interval`` ends at 1. A column of which fewer than two
    values can be seen, a constant one for instance, has no association: the value is not a number, the interval is everything, and the
    p-value is 1.
    """

    columns: Names
    law: SquareLaw | None
    """How phi squared is estimated; None where there is nothing to see."""
    spread: float
    """The standard error of ``square``."""
    most: int
    """The largest possible phi squared."""
    declared: int
    """The same if all declared values are held by somebody: what cannot be seen may be there."""
    p_value: float
    left_out: tuple[str, ...] = ()

    @property
    def square(self) -> float:
        """Phi squared, freed of what noise adds; it may be negative."""
        return self.law.seen if self.law else nan

    def _root(self, square: float, most: int | None = None) -> float:
        return sqrt(min(max(square / (most or self.most), 0.0), 1.0)) if self.most else nan

    @property
    def value(self) -> float:
        """Cramér's V."""
        return self._root(self.square)

    @property
    def stderr(self) -> float:
        """Half of the way between one standard error less and one more: the delta method's, except near zero, where that is infinite."""
        return (self._root(self.square + self.spread) - self._root(self.square - self.spread)) / 2

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high) for Cramér's V of all values that somebody holds; the upper one is 1 if some were left out."""
        check_level("level", level)
        if not self.law:
            return 0.0, 1.0
        alpha = (1 - level) / 2
        high = 1.0 if self.left_out else self._root(self.law.high(alpha, self.most))
        return self._root(self.law.low(alpha), self.declared), high

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        hidden = f"; not seen: {', '.join(self.left_out)}" if self.left_out else ""
        return f"{' x '.join(self.columns)}: Cramér's V {self.value:.3g} (95 %: {low:.3g} to {high:.3g}), p = {self.p_value:.2g}{hidden}"


def associate(estimate: MarginalEstimate) -> Association:
    """The association of the two columns of a marginal."""
    if len(estimate.columns) != 2 or len(estimate.values) != prod(estimate.shape):
        shown = f"{len(estimate.values)} cells of {' x '.join(estimate.columns)}"
        raise ParameterError("estimate", shown, allowed="all cells of two columns", fix='as in table["place", "mood"].association()')
    (first, not_first), (second, not_second) = (_together(estimate, axis) for axis in (0, 1))
    rows, columns, left_out = len(first), len(second), (*not_first, *not_second)
    most, declared = min(rows, columns) - 1, min(estimate.shape) - 1
    if most < 1:
        return Association(estimate.columns, None, inf, 0, declared, 1.0, left_out)
    adding = np.kron(first, second)
    counted = adding @ estimate.frequencies
    total = float(counted.sum())
    table = (counted / total).reshape(rows, columns)
    r, c = table.sum(axis=1), table.sum(axis=0)
    residuals = (table - np.outer(r, c)).ravel()
    ones = np.ones(rows * columns)
    scaling = (np.eye(ones.size) - np.outer(table.ravel(), ones)) / total  # shares add up to one
    slopes = np.eye(ones.size) - np.kron(np.eye(rows), np.outer(c, np.ones(columns))) - np.kron(np.outer(r, np.ones(rows)), np.eye(columns))
    slopes = slopes @ scaling
    covariance, sampled = (adding @ some @ adding.T for some in (estimate.covariance, estimate.drawn))
    weights = 1 / np.outer(r, c).ravel()
    among, drawn = (slopes @ some @ slopes.T for some in (covariance, sampled))
    noise, weighed = weights[:, None] * among, weights * residuals
    pairs = float(np.trace(noise @ noise))
    parts = (weighed * residuals).reshape(rows, columns)
    steep = 2 * weighed @ slopes, -np.add.outer(parts.sum(axis=1) / r, parts.sum(axis=0) / c).ravel() @ scaling
    along = tuple(float(one @ covariance @ other) for one, other in combinations_with_replacement(steep, 2))
    law = SquareLaw(
        raw=float(weighed @ residuals),
        bias=float(np.trace(noise)),
        pairs=pairs,
        triples=float(np.trace(noise @ noise @ noise)),
        along=along,  # type: ignore[arg-type]  # three of them
        leaning=24 * float(weighed @ among @ noise @ weighed),
    )
    spread = sqrt(max(along[0] + 2 * along[1] + along[2] - 4 * pairs, 0.0) + 2 * pairs)  # residuals that are noise would be counted twice
    inner = np.arange(rows * columns).reshape(rows, columns)[:-1, :-1].ravel()  # the others follow from these
    wald = float(residuals[inner] @ np.linalg.lstsq(drawn[np.ix_(inner, inner)], residuals[inner], rcond=None)[0])
    return Association(estimate.columns, law, spread, most, declared, float(stats.chi2.sf(wald, inner.size)), left_out)


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalShares(Table):
    """Shares of the other columns' values among the people with each value of ``column``, with errors by the delta method.

    Where next to nobody can be seen to have a value, its shares are not numbers.
    """

    column: str
    values: list[tuple[Any, Any]]
    """For each row the value of ``column``, and the other columns' values."""
    shares: Array
    covariance: Array
    n: int

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each share."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each share; all at once with ``simultaneous`` (Bonferroni)."""
        check_level("level", level)
        reach = stats.norm.isf((1 - level) / 2 / (len(self.values) if simultaneous else 1)) * self.stderr
        return self.shares - reach, self.shares + reach

    def difference(self, value: Any, first: Any, second: Any, level: float = 0.95) -> tuple[float, float, tuple[float, float]]:
        """By how much the share of a value grows from the people with ``first`` to those with ``second``, its error and interval."""
        check_level("level", level)
        wanted = [(given, value if isinstance(value, tuple) else (value,)) for given in (first, second)]
        if any(cell not in self.values for cell in wanted):
            known = sorted({str(given) for given, _ in self.values})
            raise ParameterError(
                "value, first, second", (value, first, second), allowed=f"values; of {self.column}: {known}", fix="check them"
            )
        i, j = (self.values.index(cell) for cell in wanted)
        error = sqrt(max(float(self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]), 0.0))
        gap, reach = float(self.shares[j] - self.shares[i]), float(stats.norm.isf((1 - level) / 2)) * error
        return gap, error, (gap - reach, gap + reach)

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        labels = [f"{given}: {', '.join(map(str, others))}" for given, others in self.values]
        return {"value": labels, "share": self.shares, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        return f"shares among the people with each {self.column}: {self.n:,} people in all; low and high: 95 %"

    def order(self) -> Array:
        return np.arange(len(self.values))


def conditional(estimate: MarginalEstimate, column: str) -> ConditionalShares:
    """The shares of the other columns given one of them."""
    if column not in estimate.columns or len(estimate.columns) < 2 or len(estimate.values) != prod(estimate.shape):
        allowed = f"one of {list(estimate.columns)}, beside another, all cells"
        raise ParameterError("column", column, allowed=allowed, fix="name a column of this marginal")
    axis = estimate.columns.index(column)
    shares, seen = _visible(estimate, axis)
    adding = _adding(estimate.shape, axis)
    place = adding.argmax(axis=0)
    known, whole = seen[place], np.where(seen, shares, 1.0)[place]
    parts = estimate.frequencies / whole
    slopes = (np.eye(parts.size) - parts[:, None] * (adding.T @ adding)) / whole[:, None]
    covariance = np.full_like(estimate.covariance, nan)
    if known.any():
        covariance[np.ix_(known, known)] = (slopes @ estimate.covariance @ slopes.T)[np.ix_(known, known)]
    parts[~known] = nan
    values = [(value[axis], (*value[:axis], *value[axis + 1 :])) for value in estimate.values]
    order = np.argsort(place, kind="stable")
    return ConditionalShares(column, [values[i] for i in order], parts[order], covariance[np.ix_(order, order)], estimate.n)


def _together(estimate: MarginalEstimate, axis: int) -> tuple[Array, tuple[str, ...]]:
    """What counts the values of a column that cannot be seen with its most frequent one: a row for each that is left; and their names."""
    shares, seen = _visible(estimate, axis)
    each = np.eye(shares.size)
    each[np.argmax(np.where(seen, shares, -inf))] += ~seen
    values = [value[axis] for value in estimate.values][:: 1 if axis else estimate.shape[1]][: shares.size]
    left_out = tuple(f"{estimate.columns[axis]} = {value}" for value, one in zip(values, seen, strict=True) if not one)
    rows = each[seen]
    if not _visible(estimate, axis, rows)[1].all():  # there seem to be less than no others: even the most frequent value is lost
        rows = rows[:1]
    return rows, left_out


def _visible(estimate: MarginalEstimate, axis: int, together: Array | None = None) -> tuple[Array, Array]:
    """The share of each value of one column, or of some together, and whether it can be told from zero."""
    adding = _adding(estimate.shape, axis)
    adding = adding if together is None else together @ adding
    shares = adding @ estimate.frequencies
    if not np.isfinite(estimate.covariance).all():  # a group that nobody is in
        return shares, np.zeros(shares.size, dtype=bool)
    errors = np.sqrt(np.maximum(np.diag(adding @ estimate.drawn @ adding.T), 0.0))
    return shares, (shares > VISIBLE * errors) & (shares > 0)


def _adding(shape: tuple[int, ...], axis: int) -> Array:
    """The matrix that adds up the cells with each value of one column."""
    places = np.indices(shape)[axis].ravel()
    return np.asarray(places == np.arange(shape[axis])[:, None], dtype=float)
