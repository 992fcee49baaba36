"""The difference between two means, with a test."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.interval import NORMAL_FROM, check_level
from deniable.core.table import Table
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.mean import MeanEstimate


@dataclass(frozen=True, eq=False, repr=False)
class MeanComparison(Table):
    """How a mean changed from the ``first`` crowd to the ``second``; both count as samples of the people they stand for.

    ``p_value`` tests "no change": by the normal law, or, where little noise was seen, by Bernstein's inequality. Then it is a bound.
    """

    first: MeanEstimate
    second: MeanEstimate

    def __post_init__(self) -> None:
        ours, theirs = self.first.domain, self.second.domain
        if ours.times != theirs.times:
            raise MergeError("other", theirs, allowed=f"values in the units of {ours!r}", fix="compare numbers with numbers")
        if not (self.first.n and self.second.n):
            raise ParameterError("n", (self.first.n, self.second.n), allowed="reports on both sides", fix="collect some first")

    @property
    def difference(self) -> Any:
        """The change, from the first to the second: a float, or a timedelta."""
        return self.first.domain.shown_distance(self._difference)

    @property
    def stderr(self) -> Any:
        """Its standard error, people being drawn at random."""
        return self.first.domain.shown_distance(self._variance**0.5)

    @property
    def p_value(self) -> float:
        """The probability of so large a change, in either direction, if there was none."""
        if self._plenty:
            return float(2 * stats.norm.sf(abs(self._difference) / self._variance**0.5))
        x = abs(self._difference)
        return min(1.0, 2 * exp(-x * x / (2 * self._most + 2 * self._jump * x / 3)))

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Limits (low, high) for the change."""
        check_level("level", level)
        reach = float(stats.norm.isf((1 - level) / 2)) * self._variance**0.5
        if not self._plenty:
            log = float(np.log(2 / (1 - level)))
            reach = log * self._jump / 3 + ((log * self._jump / 3) ** 2 + 2 * log * self._most) ** 0.5
        return self.first.domain.shown_distance(self._difference - reach), self.first.domain.shown_distance(self._difference + reach)

    def changed(self, alpha: float = 0.05) -> list[str]:
        """The mean's name if it changed; the chance of naming it wrongly is alpha at most."""
        check_level("alpha", alpha)
        return [self.first.name] if self.p_value <= alpha else []

    @property
    def _sides(self) -> tuple[MeanEstimate, MeanEstimate]:
        return self.first, self.second

    @property
    def _difference(self) -> float:
        return self.second.center - self.first.center

    @property
    def _variance(self) -> float:
        return sum(side.drawn for side in self._sides)

    @property
    def _plenty(self) -> bool:
        return all(side.enough >= NORMAL_FROM for side in self._sides)

    @property
    def _most(self) -> float:
        """The largest variance that the change can have, whatever people hold."""
        return sum((side.worst + float(side.domain.width) ** 2 / 4) / side.n for side in self._sides)

    @property
    def _jump(self) -> float:
        """How far one report can move it."""
        return max((side.span[1] - side.span[0]) / side.n for side in self._sides)

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {
            "value": [self.first.name],
            "before": [self.first.value],
            "after": [self.second.value],
            "change": [self.difference],
            "low": [low],
            "high": [high],
            "p": [self.p_value],
        }

    def headline(self) -> str:
        return f"Comparison of {self.first.n:,} with {self.second.n:,} reports; low and high: 95 %, both crowds as samples"

    def order(self) -> Array:
        return np.arange(1)
