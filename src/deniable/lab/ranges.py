"""Ways to ask about ranges in the lab, and a crowd to ask: how often people saw a doctor in a year."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import version
from math import sqrt
from typing import Any

import numpy as np

from deniable.contract.domain import Domain, IndexRange
from deniable.contract.record import Document, wire
from deniable.contract.source import Source
from deniable.errors import MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population
from deniable.tasks.ranges.ahead import AHEAD
from deniable.tasks.ranges.choice import predicted_haar, predicted_tree
from deniable.tasks.ranges.haar import HaarHRR
from deniable.tasks.ranges.hierarchy import Hierarchy

ROWS = 20_190
LIMIT = 256
"""Visits are asked for from 0 to 255; the most in the data are 77."""


@dataclass(frozen=True)
class DoctorVisits(Population, named=False):
    """How often 20,190 people saw a doctor in a year (RAND health insurance experiment, in statsmodels), drawn with replacement.

    >>> crowd = DoctorVisits()
    >>> crowd.domain, crowd.probabilities[:4].round(3).tolist()
    (IndexRange(count=256), [0.312, 0.189, 0.139, 0.093])
    """

    def table(self) -> tuple[Any, Array]:
        try:
            from statsmodels import datasets  # type: ignore[import-untyped]  # it has no types
        except ModuleNotFoundError as error:
            raise MissingExtra("DoctorVisits", "lab", error.name) from error
        visits = datasets.randhie.load_pandas().data["mdvis"].to_numpy(dtype=np.int64)
        if visits.size != ROWS:
            raise ParameterError("statsmodels", f"{visits.size} rows", allowed=f"{ROWS} of randhie", fix="install a supported version")
        return np.arange(LIMIT), np.bincount(visits, minlength=LIMIT).astype(float)

    @property
    def domain(self) -> Domain:
        return IndexRange(LIMIT)

    def describe(self) -> str:
        return "doctor's visits"

    def identity(self) -> str:
        self.table()
        return f"Visits(), statsmodels {version('statsmodels')}"  # another edition may have other rows; the words make replay keys


@dataclass(frozen=True)
class EvenLine(Document):
    """The guess without asking anyone: people are spread evenly."""

    noun = "setup"
    domain: Domain = field(metadata=wire(name="guess"))


@dataclass(frozen=True)
class Ranges(Method):
    """A way to ask about ranges: ``branching`` of a tree, 0 for HaarHRR, -1 for AHEAD, 1 for flat; None guesses, without asking anyone.

    >>> from deniable.lab.populations import Uniform
    >>> Ranges("B = 4", 4).setup(Uniform(0, 255), 1.0, 1000).widths
    (64, 16, 4, 1)
    """

    label: str
    branching: int | None

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        domain = population.domain
        if self.branching is None:
            return EvenLine(domain)
        if self.branching == 0:
            return HaarHRR(domain=domain, epsilon=epsilon)
        if self.branching == -1:
            return AHEAD(domain=domain, epsilon=epsilon, people=n)
        return Hierarchy(domain=domain, epsilon=epsilon, people=n, branching=domain.size if self.branching == 1 else self.branching)

    def run(self, setup: Any, values: Any, source: Source) -> Outcome:
        size = setup.domain.size
        truth = np.bincount(np.asarray(values) - int(setup.domain.value(0)), minlength=size)
        counts = np.full(size, len(values) / size) if isinstance(setup, EvenLine) else setup.run(values, source=source).counts
        return Outcome([setup.domain.value(key) for key in range(size)], truth, counts)

    @property
    def gives(self) -> set[str]:
        return {"counts"}

    def identity(self) -> str:
        return repr(self)

    def expected(self, metric: str, outcome: Outcome, population: Population, epsilon: float, n: int) -> float | None:
        if metric != "range_error" or self.branching is None or self.branching < 0:
            return None
        size = population.domain.size
        if self.branching == 0:
            return sqrt(predicted_haar(size, epsilon=epsilon)[0] / n)
        branching = size if self.branching == 1 else self.branching
        return sqrt(predicted_tree(size, branching, epsilon=epsilon, people=n)[0] / n)
