"""Follow the regularized leader on noisy sums: the sums of losses cost privacy once, and choices cost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np

from deniable.accounting import ZCDP, Event, account
from deniable.accounting.budget import budget_of
from deniable.accounting.event import float_above, positive
from deniable.central.binary_tree import BinaryTreeCounter
from deniable.central.selection import ExponentialMechanism
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.core.run import Steps
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.learning.experts import best_rate, check_game, check_losses, hedge_bound, promise
from deniable.tasks.learning.play import ExpertProtocol, play_of

_TOGETHER = 1024


@typed
@dataclass(frozen=True, kw_only=True)
class TreeExperts(ExpertProtocol):
    """Follow expert i with probability proportional to e^(-rate M_i), M_i the expert's noisy losses so far.

    **How.** A binary tree counts the losses of each expert, on a grid of 1 / ``resolution``, with discrete Gaussian noise. The choice is
    drawn from the noisy sums, so it costs nothing more, and the rate is the best one without privacy. Fresh noise is added until every
    sum has as much as one of all levels: with the same law on every day, the regret can be bounded.

    **Guarantee.** One day (its whole vector of losses) moves every expert's entry by at most ``resolution`` steps, replaced or removed
    alike: the rho of k trees, each with a k-th of it.

    **Regret.** Per day, in expectation, for losses fixed beforehand: at most rate / 8 + (ln(k) / rate + s sqrt(2 ln k)) / T, where s is the
    standard error of a sum. For a choice depends on its own day's noise alone, so all days may be taken to share one noise Z; then this is
    weighted majority that begins with the losses Z, and E max(Z_i - min Z) <= s sqrt(2 ln k). The noise grows like sqrt(k) ln T, not like
    sqrt(T): it wins over many days and few experts.

    >>> few, many = (TreeExperts(experts=10, days=days, epsilon=1.0, delta=1e-6, neighbors="replace") for days in (1000, 100_000))
    >>> round(few.regret_bound, 3), round(many.regret_bound, 4)
    (0.341, 0.0086)

    References: Kalai, Vempala 2005; Jain, Kothari, Thakurta 2012; Agarwal, Singh 2017.
    """

    experts: int
    days: int
    epsilon: float
    delta: float
    neighbors: str
    resolution: int = 1

    def __post_init__(self) -> None:
        check_game(self.experts, self.days, self.neighbors)
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        positive("delta", self.delta, below=1.0)
        object.__setattr__(self, "delta", float(self.delta))
        self._counter(None)  # refuses what cannot be kept

    @cached_property
    def rho(self) -> float:
        """The privacy cost of all trees together."""
        return float(budget_of(self.epsilon, self.delta, "zCDP").rho) * (1 - 1e-12)

    @property
    def rate(self) -> float:
        """The learning rate: free to choose, since the sums are noisy already."""
        return best_rate(self.experts, self.days)

    @property
    def event(self) -> Event:
        """All choices together, as accountants take them."""
        return ZCDP(rho=float_above(self._counter(None).exact_rho * self.experts), neighbors=self.neighbors)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for one day's losses, over all choices."""
        bill = account(self.event, delta=self.delta, rules=("zCDP",))
        return promise(bill.epsilon, self.delta, self.neighbors, "exact law, zCDP composition")

    @property
    def spread(self) -> float:
        """The standard error of one noisy sum of losses."""
        counter = self._counter(None)
        return sqrt(counter.levels) * counter.scale / self.resolution

    @property
    def regret_bound(self) -> float:
        """An upper bound on the expected regret per day, for losses that were fixed beforehand."""
        return min(1.0, hedge_bound(self.rate, self.experts, self.days) + self.spread * sqrt(2 * log(self.experts)) / self.days)

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Estimate:
        """Follow experts through days of losses (an array of days x experts), and see each day only after choosing."""
        table = check_losses(values, self.experts, self.days)
        losses, days = self._grid(table), Steps(len(table), progress)
        counters = [self._counter(source) for _ in range(self.experts)]
        draw = ExponentialMechanism(epsilon=self.rate, sensitivity=self.resolution, neighbors="add-remove", monotone=True)
        fresh = self._fresh(counters[0], source)
        chosen, sums = [], np.zeros(self.experts, dtype=np.int64)
        for entries in losses.tolist():
            chosen.append(draw.choose((-sums - next(fresh)).tolist(), source))  # of what is noisy already: no privacy is spent
            sums = np.array([int(counter.add(entry)) for counter, entry in zip(counters, entries, strict=True)])
            days.next()
        return play_of(chosen, self.experts, learner=self.kind, guarantee=self.guarantee)

    def _fresh(self, counter: BinaryTreeCounter, source: Source | None) -> Iterator[Array]:
        """For each day, the noise that its sums lack to all levels; drawn for many days at a time."""
        for start in range(0, self.days, _TOGETHER):
            missing = [counter.levels - day.bit_count() for day in range(start, min(start + _TOGETHER, self.days))]
            drawn = counter.noise.draws(sum(missing) * self.experts, source).reshape(-1, self.experts)
            for end, count in zip(np.cumsum(missing).tolist(), missing, strict=True):
                yield drawn[end - count : end].sum(axis=0)

    def _counter(self, source: Source | None) -> BinaryTreeCounter:
        return BinaryTreeCounter(
            horizon=self.days, sensitivity=self.resolution, neighbors=self.neighbors, rho=self.rho / self.experts, source=source
        )

    def _grid(self, table: Array) -> Array:
        steps = np.rint(table * self.resolution)
        if not np.array_equal(steps, table * self.resolution):
            allowed = f"whole multiples of 1 / {self.resolution}"
            raise DomainError(
                "losses", "losses between the steps of the grid", allowed=allowed, fix="pass resolution=, or round the losses"
            )
        return np.asarray(steps.astype(np.int64))
