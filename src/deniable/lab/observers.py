"""What an observer learns from the reports of one device over time: its value, that the value changed, and which reports belong together.

The observer is the best there is: it knows the mechanism and weighs every permanent answer that the reports may come from. Every value is
equally likely. The number of people of the grid is here the number of **reports** in a phase: so many are sent while a value is held.
What is measured, ``observed``, is how often the observer is right.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from math import exp
from typing import Any

import numpy as np

from deniable.client.longitudinal import LongitudinalSpec
from deniable.contract.source import Source
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require_one_of
from deniable.local.longitudinal.crowd import Crowd

TASKS = ("value", "change", "expected", "link")
DEVICES = 200
"""Devices behind one repetition."""
_NEVER = -1e9


@dataclass(frozen=True)
class Observer(Method):
    """An observer's task, and the mechanism that it watches.

    ``value``: which value is it? ``expected``: the same, when it has moved on ``moves`` times to the next one, as an age does.
    ``change``: did the value change between two phases? ``link``: are two phases of one device or of two? Chance is one in d for values,
    and a half for the others. With ``forgetful`` devices keep no state, and draw everything anew for each report.

    ``first`` is the share of epsilon that one report has.
    """

    task: str
    mechanism: str
    parameters: Any = ()
    label: str = ""
    first: float | None = 0.5
    moves: int = 0
    forgetful: bool = False

    def __post_init__(self) -> None:
        known = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, LongitudinalSpec))
        if self.mechanism not in known:
            raise ParameterError("mechanism", self.mechanism, allowed=f"one of {known}", fix="check the spelling")
        require_one_of(TASKS, "task", self.task)
        object.__setattr__(self, "parameters", tuple(sorted(dict(self.parameters).items())))
        object.__setattr__(self, "label", self.label or self.mechanism)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> LongitudinalSpec:
        options = dict(self.parameters) | {"domain": population.domain, "epsilon": epsilon}
        if self.first is not None:
            options["first_epsilon"] = self.first * epsilon
        made: Any = MECHANISMS[self.mechanism]
        spec: LongitudinalSpec = made(**options)
        if not spec.alike or len(spec.permanent_law(0, None)) > 64:
            allowed = "a mechanism with few answers that contain nothing personal"
            raise ParameterError("mechanism", self.mechanism, allowed=allowed, fix="use a small domain")
        return spec

    def run(self, setup: LongitudinalSpec, values: Any, source: Source) -> Outcome:
        watched = Watched(setup, len(values), self.forgetful)
        right = getattr(watched, f"_{self.task}")(self.moves, source)
        return Outcome([], np.empty(0), rate=float(right))

    @property
    def gives(self) -> set[str]:
        return {"rate"}

    def identity(self) -> str:
        return repr([getattr(self, f.name) for f in fields(self)])

    def expected(self, metric: str, outcome: Outcome, population: Population, epsilon: float, n: int) -> float | None:
        """No guess of a value is right more often than this, whatever the reports: the bound of epsilon, for each value that was held."""
        if self.task not in ("value", "expected") or self.forgetful:
            return None
        e = exp(epsilon * (1 + self.moves))
        return e / (e + population.domain.size - 1)


@dataclass(frozen=True)
class Watched:
    """Devices, and the likelihood of what they send."""

    spec: LongitudinalSpec
    reports: int
    forgetful: bool

    @property
    def answers(self) -> list[Any]:
        """Every answer."""
        return _tables(self.spec)[0]

    @property
    def again(self) -> Array:
        """The logarithm of the chance of each answer (column), given each permanent answer (row)."""
        return _tables(self.spec)[1]

    @property
    def kept(self) -> Array:
        """The chance of each permanent answer (column) for each value (row)."""
        return _tables(self.spec)[2]

    def phase(self, crowd: Crowd, values: Array) -> Array:
        """How often each device sends each answer while it holds its value."""
        counts = np.zeros((values.size, len(self.answers)), dtype=np.int64)
        for _ in range(self.reports):
            batch = Crowd(self.spec, source=crowd.source).report(values) if self.forgetful else crowd.report(values)
            rows = batch.rows()[:, sum(column.row_bytes for column in self.spec.personal_layout) :]
            numbers = rows.astype(np.int64) @ (256 ** np.arange(rows.shape[1]))
            counts[np.arange(values.size), np.searchsorted(self.answers, numbers)] += 1
        return counts

    def likelihood(self, counts: Array) -> Array:
        """The logarithm of the chance of the counts, devices x permanent answers."""
        if self.forgetful:
            fresh = np.log(self.kept @ np.exp(self.again))
            return np.asarray(counts @ fresh.T)  # devices x values: nothing is kept that could be weighed
        return np.asarray(counts @ self.again.T)

    def by_value(self, counts: Array) -> Array:
        """The logarithm of the chance of the counts, devices x values."""
        return self.likelihood(counts) if self.forgetful else _mixed(self.likelihood(counts), self.kept)

    def draw(self, source: Source, below: int) -> Array:
        """A value for each device."""
        return np.array([source.below(below) for _ in range(DEVICES)])

    # --- the observer's tasks: how often it is right ---

    def _value(self, moves: int, source: Source) -> float:
        return self._expected(0, source)

    def _expected(self, moves: int, source: Source) -> float:
        size = self.spec.domain_size
        values, crowd = self.draw(source, size), Crowd(self.spec, source=source)
        scores = np.zeros((DEVICES, size))
        for move in range(moves + 1):
            seen = self.by_value(self.phase(crowd, (values + move) % size))
            scores += np.roll(seen, -move, axis=1)
        best = scores >= scores.max(axis=1, keepdims=True) - 1e-9
        return float(np.mean(best[np.arange(DEVICES), values] / best.sum(axis=1)))

    def _change(self, moves: int, source: Source) -> float:
        """Half of the devices change to another value; the observer does not know which ones they are."""
        size = self.spec.domain_size
        values, other = self.draw(source, size), 1 + self.draw(source, size - 1)
        changed = np.arange(DEVICES) % 2 == 1
        crowd = Crowd(self.spec, source=source)
        first = self.phase(crowd, values)
        second = self.phase(crowd, np.where(changed, (values + other) % size, values))
        stays = _mean(self.by_value(first + second))
        one, two = self.by_value(first), self.by_value(second)
        moved = _mean(np.stack([one[:, value] + two[:, (value + step) % size] for value in range(size) for step in range(1, size)], axis=1))
        return _accuracy(moved - stays, changed)

    def _link(self, moves: int, source: Source) -> float:
        """Two phases of one device, or of two whose values have nothing to do with each other."""
        values, crowd = self.draw(source, self.spec.domain_size), Crowd(self.spec, source=source)
        first, second = self.phase(crowd, values), self.phase(crowd, values)
        same = np.arange(DEVICES) % 2 == 1
        second = np.where(same[:, None], second, np.roll(second, 2, axis=0))
        together = _mean(self.by_value(first + second))
        apart = _mean(self.by_value(first)) + _mean(self.by_value(second))
        return _accuracy(together - apart, same)


@lru_cache(maxsize=64)
def _tables(spec: LongitudinalSpec) -> tuple[list[Any], Array, Array]:
    answers = sorted(spec.permanent_law(0, None))
    with np.errstate(divide="ignore"):
        again = np.log([[float(law[answer]) for answer in answers] for law in map(spec.instantaneous_law, answers)])
    laws = [spec.permanent_law(key, None) for key in range(spec.domain_size)]
    return answers, np.maximum(again, _NEVER), np.array([[float(law[memo]) for memo in answers] for law in laws])


def _mixed(logs: Array, weights: Array) -> Array:
    """The logarithm of a weighted sum of exponentials, for each row of weights."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(logs - top) @ weights.T + 1e-300) + top)


def _mean(logs: Array) -> Array:
    """The logarithm of the mean of exponentials along the last axis."""
    return np.asarray(_mixed(logs, np.full((1, logs.shape[1]), 1 / logs.shape[1]))[:, 0])


def _accuracy(evidence: Array, truth: Array) -> float:
    """How often the sign of the evidence is right; no evidence is a fair coin."""
    sure = np.abs(evidence) > 1e-9
    return float(np.mean(np.where(sure, (evidence > 0) == truth, 0.5)))
