"""The time series of a population whose devices answer repeatedly, each from its memoized answers.

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

**Counters** (``OneBitMeanPM``). The alpha of a device is the same in all periods, and so is its bit as long as its grid point is. With V
the variance of a period's mean and C that of the mean of bits seen as they are kept, gamma left out::

    covariance of two periods     from 0 to the root of C1 C2: both grow with the counters, whatever alpha is
    variance of a change          at most V1 + V2; less 2 s C0 where a share s keeps its counter, C0 being the least that C can be
    variance of an average        at most (sum of V + 2 sum of root C1 C2) / T^2, which does not go below about C

So statements hold no matter whose counter moved; ``stay`` makes those about changes sharper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
import scipy

from deniable.client.longitudinal import Longitudinal
from deniable.contract.arguments import typed
from deniable.contract.numbers import Numbers
from deniable.contract.readable import percent
from deniable.core.estimate import Estimate
from deniable.core.interval import NORMAL_FROM, NORMAL_TAILS_FROM, Limits
from deniable.core.law import CountLaw, Joined, Law
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_noise_only


@typed
def repeated(spec: Longitudinal, tallies: Sequence[Tally], *, candidates: Any = None, stay: float | None = None) -> RepeatedEstimate:
    """Return the series behind the tallies of successive periods of the same people: of counts, or of the mean of a counter.

    ``stay`` is the share of people whose value stays the same from any one period to any other, where it is known. It sharpens statements
    about changes and, unless values share permanent answers (``spec.distinct`` is False), about averages. Without it they hold no matter
    who changed. ``candidates`` are the values to count, where the domain is too large to list.

    >>> from deniable.client import LongitudinalGRR
    >>> from deniable.local.longitudinal.crowd import Crowd
    >>> from deniable.testing import ReplaySource
    >>> spec = LongitudinalGRR(domain_size=3, epsilon=4.0, first_epsilon=2.0)
    >>> crowd = Crowd(spec, source=ReplaySource.from_key("series"))
    >>> days = [[0] * (6000 - 1000 * day) + [1] * (1000 + 1000 * day) + [2] * 3000 for day in range(3)]
    >>> series = repeated(spec, [spec.tally(crowd.report(values)) for values in days])
    >>> np.round(series.table[:, 0]).tolist()
    [6093.0, 4936.0, 3937.0]
    >>> series.change(0, 2)
    change from period 0 to 2, LongitudinalGRR, an unknown share of the people keep their value; low and high: 95 %, noise only
    value  change  stderr     low    high
    0      -2,156    75.4  -2,304  -2,008
    1       2,066    68.8   1,931   2,201
    2        89.6    71.1   -49.7     229
    """
    if not isinstance(spec, Longitudinal):
        allowed = "a longitudinal mechanism"
        raise ParameterError(
            "spec", spec, allowed=allowed, fix="estimate each period and compare: periods are independent for other mechanisms"
        )
    if not tallies:
        raise ParameterError("tallies", tallies, allowed="one or more", fix="pass the tally of each period")
    if stay is not None and (isinstance(stay, bool) or not isinstance(stay, int | float) or not 0 <= stay <= 1):
        raise ParameterError("stay", stay, allowed="a share from 0 to 1, or None", fix="leave out the share if you do not know it")
    return RepeatedEstimate.of(spec, [spec.estimate(tally, candidates=candidates) for tally in tallies], stay)


@dataclass(frozen=True, eq=False, kw_only=True)
class Together(Law):
    """Sums over periods of the same people, with a weight for each period; ``errors`` say how far the periods' errors hang together.

    Limits are by the normal law where there are plenty of reports, and else from the limits of all periods, each with its part of the
    error: these hold however the errors hang together.
    """

    n: Any
    laws: tuple[Law, ...]
    weights: Array
    errors: Array
    """The standard error of each sum."""
    plenty: bool
    """True if there are enough reports for a single statement."""
    far: bool
    """True if there are enough for many statements together."""

    @cached_property
    def point(self) -> Array:
        return np.asarray(self.weights @ np.array([law.point for law in self.laws]))

    def variance(self, at: Array, *, population: bool = False) -> Array:
        check_noise_only(population)
        return np.asarray(self.errors**2)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        check_noise_only(population)
        if self.far if family else self.plenty:
            reach = scipy.stats.norm.isf(alpha / 2) * self.errors
            return self.point - reach, self.point + reach
        sides = np.array([law.limits(alpha / len(self.laws)) for law in self.laws])  # periods x low and high x numbers
        less, more = np.minimum(self.weights, 0.0), np.maximum(self.weights, 0.0)
        return more @ sides[:, 0] + less @ sides[:, 1], more @ sides[:, 1] + less @ sides[:, 0]

    def select(self, positions: Array) -> Together:
        return replace(self, laws=tuple(law.select(positions) for law in self.laws), errors=self.errors[positions])

    def settled(self) -> Together:
        return replace(self, laws=tuple(law.settled() for law in self.laws))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RepeatedEstimate(Estimate):
    """One number for each period, or one for each value in each period; period after period.

    Intervals are about each number on its own. Their errors repeat from period to period: ``change`` and ``average`` account for that.
    """

    law: Joined
    spec: Longitudinal
    """The mechanism of all periods."""
    periods: tuple[Any, ...]
    """The estimate of each period."""
    stay: float | None = None
    """The share of people whose value stays the same between any two periods; None if nobody knows it."""

    kind: str = "repeated"

    @classmethod
    def of(cls, spec: Longitudinal, periods: Sequence[Any], stay: float | None) -> Self:
        """The series of the estimates of single periods."""
        places, mean, domain = range(len(periods)), spec.numeric, spec.domain
        return cls(
            values=list(places) if mean else [(value, place) for place in places for value in periods[0].values],
            law=Joined(np.array([period.n for period in periods]), tuple(period.law for period in periods)),
            about=_about(f"{len(periods)} periods", spec, stay),
            guarantee=spec.guarantee,
            quantity=periods[0].quantity,
            family_size=sum(period.family_size for period in periods),
            axes=("value",) if mean else ("value", "period"),
            figure={"mark": "curve"} if mean else {"mark": "curve", "group": "value"},
            spec=spec,
            periods=tuple(periods),
            stay=stay,
            unit=domain if isinstance(domain, Numbers) and domain.times and periods[0].quantity == "mean" else None,
        )

    @property
    def table(self) -> Array:
        """The numbers, periods x values; of counters, periods x 1."""
        return np.array([period.point for period in self.periods])

    # --- several periods together ---

    def change(self, first: int, last: int) -> Estimate:
        """Return how much each number grew from the first of two periods to the last.

        People who keep their value make this more certain, so without ``stay`` nobody does.
        """
        variance = self._variance(first) + self._variance(last) - 2 * self._least(first, last)
        about = f"change from period {first} to {last}"
        return self._together([first, last], [-1.0, 1.0], variance, quantity="change", about=about)

    def average(self) -> Estimate:
        """Return each number's average over the periods.

        People who keep their permanent answer make this less certain, so everybody does, without ``stay`` or where values share answers.
        """
        places = range(len(self.periods))
        alone = sum(map(self._variance, places), np.zeros(len(self.periods[0].values)))
        shared = sum((self._most(*pair) for pair in combinations(places, 2)), np.zeros(alone.size))
        weights, variance = [1 / len(places)] * len(places), (alone + 2 * shared) / len(places) ** 2
        return self._together(places, weights, variance, quantity=self.quantity, about=f"average over {len(places)} periods")

    def _together(self, places: Sequence[int], weights: list[float], variance: Array, *, quantity: str, about: str) -> Estimate:
        mean = self.spec.numeric
        enough = min(period.n if mean else period.law.enough for period in self.periods)
        law = Together(
            n=np.array([self.periods[place].n for place in places]),
            laws=tuple(self.periods[place].law for place in places),
            weights=np.array(weights),
            errors=np.sqrt(np.maximum(variance, 0.0)),
            plenty=bool(enough >= NORMAL_FROM),
            far=bool(enough >= (NORMAL_FROM if mean else NORMAL_TAILS_FROM)),
        )
        return Estimate(
            values=list(self.periods[0].values),
            law=law,
            about=_about(about, self.spec, self.stay),
            guarantee=self.guarantee,
            quantity=quantity,
            family_size=self.periods[0].family_size,
        )

    def _variance(self, place: int) -> Array:
        law = self.periods[place].law
        at = np.clip(law.point, 0, law.n) if isinstance(law, CountLaw) else law.point
        return np.asarray(np.maximum(law.variance(at), 0.0))

    def _least(self, first: int, last: int) -> Array:
        """The covariance of two periods, at least."""
        if not self.spec.numeric:
            return self._covariance(first, last, self.stay or 0.0)
        fewer, more = sorted([self.periods[first].n, self.periods[last].n])
        kept = self.spec.permanent_variance(max(more, 1), value=self.spec.domain.low)  # type: ignore[attr-defined]  # of numbers
        return np.array([(self.stay or 0.0) * fewer / max(more, 1) * kept])

    def _most(self, first: int, last: int) -> Array:
        """The covariance of two periods, at most."""
        if not self.spec.numeric:
            return self._covariance(first, last, self.stay if self.stay is not None and self.spec.distinct else 1.0)
        return np.sqrt([np.prod([self.spec.permanent_variance(max(self.periods[place].n, 1)) for place in (first, last)])])

    def _covariance(self, first: int, last: int, stay: float) -> Array:
        """Of two periods' counts; those who stay hold a value as often as in the period where fewer do."""
        both = min(self.periods[first].n, self.periods[last].n)
        most = np.sqrt(self._variance(first) * self._variance(last))
        if self.spec.overlapping:  # how far values overlap is in the variance alone: what it allows, at most
            part = 1.0 if self.stay is None else self.spec.permanent_variance(1) / self.spec.variance(1)  # type: ignore[attr-defined]  # of counts
            return np.asarray(stay * part * most)
        held = np.clip(np.minimum(self.periods[first].point, self.periods[last].point), 0, both)
        none, all_ = self.spec.permanent_variance(both), self.spec.permanent_variance(both, f=1.0)
        return np.asarray(np.minimum(stay * (none + (all_ - none) * held / max(both, 1)), most))


def _about(what: str, spec: Longitudinal, stay: float | None) -> str:
    known = "an unknown share" if stay is None else percent(stay)
    return f"{what}, {spec.mechanism}, {known} of the people keep their {spec.kept_as}"
