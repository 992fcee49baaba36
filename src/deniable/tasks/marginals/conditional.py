"""The shares of some columns' values among the people with each value of another column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.marginals.visible import adding, visible

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.tasks.marginals.estimate import MarginalEstimate


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalShares(Table):
    """Shares of the other columns' values among the people with each value of ``column``, with errors by the delta method.

    Where next to nobody can be seen to have a value, its shares are not numbers, and their limits are 0 and 1: nothing is known.
    """

    column: str
    values: list[tuple[Any, Any]]
    """For each row the value of ``column``, and the other columns' values."""
    shares: Array
    covariance: Array
    """Of the shares."""
    n: int

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each share."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each share; all at once with ``simultaneous`` (Bonferroni)."""
        check_level("level", level)
        reach = stats.norm.isf((1 - level) / 2 / (len(self.values) if simultaneous else 1)) * self.stderr
        return np.where(self._unknown, 0.0, self.shares - reach), np.where(self._unknown, 1.0, self.shares + reach)

    @property
    def _unknown(self) -> Array:
        """Whether each share is that of a value which cannot be seen."""
        return np.isnan(self.shares)

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
        unknown = bool(self._unknown[[i, j]].any())
        return gap, error, (-1.0, 1.0) if unknown else (gap - reach, gap + reach)

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        labels = [f"{given}: {', '.join(map(str, others))}" for given, others in self.values]
        return {"value": labels, "share": self.shares, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        return f"shares among the people with each {self.column}: {self.n:,} people in all; low and high: 95 %"

    def order(self) -> Array:
        return np.arange(len(self.values))

    def chart(self, k: int = 40) -> Chart:
        """The first k shares with their 95 % intervals; those of values that cannot be seen are left out."""
        from deniable.tasks.charts import row_chart

        return row_chart(self, "share", k, together=False, axis=f"share among the people with each {self.column}")


def conditional(estimate: MarginalEstimate, column: str) -> ConditionalShares:
    """The shares of the other columns given one of them."""
    if column not in estimate.columns or len(estimate.columns) < 2 or len(estimate.values) != prod(estimate.shape):
        allowed = f"one of {list(estimate.columns)}, beside another, all cells"
        raise ParameterError("column", column, allowed=allowed, fix="name a column of this marginal")
    axis = estimate.columns.index(column)
    shares, seen = visible(estimate, axis)
    sums = adding(estimate.shape, axis)
    place = sums.argmax(axis=0)
    known, whole = seen[place], np.where(seen, shares, 1.0)[place]
    parts = estimate.frequencies / whole
    slopes = (np.eye(parts.size) - parts[:, None] * (sums.T @ sums)) / whole[:, None]
    covariance = np.full_like(estimate.covariance, nan)
    if known.any():
        covariance[np.ix_(known, known)] = (slopes @ estimate.covariance @ slopes.T)[np.ix_(known, known)]
    parts[~known] = nan
    values = [(value[axis], (*value[:axis], *value[axis + 1 :])) for value in estimate.values]
    order = np.argsort(place, kind="stable")
    return ConditionalShares(column, [values[i] for i in order], parts[order], covariance[np.ix_(order, order)], estimate.n)
