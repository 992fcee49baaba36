"""The time series of a mean whose devices report a counter again and again, each from its alpha and the bits that it keeps.

Each period's tally has the law of one report of each device. What is different is anything about *several* periods. The alpha of a device
is the same in all of them, and so is its bit as long as its grid point is. With V the variance of a period's mean and C that of the mean of
bits seen as they are kept, gamma left out::

    covariance of two periods     from 0 to the root of C1 C2: both grow with the counters, whatever alpha is
    variance of a change          at most V1 + V2; less 2 s C0 where a share s keeps its counter, C0 being the least that C can be
    variance of an average        at most (sum of V + 2 sum of root C1 C2) / T^2, which does not go below about C

So statements hold whoever's counter moved; ``stay`` makes those about changes sharper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.client.one_bit_mean_pm import OneBitMeanPM
from deniable.core.interval import NORMAL_FROM, check_level
from deniable.core.mean import MeanEstimate
from deniable.kernels.compiled import Array
from deniable.tasks.series.periods import Periods

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedMean(Periods):
    """One mean for each period; ``means`` and ``stderr`` have an entry for each."""

    spec: OneBitMeanPM
    """The mechanism of all periods."""
    periods: tuple[MeanEstimate, ...]
    """The estimate of each period."""
    stay: float | None = field(default=None, kw_only=True)
    """The share of people whose counter stays the same between any two periods; None if nobody knows it."""

    _held: ClassVar[str] = "counter"

    @cached_property
    def means(self) -> Array:
        """The estimated mean of each period."""
        return np.array([period.center for period in self.periods])

    def _limits(self, place: int, level: float, simultaneous: bool) -> tuple[float, float]:
        return self.periods[place].interval(level)

    # --- several periods together ---

    def change(self, first: int, last: int) -> float:
        """How much the mean grew from the first of two periods to the last."""
        return float(self.means[last] - self.means[first])

    def change_stderr(self, first: int, last: int) -> float:
        """The standard error of a change from the first of two periods to the last, at most.

        People whose counter stays the same make it smaller.
        """
        both = max(self.n[first], self.n[last], 1)
        shared = (self.stay or 0.0) * min(self.n[first], self.n[last]) / both * self._still.variance(int(both), value=self.spec.low)
        return float(np.sqrt(max(self._variance(first) + self._variance(last) - 2 * shared, 0.0)))

    def change_interval(self, first: int, last: int, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high) for a change from the first of two periods to the last."""
        check_level("level", level)
        low, high = self._change_limits(first, last, 1 - level, plenty=self._plenty)
        return float(low), float(high)

    @property
    def average(self) -> float:
        """The mean on average over the periods."""
        return float(self.means.mean())

    @property
    def average_stderr(self) -> float:
        """The standard error of the average, at most: as if everybody's bit were the same in all periods."""
        alone, roots = sum(self._variance(place) for place in range(len(self.periods))), np.sqrt([self._kept(n) for n in self.n])
        shared = roots.sum() ** 2 - (roots**2).sum()  # twice the sum over all pairs
        return float(np.sqrt(alone + shared) / len(self.periods))

    def average_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high) for the average."""
        check_level("level", level)
        low, high = self._average_limits(1 - level, plenty=self._plenty)
        return float(low), float(high)

    @property
    def _plenty(self) -> bool:
        return bool(self.n.min() >= NORMAL_FROM)

    @cached_property
    def _still(self) -> OneBitMeanPM:
        """The same without output perturbation."""
        return OneBitMeanPM(domain=self.spec.domain, epsilon=self.spec.epsilon)

    def _kept(self, n: int) -> float:
        """The variance of a mean of bits as they are kept, at most."""
        return self._still.variance(max(int(n), 1))

    def _variance(self, place: int) -> float:
        return self.periods[place].noise if self.periods[place].n else float("inf")

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": np.arange(len(self.periods)), "mean": self.means, "stderr": self.stderr, "low": low, "high": high}

    def order(self) -> Array:
        return np.arange(len(self.periods))

    def chart(self) -> Chart:
        """The means with the band of their 95 % intervals."""
        from deniable.tasks.charts import line_chart

        note = "band: 95 % intervals, each by itself; their errors repeat from period to period"
        return line_chart(self.means, self.interval(), title="The mean over time", subtitle=note, time="period", axis="mean")
