"""One question under different trust: how many say yes, if people trust a curator, a shuffler, or nobody.

Each way is calibrated to the same epsilon (a shuffler's with a delta), for replacing one person's answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from math import pi, sqrt
from typing import Any

import numpy as np

from deniable.central.laplace import Laplace
from deniable.client.rr import RR
from deniable.contract.record import Document
from deniable.contract.source import Source
from deniable.errors import ParameterError
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require_one_of
from deniable.shuffle.binary_sum import ShuffledBinarySum
from deniable.shuffle.split_and_mix import SplitAndMixSum

WAYS = ("central", "shuffle", "split and mix", "local")


@dataclass(frozen=True)
class Yes(Document):
    """How many of n say yes, asked in one way."""

    noun = "setup"
    way: str
    epsilon: float
    delta: float
    n: int

    @cached_property
    def mechanism(self) -> Any:
        """What answers."""
        promise: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "n": self.n}
        if self.way == "central":
            return Laplace(epsilon=self.epsilon, sensitivity=1, neighbors="replace")
        if self.way == "shuffle":
            return ShuffledBinarySum(**promise)
        return SplitAndMixSum(low=0, high=1, steps=1, **promise) if self.way == "split and mix" else RR(epsilon=self.epsilon)

    def answer(self, values: Any, source: Source) -> float:
        """The estimated number of people who say yes."""
        asked = self.mechanism
        if self.way == "central":
            return float(asked.release(int(np.sum(values)), source=source))
        if self.way == "local":
            return float(asked.estimate(asked.tally(asked.privatize(values, source=source))).counts[1])
        estimate = asked.run(values, source=source)
        return float(estimate.counts[1] if self.way == "shuffle" else estimate.value)

    @property
    def mean_error(self) -> float:
        """The mean distance from the truth, in people: of discrete Laplace noise exactly, otherwise as of a normal law."""
        if self.way in ("central", "split and mix"):
            a = float(np.exp(-self.epsilon))
            return 2 * a / (1 - a * a)
        spec = self.mechanism.spec if self.way == "shuffle" else self.mechanism
        return sqrt(2 / pi * spec.variance(self.n))


@dataclass(frozen=True)
class Trust(Method):
    """One of the ways to ask, by name."""

    way: str
    label: str
    delta: float = 1e-6

    def __post_init__(self) -> None:
        require_one_of(WAYS, "way", self.way)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if population.domain.size != 2:
            raise ParameterError("population", population.describe(), allowed="two values: no and yes", fix="Multinomial([0.7, 0.3])")
        return Yes(self.way, epsilon, self.delta, n)

    def run(self, setup: Yes, values: Any, source: Source) -> Outcome:
        yes = setup.answer(values, source)
        return outcome_of(values, yes, {"tv": setup.mean_error / setup.n})

    @property
    def gives(self) -> set[str]:
        return {"counts"}

    def identity(self) -> str:
        return repr([getattr(self, f.name) for f in fields(self)])


@dataclass(frozen=True)
class ReferenceLine(Trust):
    """No mechanism: a share that is off by exactly n to this power, for a line to compare with."""

    power: float = -0.5

    def run(self, setup: Yes, values: Any, source: Source) -> Outcome:
        off = setup.n**self.power
        return outcome_of(values, float(np.sum(values)) + off * setup.n, {"tv": off})


def outcome_of(values: Any, yes: float, predicted: Mapping[str, float]) -> Outcome:
    """The truth about a yes-no question, and an estimate of it."""
    truth = np.bincount(np.asarray(values), minlength=2)
    return Outcome([0, 1], truth, np.array([truth.sum() - yes, yes]), predicted=predicted)
