"""Answers about ranges, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.core.interval import Limits, check_level
from deniable.core.table import Table, count_rows
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.tasks.ranges.estimate import RangeEstimate
    from deniable.tasks.ranges.sums import Margins


@dataclass(frozen=True, eq=False, repr=False)
class RangeCounts(Table):
    """How many people lie in each of some ranges. Ranges of one estimate share their noise: their errors are not independent."""

    estimate: RangeEstimate
    values: Sequence[str]
    queries: Array
    """How much of each cell lies in each range, a column for each."""

    kind: ClassVar[str] = "range counts"

    @property
    def n(self) -> int:
        """How many people reported."""
        return self.estimate.n

    @cached_property
    def frequencies(self) -> Array:
        """The estimated share of people in each range."""
        return np.asarray(self.queries.T @ self.estimate.shares)

    @cached_property
    def _margins(self) -> Margins:
        return self.estimate.margins(self.queries)

    @property
    def counts(self) -> Array:
        """The estimated number of people in each range."""
        return self.n * self.frequencies

    @property
    def stderr(self) -> Array:
        """The standard error of each count, for the crowd that reported. Among nobody, nobody is: 0."""
        return self.n * self._margins.errors[0] if self.n else np.zeros(len(self.values))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False, population: bool = False) -> Limits:
        """Limits (low, high) for each count; ``population=True`` covers that the crowd is a sample, too."""
        check_level("level", level)
        if not self.n:  # among nobody, nobody is in a range
            return np.zeros(len(self.values)), np.zeros(len(self.values))
        alpha = (1 - level) / (len(self.values) if simultaneous else 1)
        low, high = self.estimate.limits(self.frequencies, self._margins, 1 - alpha, population=population)
        return self.n * low, self.n * high

    def rows(self) -> dict[str, Any]:
        return count_rows(self.values, self.counts, self.stderr, self.interval(0.95), self.frequencies)

    def headline(self) -> str:
        return f"{self.n:,} reports, {self.estimate.how}, epsilon = {self.estimate.epsilon:.4g}; low and high: 95 %, noise only"

    def order(self) -> Array:
        return np.arange(len(self.values))

    def chart(self, truth: Any = None) -> Chart:
        """The counts with their 95 % intervals; ``truth``, where it is known, as ticks."""
        from deniable.core.chart import bar_chart

        low, high = self.interval(0.95)
        return bar_chart(self.values, self.counts, low, high, title=self.headline(), together=False, truth=truth)
