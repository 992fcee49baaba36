"""The time series of a population whose devices answer again and again, each from the permanent answers that it keeps.

Each period's tally has the law of one report of each device, so its own estimate and interval hold as they are. What is different is
anything about *several* periods: a device that keeps its value draws its reports from the same permanent answer, so its errors repeat.
With V the variance of a period's count and C that of a count from permanent answers seen as they are (``permanent_variance``)::

    covariance of two periods     s C       s: the share of people whose reports come from the same permanent answer in both
    variance of a change          V1 + V2 - 2 s C
    variance of an average        (sum of V + 2 sum of s C) / T^2        it does not go below about s C

Nobody knows s for sure. Without ``stay``, a change is given the error of s = 0 and an average that of s = 1: the larger one each time.
``stay`` is about values, and s about permanent answers. They are the same where every value has a permanent answer of its own
(``spec.distinct``). Where values share them, people who change may repeat their errors all the same, for some counts all of them: then
an average is given s = 1 whatever ``stay`` is. A change is given s = ``stay``: those who share besides only make it more certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.one_bit_mean_pm import OneBitMeanPM
from deniable.client.rappor import RAPPOR
from deniable.contract.arguments import typed
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import NORMAL_FROM, NORMAL_TAILS_FROM, Limits, check_level
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.series.counters import RepeatedMean
from deniable.tasks.series.periods import Periods

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@overload
def repeated(
    spec: LongitudinalSpec, tallies: Sequence[Tally], *, candidates: Any = None, stay: float | None = None
) -> RepeatedEstimate: ...
@overload
def repeated(spec: OneBitMeanPM, tallies: Sequence[Tally], *, candidates: Any = None, stay: float | None = None) -> RepeatedMean: ...
@typed
def repeated(
    spec: LongitudinalSpec | OneBitMeanPM, tallies: Sequence[Tally], *, candidates: Any = None, stay: float | None = None
) -> RepeatedEstimate | RepeatedMean:
    """The series behind the tallies of successive periods of the same people: of counts, or of the mean of a counter.

    ``stay`` is the share of people whose value stays the same from any one period to any other, where it is known. It sharpens statements
    about changes and, unless values share permanent answers (``spec.distinct`` is False), about averages. Without it they hold whoever
    changed. ``candidates`` are the values to count, where the domain is too large to list.

    >>> from deniable.client import LongitudinalGRR
    >>> from deniable.local.longitudinal.crowd import Crowd
    >>> from deniable.testing import ReplaySource
    >>> spec = LongitudinalGRR(domain_size=3, epsilon=4.0, first_epsilon=2.0)
    >>> crowd = Crowd(spec, source=ReplaySource.from_key("series"))
    >>> days = [[0] * (6000 - 1000 * day) + [1] * (1000 + 1000 * day) + [2] * 3000 for day in range(3)]
    >>> series = repeated(spec, [spec.tally(crowd.report(values)) for values in days])
    >>> np.round(series.counts[:, 0]).tolist()
    [6093.0, 4936.0, 3937.0]
    >>> low, high = series.change_interval(0, 2, level=0.99)
    >>> bool(low[0] < -2000 < high[0]), bool(low[2] < 0 < high[2])
    (True, True)
    """
    if not isinstance(spec, LongitudinalSpec | OneBitMeanPM):
        allowed = "a mechanism that answers again and again"
        raise ParameterError("spec", spec, allowed=allowed, fix="for others, periods are independent: estimate and compare them")
    if not tallies:
        raise ParameterError("tallies", tallies, allowed="one or more", fix="tally each period")
    if stay is not None and (isinstance(stay, bool) or not isinstance(stay, int | float) or not 0 <= stay <= 1):
        raise ParameterError("stay", stay, allowed="a share from 0 to 1, or None", fix="leave it out if you do not know it")
    if isinstance(spec, OneBitMeanPM):
        return RepeatedMean(spec, tuple(spec.estimate(tally, candidates=candidates) for tally in tallies), stay=stay)
    return RepeatedEstimate(spec, tuple(spec.estimate(tally, candidates=candidates) for tally in tallies), stay=stay)


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedEstimate(Periods):
    """One estimate for each period; ``counts`` and ``stderr`` are periods x values."""

    spec: LongitudinalSpec
    """The mechanism of all periods."""
    periods: tuple[FrequencyEstimate, ...]
    """The estimate of each period."""
    stay: float | None = field(default=None, kw_only=True)
    """The share of people whose value stays the same between any two periods; None if nobody knows it."""

    _held: ClassVar[str] = "value"

    @property
    def values(self) -> Sequence[Any]:
        """The values that are counted."""
        return self.periods[0].values

    @cached_property
    def counts(self) -> Array:
        """Estimated counts of each period."""
        return np.array([period.counts for period in self.periods])

    def _limits(self, place: int, level: float, simultaneous: bool) -> Limits:
        return self.periods[place].interval(level, simultaneous=simultaneous)

    # --- several periods together ---

    def change(self, first: int, last: int) -> Array:
        """How much each count grew from the first of two periods to the last."""
        return np.asarray(self.counts[last] - self.counts[first])

    def change_stderr(self, first: int, last: int) -> Array:
        """The standard error of each change from the first of two periods to the last.

        People who keep their value make it smaller, so without ``stay`` nobody does.
        """
        variance = self._variance(first) + self._variance(last) - 2 * self._covariance(first, last, self.stay or 0.0)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def change_interval(self, first: int, last: int, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each change from the first of two periods to the last; for all values together if simultaneous."""
        return self._change_limits(first, last, self._alpha(level, simultaneous), plenty=self._plenty(simultaneous))

    @property
    def average(self) -> Array:
        """Each count on average over the periods."""
        return np.asarray(self.counts.mean(axis=0))

    @property
    def average_stderr(self) -> Array:
        """The standard error of each average; people who keep their permanent answer make it larger.

        So everybody does, without ``stay`` or where values share permanent answers.
        """
        stay, several = self.stay if self.stay is not None and self.spec.distinct else 1.0, range(len(self.periods))
        alone = sum((self._variance(place) for place in several), np.zeros(len(self.values)))
        shared = sum((self._covariance(a, b, stay) for a in several for b in several[a + 1 :]), np.zeros(len(self.values)))
        return np.asarray(np.sqrt(np.maximum(alone + 2 * shared, 0.0)) / len(self.periods))

    def average_interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each average; for all values together if simultaneous."""
        return self._average_limits(self._alpha(level, simultaneous), plenty=self._plenty(simultaneous))

    def _alpha(self, level: float, simultaneous: bool) -> float:
        check_level("level", level)
        return (1 - level) / (self.periods[0].family_size if simultaneous else 1)

    def _plenty(self, simultaneous: bool) -> bool:
        return all(period.enough >= (NORMAL_TAILS_FROM if simultaneous else NORMAL_FROM) for period in self.periods)

    def _variance(self, place: int) -> Array:
        period = self.periods[place]
        return np.asarray(np.maximum(period.variance(np.clip(period.counts, 0, period.n)), 0.0))

    def _covariance(self, first: int, last: int, stay: float) -> Array:
        """Of two periods' counts; those who stay hold a value as often as in the period where fewer do."""
        both = min(self.periods[first].n, self.periods[last].n)
        most = np.sqrt(self._variance(first) * self._variance(last))
        if isinstance(self.spec, RAPPOR):  # how far filters overlap is in the variance alone: what it allows, at most
            part = 1.0 if self.stay is None else self.spec.permanent_variance(1) / self.spec.variance(1)
            return np.asarray(stay * part * most)
        held = np.clip(np.minimum(self.counts[first], self.counts[last]), 0, both)
        none, all_ = self.spec.permanent_variance(both), self.spec.permanent_variance(both, f=1.0)
        return np.asarray(np.minimum(stay * (none + (all_ - none) * held / max(both, 1)), most))

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        size = len(self.values)
        return {
            "value": list(self.values) * len(self.periods),
            "period": np.repeat(np.arange(len(self.periods)), size),
            "count": self.counts.ravel(),
            "stderr": self.stderr.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }

    def order(self) -> Array:
        return np.arange(self.counts.size)

    def chart(self, k: int = 5) -> Chart:
        """The k values with the largest averages over time, with their 95 % intervals."""
        from deniable.tasks.series.chart import series_chart

        return series_chart(self, np.argsort(-self.average, kind="stable")[:k])
