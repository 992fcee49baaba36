"""How two columns go together: Cramér's V, with errors from the whole covariance.

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
from itertools import combinations_with_replacement
from math import inf, nan, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from deniable.core.interval import check_level
from deniable.errors import ParameterError
from deniable.tasks.marginals.columns import Names
from deniable.tasks.marginals.squares import SquareLaw
from deniable.tasks.marginals.visible import merged

if TYPE_CHECKING:
    from deniable.tasks.marginals.estimate import MarginalEstimate


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
    (first, not_first), (second, not_second) = (merged(estimate, axis) for axis in (0, 1))
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
