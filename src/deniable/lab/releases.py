"""Releases of a series in the lab: each mechanism of ``tasks.series`` by its name, what it is off by, and what theory says about that."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
import scipy

from deniable.contract.form import written_only
from deniable.contract.record import Document, wire
from deniable.contract.source import Source
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require_one_of
from deniable.lab.series_crowds import Drawn, SeriesCrowd, Switching
from deniable.tasks.series import EFPA, FPA, LPA, Decimation, RootChanges, TreeChanges
from deniable.tasks.series.basis import Cosine

WAYS: dict[str, Any] = {"LPA": LPA, "FPA": FPA, "EFPA": EFPA, "decimation": Decimation, "tree": TreeChanges, "root": RootChanges}
CONSTANT = "constant"
PARTS = ("all", "noise", "lost")
SINGLE = 2.9
"""The excess kurtosis from which noise is a single Laplace variable, which has 3; of two that weigh the same it is 1.5."""


def _told(parameters: tuple[tuple[str, Any], ...]) -> dict[str, str]:
    return {name: repr(value) for name, value in parameters}


@dataclass(frozen=True)
class SeriesSetup(Document):
    """A mechanism for series of so many points."""

    noun = "setup"
    way: str
    points: int
    epsilon: float
    parameters: tuple[tuple[str, Any], ...] = field(metadata=wire(form=written_only(_told)))

    @property
    def changes(self) -> int | None:
        """How often people may change, where that matters."""
        return dict(self.parameters).get("changes")


@lru_cache(maxsize=64)
def mechanism_of(plan: SeriesSetup) -> Any:
    """The mechanism itself; what is known about its noise is worked out once."""
    return WAYS[plan.way](points=plan.points, epsilon=plan.epsilon, **dict(plan.parameters))


@dataclass(frozen=True)
class SeriesRelease(Method):
    """One way to release a series: its ``mae``, mean absolute error at a point, is measured, and predicted where k is fixed.

    Without a ``k``, FPA takes the grid's number for it. ``part`` shows what the error is made of: only the noise, or only what is lost
    by keeping few frequencies. ``smooth`` keeps so many cosines of what was released, which costs no privacy. The way "constant" says
    half of the people at all times, and looks at nothing.
    """

    way: str
    label: str
    parameters: Any = ()
    part: str = "all"
    smooth: int | None = None

    def __post_init__(self) -> None:
        require_one_of((*WAYS, CONSTANT), "way", self.way)
        if self.part not in PARTS or (self.part != "all" and self.way not in ("LPA", "FPA", "decimation")):
            raise ParameterError("part", self.part, allowed=f"one of {PARTS}, of a fixed mechanism", fix="leave out part")
        object.__setattr__(self, "parameters", tuple(sorted(dict(self.parameters).items())))

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, SeriesCrowd):
            raise ParameterError("population", population, allowed="a crowd over time", fix="use Switching or Recorded")
        own = dict(self.parameters)
        if self.way == "FPA":
            own.setdefault("k", n)
        if "changes" in own and not isinstance(population, Switching):
            raise ParameterError("population", population.describe(), allowed="people whose changes are known", fix="use Switching")
        plan = SeriesSetup(self.way, population.points, epsilon, tuple(sorted(own.items())))
        if self.way != CONSTANT:
            mechanism_of(plan)  # refuses what cannot be
        return plan

    def run(self, setup: SeriesSetup, values: Drawn, source: Source) -> Outcome:
        truth = values.sums
        if self.way == CONSTANT:
            said = np.full(truth.size, values.people / 2)
            return Outcome(range(truth.size), truth, said, predicted={"mae": float(np.abs(said - truth).mean())})
        asked = truth if setup.changes is None else values.limited(setup.changes)
        estimate = mechanism_of(setup).release(asked, source=source)
        kept = estimate.spec.reconstruct(estimate.spec.ask(asked))
        if self.part == "lost":
            return Outcome(range(truth.size), truth, kept)
        told = estimate.point - (kept - truth if self.part == "noise" else 0)
        if self.smooth is not None:
            basis = Cosine(truth.size)
            told = basis.series(basis.coefficients(told, self.smooth))
        known = self.way != "EFPA" and self.smooth is None  # its noise depends on what it chose, and that on the data
        bias = np.zeros(truth.size) if self.part == "noise" else kept - truth
        predicted = {"mae": expected_error(bias, estimate.stderr, estimate.law.kurtosis)} if known else {}
        return Outcome(range(truth.size), truth, told, predicted=predicted)

    @property
    def gives(self) -> set[str]:
        return {"counts"}

    def identity(self) -> str:
        return repr([getattr(self, f.name) for f in fields(self)])


def expected_error(bias: Array, stderr: Array, kurtosis: Array) -> float:
    """The mean over all points of E|bias + noise|.

    For normal noise that is the mean of a folded normal law. The excess kurtosis x of the noise adds x / 24 times the fourth derivative of
    the normal density to its law (Edgeworth), and so stderr x (b^2 - 1) phi(b) / 12 to the mean, with b = bias / stderr. A single Laplace
    variable would come out 1.3 % too small, and has a mean of its own: |bias| + s e^(-|bias| / s), with s its scale. Sums of several are
    next to exact.

    >>> round(expected_error(np.zeros(1), np.ones(1), np.zeros(1)), 4), round(expected_error(np.zeros(1), np.ones(1), np.full(1, 3.0)), 4)
    (0.7979, 0.7071)
    """
    b = bias / stderr
    folded = 2 * scipy.stats.norm.pdf(b) + b * (2 * scipy.stats.norm.cdf(b) - 1)
    several = folded + kurtosis * (b**2 - 1) * scipy.stats.norm.pdf(b) / 12
    single = np.abs(b) + np.exp(-sqrt(2) * np.abs(b)) / sqrt(2)
    return float(np.mean(stderr * np.where(kurtosis > SINGLE, single, several)))
