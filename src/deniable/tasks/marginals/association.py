"""The association of two columns: Cramér's V, with errors from the whole covariance.

With the share f of each cell and r, c of its row and column, the residual D = f - r c is zero where the two columns have nothing to do with
each other, and phi^2 = sum of D^2 / (r c). Noise alone makes the squares positive, by the sum of Var(D) / (r c) on average, which is
subtracted. Errors are by the delta method, the second order included: with the gradient g of phi^2 in the shares, their covariance K,
W = diag(1 / (r c)) and the covariance C of D::

    Var(phi^2) = g' K g + 2 tr(W C W C)

The first term vanishes where there is no association, the second one does not. Intervals test each value of phi^2 with the error that it
has there (``squares``), and hold near zero too. The test of no association is Wald's, on the residuals themselves.

Shares are divided by, so a value whose share is not clearly above zero has no place of its own: it is counted with the most frequent value
of its column. Counting values together never raises phi^2 (it is an f-divergence, of the table from the product of its columns): what is
found is then a lower limit, and there is no upper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations_with_replacement
from math import inf, nan
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy

from deniable.core.estimate import NumberEstimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_noise_only
from deniable.tasks.marginals.squares import SquareLaw
from deniable.tasks.marginals.visible import merged

if TYPE_CHECKING:
    from deniable.tasks.marginals.estimate import MarginalEstimate


LEGEND = "association: Cramér's V, from 0 to 1; p: chance of one this large if there is none"
LOOK: dict[str, Any] = {
    "quantity": "association",
    "covers": "noise and who was asked what",
    "falling": True,
    "figure": {"ends": (0.0, 1.0)},
}
"""How associations are shown, of two columns or of all pairs."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Cramer(Law):
    """Cramér's V of pairs of columns among the people who reported, each from the law of its phi squared.

    Where nothing can be seen phi squared is not a number, and the limits are 0 and 1.
    """

    n: int
    squares: Array
    """For each pair the numbers of its ``SquareLaw``."""
    spread: Array
    """The standard error of each phi squared."""
    most: Array
    """The largest possible phi squared."""
    declared: Array
    """The same if all declared values are held by somebody: what cannot be seen may be there."""
    hidden: Array
    """Whether values were left out; then there is no upper limit."""
    p: Array
    """How likely residuals as large are if there is no association among everyone like these people."""

    @classmethod
    def together(cls, n: int, laws: Sequence[Cramer]) -> Self:
        """The law of several pairs."""
        names = [each.name for each in fields(cls) if each.name != "n"]
        empty = {name: np.zeros((0, SquareLaw.SIZE) if name == "squares" else 0) for name in names}
        return cls(n=n, **{name: np.concatenate([empty[name], *(getattr(law, name) for law in laws)]) for name in names})

    @property
    def square(self) -> Array:
        """Phi squared, freed of what noise adds; it may be negative."""
        return np.asarray(self._rows[:, 0] - self._rows[:, 1])

    @property
    def _rows(self) -> Array:
        return self.squares.reshape(-1, SquareLaw.SIZE)  # also where there are no pairs

    @property
    def point(self) -> Array:
        return np.asarray(_root(self.square, self.most))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        """The squared half of the way between one standard error less and one more: the delta method's, but finite near zero."""
        check_noise_only(population)
        return np.asarray(((_root(self.square + self.spread, self.most) - _root(self.square - self.spread, self.most)) / 2) ** 2)

    @property
    def p_values(self) -> Array:
        """By Wald's test of the residuals, about everyone like these people."""
        return self.p

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        check_noise_only(population)
        low, high = np.zeros(len(self.p)), np.ones(len(self.p))
        for place, each in enumerate(np.broadcast_to(alpha, self.p.shape) / 2):
            if np.isnan(self._rows[place, 0]):
                continue
            law = SquareLaw.of(self._rows[place])
            low[place] = _root(law.low(each), self.declared[place])
            if not self.hidden[place]:
                high[place] = _root(law.high(each, self.most[place]), self.most[place])
        return low, high

    def select(self, positions: Array) -> Cramer:
        names = [each.name for each in fields(self) if each.name != "n"]
        return replace(self, **{name: getattr(self, name)[positions] for name in names})


def _root(square: Any, most: Any) -> Any:
    """Cramér's V behind phi squared, as far as there is any."""
    return np.sqrt(np.clip(square / np.where(np.asarray(most) > 0, most, nan), 0.0, 1.0))


def associate(estimate: MarginalEstimate) -> NumberEstimate:
    """Return Cramér's V of the two columns of a marginal, from 0 (unrelated) to 1 (one determines the other).

    ``value``, ``stderr`` and ``interval`` are about the people who reported; ``p_value`` is how likely residuals as large are if there is
    no association among everyone like them. Values that cannot be seen are counted with the most frequent ones, and may hide an
    association: the number is of that smaller table, the interval ends at 1, and a remark names them. A column of which fewer than two
    values can be seen, a constant one for instance, has no association: the number is not one, the interval is everything, and the
    p-value is 1.
    """
    cells = estimate.every_cell
    if len(estimate.columns) != 2:
        shown = f"cells of {' x '.join(estimate.columns)}"
        raise ParameterError(
            "estimate", shown, allowed="all cells of two columns", fix='call it on two columns: table["place", "mood"].association()'
        )
    (first, not_first), (second, not_second) = (merged(estimate, axis) for axis in (0, 1))
    rows, columns, left_out = len(first), len(second), (*not_first, *not_second)
    most, declared = min(rows, columns) - 1, min(estimate.shape) - 1
    if most < 1:
        return _found(estimate, np.full(SquareLaw.SIZE, nan), left_out, spread=inf, most=0, declared=declared, p=1.0)
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
    covariance, sampled = (adding @ some @ adding.T for some in (cells.covariance, cells.drawn))
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
    spread = np.sqrt(
        max(along[0] + 2 * along[1] + along[2] - 4 * pairs, 0.0) + 2 * pairs
    )  # residuals that are noise would be counted twice
    inner = np.arange(rows * columns).reshape(rows, columns)[:-1, :-1].ravel()  # the others follow from these
    wald = float(residuals[inner] @ np.linalg.lstsq(drawn[np.ix_(inner, inner)], residuals[inner], rcond=None)[0])
    p = float(scipy.stats.chi2.sf(wald, inner.size))
    return _found(estimate, law.numbers, left_out, spread=spread, most=most, declared=declared, p=p)


def _found(estimate: MarginalEstimate, squares: Array, left_out: tuple[str, ...], **numbers: float) -> NumberEstimate:
    return NumberEstimate(
        values=[" x ".join(estimate.columns)],
        law=Cramer(
            n=estimate.n,
            squares=squares[None],
            hidden=np.array([bool(left_out)]),
            **{name: np.array([number]) for name, number in numbers.items()},
        ),
        about=estimate.about,
        guarantee=estimate.guarantee,
        kind="association",
        details={"p": np.array([numbers["p"]])},
        remarks=(LEGEND, *([f"not seen: {', '.join(left_out)}"] if left_out else [])),
        **LOOK,
    )
