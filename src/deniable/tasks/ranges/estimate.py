"""The estimate of how people are spread along a line: ranges, cumulative shares, quantiles and the mean, each with its error.

``tree_estimate`` and ``haar`` say where the shares and their errors come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import isotonic_regression

from deniable.contract.domain import Categories, Integers
from deniable.contract.numbers import Numbers
from deniable.core.interval import Limits, check_level
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.ranges.counts import RangeCounts
from deniable.tasks.ranges.sums import LineShares, Margins

if TYPE_CHECKING:
    from deniable.core.chart import Chart

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ROUNDING = Fraction(1, 10**6)


@dataclass(frozen=True, eq=False, repr=False)
class RangeEstimate(LineShares):
    """The share of people at each value of an ordered domain; single ones may be negative.

    Any sum of shares is unbiased where every value is a cell, as after ``Hierarchy`` and ``HaarHRR``. After ``AHEAD`` it is not: people are
    taken to be spread evenly within cells that stayed whole, and which did depends on noise.

    Errors are of the crowd that reported: the mechanism's noise, and that each level was told by some of the people only. With
    ``population=True`` they also cover that the crowd is a sample. Where cells hold more than one value, intervals hold however people are
    spread there. ``quantile`` is always biased: it looks at the nearest cumulative shares that never fall.
    """

    kind: ClassVar[str] = "ranges"

    # --- what is asked of it ---

    def count(self, low: Any, high: Any) -> float:
        """The estimated number of people from low to high, both included."""
        return float(self.ranges([(low, high)]).counts[0])

    def ranges(self, pairs: Iterable[tuple[Any, Any]]) -> RangeCounts:
        """The estimated numbers of people in some ranges, ``pairs`` of (low, high), both ends included, with their errors."""
        named = [(low, high) for low, high in pairs]
        places = [(self._place(low, lower=True), self._place(high)) for low, high in named]
        for (low, high), (start, end) in zip(named, places, strict=True):
            if start >= end:
                raise DomainError("range", (low, high), allowed="low <= high, with a value between them", fix="swap the ends, or widen it")
        queries = self._below([end for _, end in places]) - self._below([start for start, _ in places])
        return RangeCounts(self, [f"{low} to {high}" for low, high in named], queries)

    def cdf(self, x: Any) -> Any:
        """The share of people at or below x, or below each entry of a list of them."""
        below = np.clip(self._sums(self._below([self._place(value) for value in _several(x)])), 0.0, 1.0)
        return below if isinstance(x, list | tuple | np.ndarray) else float(below[0])

    def cdf_interval(self, x: Any, level: float = 0.95, *, population: bool = False) -> Any:
        """Limits (low, high) for the share of people at or below x, or below each entry of a list of them."""
        queries = self._below([self._place(value) for value in _several(x)])
        low, high = self._shares_within(self._sums(queries), self.margins(queries), level, population=population)
        return (low, high) if isinstance(x, list | tuple | np.ndarray) else (float(low[0]), float(high[0]))

    def quantile(self, q: float) -> Any:
        """The first value that a share q of the people is at or below: 0.5 is the median. Of nobody, None."""
        check_level("q", q)
        return self._first(self._rising, q) if self.n else None

    def quantile_interval(self, q: float, level: float = 0.95, *, population: bool = False) -> tuple[Any, Any]:
        """Limits (low, high) for the quantile of q: between them, the rising cumulative shares and their errors do not rule it out."""
        check_level("q", q)
        low, high = self._shares_within(self._rising, self._margins_below, level, population=population)
        high[-1] = low[-1] = 1.0  # everybody is at or below the last value
        return self.value(int(np.argmax(high >= q))), self.value(int(np.argmax(low >= q)))

    @property
    def mean(self) -> Any:
        """The mean of the values: a float, or a datetime. Of nobody, nan or None."""
        return self._shown(float(self._sums(self._numbers)[0]) + self._middle if self.n else nan)

    def mean_interval(self, level: float = 0.95, *, population: bool = False) -> tuple[Any, Any]:
        """Limits (low, high) for the mean of the values."""
        if not self.n:
            return self._shown(nan), self._shown(nan)
        reach, half = self.reach(level), self._step * (self.widths[:, None] - 1) / 2
        ends = np.hstack([self._numbers - half, self._numbers, self._numbers + half])  # if all in a cell were at its ends
        errors = reach * self.errors(ends, ranges=False)[population]
        low, high = (float(side) + self._middle for side in (np.min(self._sums(ends) - errors), np.max(self._sums(ends) + errors)))
        return self._shown(low), self._shown(high)

    # --- how it is done ---

    def _shares_within(self, found: Array, margins: Margins, level: float, *, population: bool = False) -> Limits:
        """Limits of cumulative shares; of nobody, everything is possible."""
        low, high = self.limits(found if self.n else np.full(found.size, 0.5), margins, level, population=population)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    @cached_property
    def _rising(self) -> Array:
        """The nearest cumulative shares that never fall (isotonic regression): noise alone would make first places come too early."""
        errors = self._margins_below.errors[0]
        weights = 1 / np.maximum(errors, 1e-6) ** 2 if np.isfinite(errors).all() else np.ones(errors.size)
        return np.asarray(isotonic_regression(np.cumsum(self.frequencies), weights=weights).x)

    @cached_property
    def _margins_below(self) -> Margins:
        """By how much the shares at or below each value may be off."""
        return self.margins(self._below(np.arange(1, self.domain.size + 1)))

    def _place(self, x: Any, *, lower: bool = False) -> int:
        """How many values are at or below x; or, for the lower end of a range, how many are below it."""
        if not isinstance(self.domain, Numbers):
            return self.domain.key(x) + (not lower)
        place = (self.domain.number(x) - self.domain.start) * self.domain.steps / self.domain.width
        found = (place - _ROUNDING).__ceil__() if lower else (place + 1 + _ROUNDING).__floor__()  # a grid point may be a little off itself
        return min(max(found, 0), self.domain.size)

    def _first(self, cumulative: Array, q: float) -> Any:
        return self.value(min(int(np.searchsorted(cumulative, q - 1e-12)), self.domain.size - 1))

    def value(self, key: int) -> Any:
        """The value of a key, its position in the domain, in plain units."""
        found = self.domain.value(key)
        return float(found) if isinstance(found, Fraction) else found

    @property
    def _middle(self) -> float:
        """The middle of the numbers: means are taken around it, where the error of the total matters least."""
        if isinstance(self.domain, Categories):
            raise ParameterError("domain", self.domain, allowed="numbers", fix="labels have an order, but no mean: ask for the median")
        if isinstance(self.domain, Numbers):
            return float(self.domain.start + self.domain.width / 2)
        return (self.domain.low if isinstance(self.domain, Integers) else 0) + (self.domain.size - 1) / 2

    @cached_property
    def _numbers(self) -> Array:
        """The average number of each cell, around the middle, as a query."""
        self._middle  # noqa: B018  # labels are refused
        return np.asarray((self.starts + (self.widths - 1) / 2 - (self.domain.size - 1) / 2) * self._step)[:, None]

    @property
    def _step(self) -> float:
        """How far apart neighboring numbers are."""
        return float(self.domain.width / self.domain.steps) if isinstance(self.domain, Numbers) else 1.0

    def _shown(self, number: float) -> Any:
        return self.domain.shown(number) if isinstance(self.domain, Numbers) else number

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        ends = np.arange(1, self.domain.size + 1)
        low, high = self._shares_within(np.cumsum(self.frequencies), self._margins_below, 0.95)
        bars = self._below(ends) - self._below(ends - 1)
        names = [self.value(key) for key in range(self.domain.size)]
        cumulative = np.clip(np.cumsum(self.frequencies), 0.0, 1.0)
        return {"value": names, "frequency": self.frequencies, "stderr": self.errors(bars)[0], "cdf": cumulative, "low": low, "high": high}

    def headline(self) -> str:
        told = f"{self.n:,} reports, {self.how}, epsilon = {self.epsilon:.4g}; {self.domain.size:,} values in {self.starts.size:,} cells"
        even = "; people taken to be spread evenly within each cell" if self.starts.size < self.domain.size else ""
        return f"{told}\nlow and high: 95 %, noise only{even}"

    def order(self) -> Array:
        return np.arange(self.domain.size)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Some quantiles: single values are for charts and tables."""
        lines = [(f"{100 * q:.0f} % at most", self.quantile(q), *self.quantile_interval(q)) for q in QUANTILES] if self.n else []
        return ["", "value", "low", "high"], [[name, *map(str, line)] for name, *line in lines]

    def _rest(self) -> list[str]:
        return []

    def chart(self, truth: Any = None) -> Chart:
        """Shares as bars, and the cumulative shares with their 95 % intervals; ``truth``, the true shares, as a red line."""
        from deniable.tasks.ranges.chart import range_chart

        return range_chart(self, truth)


def _several(x: Any) -> Any:
    return x if isinstance(x, list | tuple | np.ndarray) else [x]
