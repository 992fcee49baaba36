"""The difference between two estimates, with a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from deniable.core.table import Table
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Table):
    """How each frequency changed from one crowd to another.

    ``p_values`` test "no change" for each value on its own; ``adjusted`` (Holm 1979) keeps the chance of any false alarm over all
    values at the level it is compared with.

    >>> change = Comparison(["tea", "coffee"], np.array([0.5, 0.5]), np.array([0.4, 0.6]), np.array([0.02, 0.02]), (1000, 1000))
    >>> change.difference.round(3).tolist(), change.changed(0.05)
    ([-0.1, 0.1], ['tea', 'coffee'])
    """

    values: Sequence[Any]
    before: Array
    after: Array
    stderr: Array
    n: tuple[int, int]

    @property
    def difference(self) -> Array:
        """The change of each frequency."""
        return self.after - self.before

    @cached_property
    def p_values(self) -> Array:
        """Two-sided p-values of the normal test."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.difference == 0, 0.0, np.abs(self.difference) / self.stderr)
        result: Array = 2 * stats.norm.sf(z)
        return result

    @cached_property
    def adjusted(self) -> Array:
        """Holm's p-values, valid for all values together."""
        order = np.argsort(self.p_values)
        steps = self.p_values[order] * np.arange(order.size, 0, -1)
        result = np.empty(order.size)
        result[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
        return result

    def changed(self, alpha: float = 0.05) -> list[Any]:
        """The values whose frequency changed, with at most this chance of naming any wrongly."""
        return [self.values[i] for i in np.flatnonzero(self.adjusted <= alpha).tolist()]

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Limits (low, high) for each change."""
        reach = stats.norm.isf((1 - level) / 2) * self.stderr
        return self.difference - reach, self.difference + reach

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {
            "value": list(self.values),
            "before": self.before,
            "after": self.after,
            "change": self.difference,
            "low": low,
            "high": high,
            "p_adjusted": self.adjusted,
        }

    def headline(self) -> str:
        return f"Comparison of {self.n[0]:,} with {self.n[1]:,} reports: change of each frequency"

    def order(self) -> Array:
        return np.argsort(self.p_values, kind="stable")

    def chart(self, k: int = 20) -> Any:
        """The k clearest changes with their 95 % intervals, as an Altair chart."""
        from deniable.core.chart import change_chart

        return change_chart(self, self.order()[:k])
