"""What the series of counts and of means have in common: periods by themselves, and limits for several of them together."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from deniable.contract.guarantee import Guarantee
from deniable.contract.spec import Spec
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits, check_level
from deniable.core.mean import MeanEstimate
from deniable.core.table import Table
from deniable.kernels.compiled import Array


class Periods(Table):
    """One estimate for each period, of the same people; a subclass says how their errors hang together."""

    spec: Spec
    periods: tuple[FrequencyEstimate, ...] | tuple[MeanEstimate, ...]
    stay: float | None
    _held: ClassVar[str]
    """What some of the people keep from period to period."""

    @property
    def guarantee(self) -> Guarantee:
        """What answering in all periods costs a person whose value stays the same; a change of it is not covered."""
        return self.spec.guarantee

    @property
    def n(self) -> Array:
        """How many people reported in each period."""
        return np.array([period.n for period in self.periods])

    @property
    def stderr(self) -> Array:
        """The standard error of each number by itself."""
        return np.array([period.stderr for period in self.periods])

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each number of each period; for all of them together if simultaneous."""
        check_level("level", level)
        each = 1 - (1 - level) / (len(self.periods) if simultaneous else 1)  # Bonferroni needs no independence
        low, high = zip(*(self._limits(place, each, simultaneous) for place in range(len(self.periods))), strict=True)
        return np.array(low), np.array(high)

    @abstractmethod
    def _limits(self, place: int, level: float, simultaneous: bool) -> tuple[Any, Any]:
        """Limits of one period; for all its numbers together if simultaneous."""

    # --- several periods together ---

    @abstractmethod
    def change(self, first: int, last: int) -> Any:
        """How much each number grew from the first of two periods to the last."""

    @abstractmethod
    def change_stderr(self, first: int, last: int) -> Any:
        """The standard error of each change."""

    def _change_limits(self, first: int, last: int, alpha: float, *, plenty: bool) -> tuple[Any, Any]:
        """By the normal law where there are plenty of reports; else from the limits of both periods."""
        if plenty:
            reach = stats.norm.isf(alpha / 2) * self.change_stderr(first, last)
            return self.change(first, last) - reach, self.change(first, last) + reach
        (low_1, high_1), (low_2, high_2) = (self.periods[place].interval(1 - alpha / 2) for place in (first, last))
        return low_2 - high_1, high_2 - low_1

    @property
    @abstractmethod
    def average(self) -> Any:
        """Each number on average over the periods."""

    @property
    @abstractmethod
    def average_stderr(self) -> Any:
        """The standard error of each average."""

    def _average_limits(self, alpha: float, *, plenty: bool) -> tuple[Any, Any]:
        """By the normal law where there are plenty of reports; else from the limits of all periods."""
        if plenty:
            reach = stats.norm.isf(alpha / 2) * self.average_stderr
            return self.average - reach, self.average + reach
        low, high = zip(*(period.interval(1 - alpha / len(self.periods)) for period in self.periods), strict=True)
        return np.mean(low, axis=0), np.mean(high, axis=0)

    # --- what people see ---

    def headline(self) -> str:
        known = "an unknown share" if self.stay is None else f"{100 * self.stay:.4g} %"
        about = f"{len(self.periods)} periods, {self.spec.mechanism}; low and high: 95 %, noise only"
        return f"{about}; {known} of the people keep their {self._held}"
