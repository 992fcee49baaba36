"""Learning from experts day by day: randomized weighted majority, and its private form with the accountant's learning rate.

Each day every one of k experts has a loss between 0 and 1. The learner follows one of them, chosen before the losses are seen, with
probability proportional to e^(-rate L_i), L_i the expert's losses so far. That is the exponential mechanism with the utilities -L_i.

**Guarantee.** The protected unit is one day: its whole vector of losses. Replacing it moves every L_i by at most 1, in either direction, so
each choice is the exponential mechanism with sensitivity 1 and epsilon_t = 2 rate: of bounded range 2 rate, (rate^2 / 2)-zCDP. Adding or
removing a day (its losses, or none) moves all L_i in one direction, and epsilon_t = rate. The choices of T days compose adaptively: later
losses may depend on what was chosen.

**The rate.** The slides' rate is epsilon / sqrt(32 T ln(1 / delta)). By the composition theorem of 2010 it keeps (epsilon, delta) only
while epsilon is below about 4 ln(1 / delta), and up to there it uses a quarter of what bounded range allows. Here the largest rate that
keeps the promise is found by the accountant itself, for any epsilon; and the best rate without privacy where that is smaller.

**Regret.** The learner's loss beyond the best expert's is on average over T days, in expectation and for losses that were fixed beforehand,
at most rate / 8 + ln(k) / (rate T).

References: Littlestone, Warmuth 1994; Freund, Schapire 1997; Cesa-Bianchi, Lugosi 2006 (theorem 2.2); Dwork, Roth 2014 (section 11.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np

from deniable.accounting import BoundedRange, Event, Repeated, account, calibrate
from deniable.accounting.event import ADD_REMOVE, NEIGHBORS, check_neighbors, positive
from deniable.central.grid import LARGEST_STEP, as_numbers
from deniable.central.selection import ExponentialMechanism
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import SMALLEST_EPSILON, check_epsilon
from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.core.run import Steps
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.learning.play import ExpertProtocol, play_of

ONE_DAY = "the losses of all experts on one day, over all choices together"


@typed
@dataclass(frozen=True, kw_only=True)
class WeightedMajority(ExpertProtocol):
    """Follow expert i with probability proportional to e^(-rate L_i), exactly, with a rate that keeps a promise.

    ``days`` is how long the game lasts at most, T. Without ``epsilon`` nothing is promised, and the rate is the best one without privacy,
    sqrt(8 ln(k) / T).

    >>> learner = WeightedMajority(experts=10, days=1000, epsilon=1.0, delta=1e-6, neighbors="replace")
    >>> round(learner.rate, 5), round(learner.regret_bound, 3), learner.guarantee.epsilon <= 1.0
    (0.00698, 0.331, True)
    >>> from deniable.tasks.learning import regret
    >>> from deniable.testing import ReplaySource
    >>> losses = [[0] + [1] * 9] * 1000
    >>> round(regret(losses, learner.run(losses, source=ReplaySource.from_key("experts"))), 3)
    0.32
    """

    experts: int
    days: int
    epsilon: float | None = None
    delta: float = 0.0
    neighbors: str

    def __post_init__(self) -> None:
        check_game(self.experts, self.days, self.neighbors)
        positive("delta", self.delta, zero=True, below=1.0)
        object.__setattr__(self, "delta", float(self.delta))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        self.mechanism  # noqa: B018  # refuses what cannot be kept

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        """How an expert is chosen on one day."""
        monotone = self.neighbors == ADD_REMOVE  # losses are not negative: a day more moves all of them up
        wanted = best_rate(self.experts, self.days) * (1 if monotone else 2)
        if self.epsilon is not None and self._cost(wanted) > self.epsilon:
            allowed: float = self.epsilon
            wanted = calibrate(lambda each: self._cost(each) <= allowed, safe=SMALLEST_EPSILON, risky=wanted, name="epsilon")
        return ExponentialMechanism(epsilon=wanted, sensitivity=1, neighbors=self.neighbors, monotone=monotone)

    def _cost(self, each: float) -> float:
        """The privacy cost of all days together, by the rules for bounded range."""
        event = repeated(BoundedRange(epsilon=each, neighbors=self.neighbors), self.days)
        return account(event, delta=self.delta, rules=("basic", "zCDP")).epsilon

    @property
    def rate(self) -> float:
        """The learning rate."""
        return float(self.mechanism.rate)

    @property
    def event(self) -> Event:
        """All choices together, as accountants take them."""
        return repeated(self.mechanism.event, self.days)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one day's losses, over all choices."""
        bill = account(self.event, delta=self.delta, rules=("basic", "zCDP"))
        return promise(bill.epsilon, self.delta, self.neighbors, f"exact law, {bill.certificate} composition")

    @property
    def regret_bound(self) -> float:
        """An upper bound on the expected regret per day, for losses that were fixed beforehand."""
        return min(1.0, hedge_bound(self.rate, self.experts, self.days))

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Estimate:
        """Follow experts through days of losses (an array of days x experts), and see each day only after choosing."""
        table = check_losses(values, self.experts, self.days)
        totals, steps = [0] * self.experts, Steps(len(table), progress)
        chosen = []
        for day in exact_days(table):
            chosen.append(self.mechanism.choose([-total for total in totals], source))
            totals = [total + loss for total, loss in zip(totals, day, strict=True)]
            steps.next()
        return play_of(chosen, self.experts, learner=self.kind, guarantee=self.guarantee)


def best_rate(experts: int, days: int) -> float:
    """Return the rate with the smallest bound on the regret: sqrt(8 ln(k) / T)."""
    return sqrt(8 * log(experts) / days)


def hedge_bound(rate: float, experts: int, days: int) -> float:
    """Return an upper bound on the regret per day of weighted majority: rate / 8 + ln(k) / (rate T).

    >>> round(hedge_bound(best_rate(10, 1000), 10, 1000), 4)
    0.0339
    """
    return rate / 8 + log(experts) / (rate * days)


def slides_rate(epsilon: float, delta: float, days: int) -> float:
    """Return the slides' rate, for comparison: epsilon / sqrt(32 T ln(1 / delta)); it is valid for epsilon up to about 4 ln(1 / delta)."""
    return epsilon / sqrt(32 * days * log(1 / delta))


def repeated(event: Event, times: int) -> Event:
    """Return an event that happens this many times."""
    return event if times == 1 else Repeated(event=event, times=times)


def promise(epsilon: float, delta: float, neighbors: str, certificate: str) -> Guarantee:
    """Return the guarantee of a learner for one day."""
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        model=ExpertProtocol.trust,
        unit=ONE_DAY,
        neighbors=NEIGHBORS[neighbors].replace("person", "day"),
        honest="the learner",
        certificate=certificate,
    )


def exact_days(table: Array) -> list[list[Any]]:
    """Return the losses as numbers that add up without rounding: rounded sums could move by more than a day's loss."""
    return [[Fraction(loss) for loss in day] for day in table.tolist()] if table.dtype.kind == "f" else table.tolist()


def check_game(experts: int, days: int, neighbors: str) -> None:
    """Raise unless a game has valid numbers of experts and days."""
    check_whole("experts", experts, 2, LARGEST_STEP, fix="use at least two experts")
    check_whole("days", days, 1, LARGEST_STEP)
    check_neighbors(neighbors)


def check_losses(losses: Any, experts: int, days: int) -> Array:
    """Return the losses as an array of days x experts, all between 0 and 1."""
    table = as_numbers("losses", losses)
    if table.ndim != 2 or table.shape[1] != experts or table.shape[0] > days:
        allowed = f"numbers, up to {days} days x {experts} experts"
        raise DomainError("losses", f"shape {table.shape} of {table.dtype}", allowed=allowed, fix="pass one row per day")
    bad = ~((table >= 0) & (table <= 1))
    if bad.any():
        day, expert = (int(place) for place in np.argwhere(bad)[0])
        received = f"{table[day, expert]} of expert {expert} on day {day}"
        raise DomainError("losses", received, allowed="from 0 to 1", fix="divide by the largest possible loss")
    return table
