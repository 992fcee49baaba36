"""The difference between two estimates, with a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.exclusion import smallest_error
from deniable.core.interval import NORMAL_TAILS_FROM, Limits, check_level, few_large
from deniable.core.table import Table
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.frequency import FrequencyEstimate

    Sides = tuple[FrequencyEstimate, FrequencyEstimate]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Table):
    """How each frequency changed from the ``first`` crowd to the ``second``; both count as samples of the people they stand for.

    ``p_values`` test "no change" for each value on its own: with the variance that no change implies, or, where few reports support a
    value by chance, exactly, given the total number of supports (Fisher 1934). Where no such test exists, p is the smallest error at which
    the interval of the change excludes 0. A single interval at the level 1 - alpha never excludes 0 unless p is below alpha. ``adjusted``
    (Holm 1979) keeps the chance of naming any value wrongly at the level it is compared with.

    >>> from deniable.client import GRR
    >>> from deniable.testing import ReplaySource
    >>> spec, source = GRR(domain_size=3, epsilon=1.0), ReplaySource.from_key("weeks")
    >>> crowds = [0] * 3000 + [1] * 3000, [0] * 2000 + [1] * 4000
    >>> before, after = (spec.estimate(spec.tally(spec.privatize(crowd, source=source))) for crowd in crowds)
    >>> before.compare(after).changed(0.05)
    [0, 1]
    """

    first: FrequencyEstimate
    second: FrequencyEstimate

    @property
    def values(self) -> Sequence[Any]:
        """What was counted."""
        return self.first.values

    @property
    def difference(self) -> Array:
        """The change of each frequency."""
        return self.second.frequencies - self.first.frequencies

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each change."""
        return np.asarray(np.sqrt(_variance(self.first, self.first.frequencies) + _variance(self.second, self.second.frequencies)))

    @cached_property
    def p_values(self) -> Array:
        """The chance of a change at least as clear, if there was none; two-sided."""
        if min(side.n for side in self._sides) == 0:
            return np.ones(len(self.values))
        pooled = (self.first.counts + self.second.counts) / (self.first.n + self.second.n)
        if self._plenty:
            variance, change = _variance(self.first, pooled) + _variance(self.second, pooled), np.abs(self.difference)
            if self._jump:  # collisions are few and large: no normal law far out (Bernstein)
                return np.asarray(np.minimum(2 * np.exp(-(change**2) / (2 * (variance + self._jump * change / 3))), 1.0))
            return np.asarray(2 * stats.norm.sf(change / np.sqrt(variance)))
        exact = self.first.exact_test(self.second)
        return smallest_error(lambda alpha: self._crossed(alpha, self._alone), len(self.values)) if exact is None else exact

    @cached_property
    def adjusted(self) -> Array:
        """Holm's p-values, valid for all values together."""
        order = np.argsort(self.p_values)
        steps = self.p_values[order] * (self.first.family_size - np.arange(order.size))  # all that were estimated, also after top()
        result = np.empty(order.size)
        result[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
        return result

    def changed(self, alpha: float = 0.05) -> list[Any]:
        """The values whose frequency changed; the chance of naming any wrongly is alpha at most."""
        check_level("alpha", alpha)
        return [self.values[i] for i in np.flatnonzero(self.adjusted <= alpha).tolist()]

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each change; for all of them together if simultaneous (Bonferroni)."""
        check_level("level", level)
        if min(side.n for side in self._sides) == 0:  # from nobody, nothing is known
            return np.full(len(self.values), -1.0), np.full(len(self.values), 1.0)
        alpha = (1 - level) / (self.first.family_size if simultaneous else 1)
        if self._plenty:
            reach = few_large(self.stderr**2, self._jump, alpha) if self._jump else stats.norm.isf(alpha / 2) * self.stderr
            low, high = self.difference - reach, self.difference + reach
        else:
            low, high = self._crossed(alpha, self._sides if simultaneous else self._alone)
        possible = self.p_values >= alpha  # by the test: with the variance that no change implies, 0 may be possible just outside
        return np.where(possible, np.minimum(low, 0.0), low), np.where(possible, np.maximum(high, 0.0), high)

    def _crossed(self, alpha: Any, sides: Sides) -> Limits:
        """The limits of both sides, each with half of the error, bound the change together; they hold however small alpha is."""
        (low_1, high_1), (low_2, high_2) = (
            tuple(limit / side.n for limit in side.limits(alpha / 2, simultaneous=True, population=True)) for side in sides
        )
        return low_2 - high_1, high_2 - low_1

    @property
    def _sides(self) -> Sides:
        return self.first, self.second

    @cached_property
    def _alone(self) -> Sides:
        """Both sides for statements about each value on its own."""
        return replace(self.first, family_size=1), replace(self.second, family_size=1)

    @property
    def _plenty(self) -> bool:
        return all(side.enough >= NORMAL_TAILS_FROM for side in self._sides)

    @property
    def _jump(self) -> float:
        """What a single collision changes a frequency by, at most."""
        return sum(side.jump / max(side.n, 1) for side in self._sides)

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(simultaneous=True)
        return {
            "value": list(self.values),
            "before": self.first.frequencies,
            "after": self.second.frequencies,
            "change": self.difference,
            "low": low,
            "high": high,
            "p_adjusted": self.adjusted,
        }

    def headline(self) -> str:
        return f"Comparison of {self.first.n:,} with {self.second.n:,} reports; low, high and p hold for all values together (95 %)"

    def order(self) -> Array:
        return np.argsort(self.p_values, kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k clearest changes with their intervals."""
        from deniable.core.chart import change_chart

        return change_chart(self, self.order()[:k])


def _variance(side: FrequencyEstimate, frequencies: Array) -> Array:
    """The variance of each estimated frequency of a sample, if these, cut to 0 .. 1, were the true ones."""
    return np.asarray(side.variance(np.clip(frequencies, 0, 1) * side.n, population=True) / max(side.n, 1) ** 2)
