"""Estimates of the distribution along a line: ranges, cumulative shares, quantiles and the mean, each with its error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nan
from typing import Any, Self

import numpy as np
import scipy

from deniable.contract.domain import Categories, Domain, Integers
from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import Numbers
from deniable.core.estimate import Estimate, PeopleEstimate
from deniable.core.figure import Figure
from deniable.core.interval import check_level
from deniable.core.normal import Normal
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.enclosed import reach
from deniable.tasks.ranges.line import Along, Line

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ROUNDING = Fraction(1, 10**6)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RangeEstimate(Estimate):
    """The share of people at or below each value of an ordered domain; ``frequencies`` are the shares at each value.

    Any sum of shares is unbiased where every value is a cell, as after ``Hierarchy`` and ``HaarHRR``. After ``AHEAD`` it is not: people are
    taken to be spread evenly within cells that stayed whole, and which did depends on noise.

    Errors are of the people who reported: the mechanism's noise, and that each level was asked of some of them only. With
    ``population=True`` they also cover that the people are a sample. Where cells hold more than one value, intervals hold however people
    are spread there. ``quantile`` is always biased: it looks at the nearest cumulative shares that never fall.
    """

    domain: Domain
    law: Along
    quantity: str = "cdf"

    kind: str = "ranges"

    @classmethod
    def of(cls, domain: Domain, how: str, line: Line, guarantee: Guarantee) -> Self:
        """The estimate behind the shares of a line, found by a method that ``how`` names."""
        cells = f"{line.starts.size:,} cells for {domain.size:,} values; people are assumed to be spread evenly within each cell"
        return cls(
            domain=domain,
            values=[_plain(domain.value(key)) for key in range(domain.size)],
            law=Along(line, np.arange(1, domain.size + 1)),
            about=f"{line.n:,} reports, {how}, epsilon = {guarantee.epsilon:.4g}",
            guarantee=guarantee,
            bias=cells if line.starts.size < domain.size else None,
        )

    @property
    def line(self) -> Line:
        """The cells of the line, with their shares and how these err together."""
        return self.law.line

    @property
    def frequencies(self) -> Array:
        """The estimated share of people at each value; single ones may be negative."""
        return self.line.frequencies

    @property
    def counts(self) -> Array:
        """The estimated number of people at each value."""
        return np.asarray(self.n * self.frequencies)

    # --- what is asked of it ---

    def count(self, low: Any, high: Any) -> float:
        """Return the estimated number of people from low to high, both included."""
        return float(self.ranges([(low, high)]).counts[0])

    def ranges(self, pairs: Iterable[tuple[Any, Any]]) -> PeopleEstimate:
        """Return the estimated numbers of people in some ranges, ``pairs`` of (low, high), both ends included, with their errors.

        Ranges of one estimate share their noise: their errors are not independent.
        """
        named = [(low, high) for low, high in pairs]
        places = [(self._place(low, lower=True), self._place(high)) for low, high in named]
        for (low, high), (start, end) in zip(named, places, strict=True):
            if start >= end:
                raise DomainError(
                    "range", (low, high), allowed="low <= high, with a value between them", fix="swap the ends, or widen the range"
                )
        starts, ends = ([place[side] for place in places] for side in (0, 1))
        nothing = np.zeros(len(named))  # among nobody, nobody is in a range
        law = self.line.linear(self.line.below(ends) - self.line.below(starts)).counts() if self.n else Normal(0, *[nothing] * 3)
        return PeopleEstimate(
            values=[f"{low} to {high}" for low, high in named], law=law, about=self.about, guarantee=self.guarantee, bias=self.bias
        )

    def cdf(self, x: Any) -> Any:
        """Return the share of people at or below x, or at or below each entry of a list."""
        below = np.clip(self.line.below([self._place(value) for value in _several(x)]) @ self.line.shares, 0.0, 1.0)
        return below if isinstance(x, list | tuple | np.ndarray) else float(below[0])

    def cdf_interval(self, x: Any, level: float = 0.95, *, population: bool = False) -> Any:
        """Return limits (low, high) for the share of people at or below x, or at or below each entry of a list."""
        check_level("level", level)
        law = self.line.linear(self.line.below([self._place(value) for value in _several(x)]))
        low, high = law.limits(1 - level, population=population)
        return (low, high) if isinstance(x, list | tuple | np.ndarray) else (float(low[0]), float(high[0]))

    def quantile(self, q: float) -> Any:
        """Return the first value that a share q of the people is at or below: 0.5 gives the median. None if nobody reported."""
        check_level("q", q)
        return self.value(min(int(np.searchsorted(self._rising, q - 1e-12)), self.domain.size - 1)) if self.n else None

    def quantile_interval(self, q: float, level: float = 0.95, *, population: bool = False) -> tuple[Any, Any]:
        """Return limits (low, high) for the quantile of q: all values that the cumulative shares and their errors do not rule out."""
        check_level("q", q)
        check_level("level", level)
        low, high = self._whole.around(self._rising, 1 - level, population=population)
        high[-1] = low[-1] = 1.0  # everybody is at or below the last value
        return self.value(int(np.argmax(high >= q))), self.value(int(np.argmax(low >= q)))

    @property
    def mean(self) -> Any:
        """Return the mean of the values: a float, or a datetime. If nobody reported, nan or None."""
        return self._number(float(self._numbers @ self.line.shares) + self._middle if self.n else nan)

    def mean_interval(self, level: float = 0.95, *, population: bool = False) -> tuple[Any, Any]:
        """Return limits (low, high) for the mean of the values."""
        check_level("level", level)
        if not self.n:
            return self._number(nan), self._number(nan)
        half = self._step * (self.line.widths - 1) / 2
        ends = np.stack([self._numbers - half, self._numbers, self._numbers + half])  # if all in a cell were at its ends
        errors = reach(1 - level, normal=self.line.normal, grown=self.line.grown) * self.line.errors(ends.T, ranges=False)[int(population)]
        found = ends @ self.line.shares
        low, high = (float(side) + self._middle for side in (np.min(found - errors), np.max(found + errors)))
        return self._number(low), self._number(high)

    def value(self, key: int) -> Any:
        """The value of a key, its position in the domain, in plain units."""
        return _plain(self.domain.value(key))

    def settled(self) -> Self:
        """This estimate with its errors computed; the law stays, since ranges and quantiles need it."""
        self.law.settled()
        return self

    # --- how it is done ---

    @cached_property
    def _whole(self) -> Along:
        """The law of all values, also where only some are selected."""
        return self.law if len(self.values) == self.domain.size else Along(self.line, np.arange(1, self.domain.size + 1))

    @cached_property
    def _rising(self) -> Array:
        """The nearest cumulative shares that never fall (isotonic regression): noise alone would make first places come too early."""
        errors = self._whole.enclosed.errors[0]
        weights = 1 / np.maximum(errors, 1e-6) ** 2 if np.isfinite(errors).all() else np.ones(errors.size)
        return np.asarray(scipy.optimize.isotonic_regression(self._whole.sums, weights=weights).x)

    def _place(self, x: Any, *, lower: bool = False) -> int:
        """How many values are at or below x; or, for the lower end of a range, how many are below it."""
        if not isinstance(self.domain, Numbers):
            return self.domain.key(x) + (not lower)
        place = (self.domain.number(x) - self.domain.start) * self.domain.steps / self.domain.width
        found = (place - _ROUNDING).__ceil__() if lower else (place + 1 + _ROUNDING).__floor__()  # a grid point may be a little off itself
        return min(max(found, 0), self.domain.size)

    @property
    def _middle(self) -> float:
        """The middle of the numbers: means are taken around it, where the error of the total matters least."""
        if isinstance(self.domain, Categories):
            raise ParameterError("domain", self.domain, allowed="numbers", fix="use median() instead: labels have an order, but no mean")
        if isinstance(self.domain, Numbers):
            return float(self.domain.start + self.domain.width / 2)
        return (self.domain.low if isinstance(self.domain, Integers) else 0) + (self.domain.size - 1) / 2

    @cached_property
    def _numbers(self) -> Array:
        """The average number of each cell, around the middle."""
        self._middle  # noqa: B018  # labels are refused
        return np.asarray((self.line.starts + (self.line.widths - 1) / 2 - (self.domain.size - 1) / 2) * self._step)

    @property
    def _step(self) -> float:
        """How far apart neighboring numbers are."""
        return float(self.domain.width / self.domain.steps) if isinstance(self.domain, Numbers) else 1.0

    def _number(self, number: float) -> Any:
        return self.domain.shown(number) if isinstance(self.domain, Numbers) else number

    # --- what people see ---

    def further(self) -> dict[str, Any]:
        return {"frequency": self.frequencies[self.law.ends - 1]}

    def brief(self) -> dict[str, list[str]]:
        """Some quantiles: single values are for charts and tables."""
        lines = [(self.quantile(q), *self.quantile_interval(q)) for q in QUANTILES] if self.n else []
        columns = {name: [str(line[place]) for line in lines] for place, name in enumerate(("value", "low", "high"))}
        return {"": [f"{100 * q:.0f} % at most" for q in QUANTILES[: len(lines)]], **columns}

    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure(mark="steps", number="frequency", axis="share of people"),
            Figure(mark="curve", number="cdf", axis="at or below", percent=True),
        )


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _several(x: Any) -> Any:
    return x if isinstance(x, list | tuple | np.ndarray) else [x]
