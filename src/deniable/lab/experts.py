"""Learners in the lab: sequences of losses, and what learners lose on them beyond the best expert.

The number of people of the grid is here the number of **days**, and a population is a sequence of losses of 0 and 1, fixed beforehand:

========  =========================================================================================================================
random    every expert loses at random, half of the days, and one expert on two days of five
needle    one expert is always right and all others are always wrong: who learns slowly loses most
comb      experts are ranked by their losses, and a coin decides whether all odd or all even ranks lose: nobody can learn anything,
          and by luck some expert is ahead (Gravin, Peres, Sivan 2016: close to the worst for any learner)
========  =========================================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.central.selection import ExponentialMechanism
from deniable.contract.record import Document
from deniable.contract.source import ONE, Source
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require_one_of
from deniable.local.oracle_choice import check_people
from deniable.tasks.learning import TreeExperts, WeightedMajority, regret
from deniable.tasks.learning.experts import slides_rate

KINDS = ("random", "needle", "comb")
LEARNERS = ("no privacy", "weighted majority", "slides", "tree")
DELTA = 1e-6


@dataclass(frozen=True)
class LossSequence(Population, named=False):
    """A sequence of days, each with a loss of 0 or 1 for every expert.

    >>> from deniable.testing import ReplaySource
    >>> LossSequence("needle", 3).draw(2, ReplaySource.from_key("docs")).tolist()
    [[0, 1, 1], [0, 1, 1]]
    """

    kind: str
    experts: int = 10

    def __post_init__(self) -> None:
        require_one_of(KINDS, "kind", self.kind)

    def table(self) -> tuple[Any, Array]:
        return np.arange(self.experts), np.ones(self.experts)

    def describe(self) -> str:
        return f"{self.kind} losses of {self.experts} experts"

    def draw(self, n: int, source: Source | None = None) -> Any:
        """The losses of n days, as an array of days x experts; the best expert is one that a word picks."""
        check_people(n)
        words = np.empty(n * self.experts + 1, dtype=np.uint64)

        def serve(part: slice, given: Array) -> tuple[int, int]:
            taken = min(part.stop - part.start, given.size)
            words[part.start : part.start + taken] = given[:taken]
            return taken, taken

        serve_everyone(words.size, serve, source)
        best, coins = int(words[0] % np.uint64(self.experts)), words[1:].reshape(n, self.experts)
        if self.kind == "comb":
            return _comb(coins[:, 0] < np.uint64(ONE // 2), self.experts)
        if self.kind == "needle":
            return np.broadcast_to(np.arange(self.experts) != best, coins.shape).astype(np.int64)
        limits = np.full(self.experts, ONE // 2, dtype=np.uint64)
        limits[best] = ONE * 2 // 5
        return (coins < limits).astype(np.int64)


def _comb(odd: Array, experts: int) -> Array:
    losses, totals = np.zeros((odd.size, experts), dtype=np.int64), np.zeros(experts, dtype=np.int64)
    for day, first in enumerate(odd.tolist()):
        ranked = np.argsort(totals, kind="stable")
        losses[day, ranked[0 if first else 1 :: 2]] = 1
        totals += losses[day]
    return losses


class SlidesMajority(WeightedMajority, abstract=True):  # for the lab alone: nobody stores it
    """Weighted majority with the slides' rate, for days that are replaced."""

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        each = 2 * slides_rate(self.epsilon or 0.0, self.delta, self.days)
        return ExponentialMechanism(epsilon=each, sensitivity=1, neighbors=self.neighbors)


@dataclass(frozen=True)
class Game(Document):
    """A learner for a number of days."""

    noun = "setup"
    learner: str
    experts: int
    days: int
    epsilon: float

    @cached_property
    def made(self) -> WeightedMajority | TreeExperts:
        """The learner itself."""
        options: dict[str, Any] = {"experts": self.experts, "days": self.days, "neighbors": "replace"}
        if self.learner == "no privacy":
            return WeightedMajority(**options)
        if self.learner == "tree":
            return TreeExperts(epsilon=self.epsilon, delta=DELTA, **options)
        kind = SlidesMajority if self.learner == "slides" else WeightedMajority
        return kind(epsilon=self.epsilon, delta=DELTA, **options)


@dataclass(frozen=True)
class Learner(Method):
    """A learner, by name: its regret per day is measured, and its bound is the prediction."""

    learner: str
    label: str

    def __post_init__(self) -> None:
        require_one_of(LEARNERS, "learner", self.learner)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, LossSequence):
            raise ParameterError(
                "population", population, allowed="a LossSequence", fix="use a LossSequence, since learners need days of losses"
            )
        return Game(self.learner, population.experts, n, epsilon)

    def run(self, setup: Game, values: Any, source: Source) -> Outcome:
        made = setup.made
        return Outcome([], np.empty(0), rate=regret(values, made.run(values, source=source)), predicted={"regret": made.regret_bound})

    @property
    def gives(self) -> set[str]:
        return {"regret"}

    def identity(self) -> str:
        return repr((self.learner, self.label))
