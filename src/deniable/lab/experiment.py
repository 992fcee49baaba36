"""An experiment: a declared grid of populations, mechanisms, epsilons, numbers of people and repetitions.

Every cell of the grid has a replay key of its own, derived from all that the cell depends on. Crowd and noise are drawn from the stream of
this key, so any cell can be run again, alone and anywhere, with the same result; and a run that was interrupted knows what is done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import prod
from typing import TYPE_CHECKING, Any

from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon
from deniable.contract.replay import ReplaySource
from deniable.errors import ParameterError
from deniable.lab.methods import Method
from deniable.lab.outcome import known_metric
from deniable.lab.populations.base import Population
from deniable.local.oracle_choice import check_people

if TYPE_CHECKING:
    from deniable.core.chart import Chart

AXES = ("epsilon", "n")
QUICK = 2
"""Repetitions of a quick run."""


@dataclass(frozen=True)
class GridCell:
    """One repetition of one mechanism on one population."""

    population: Population
    method: Method
    epsilon: float
    n: int
    repetition: int
    key: str

    def describe(self) -> str:
        """Return the cell in one line."""
        what = f"{self.method.label} on {self.population.describe()}"
        return f"{what}, epsilon = {self.epsilon:g}, n = {self.n}, repetition {self.repetition} (replay key {self.key})"


@typed
@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A grid of cells to run, and what to measure.

    >>> from deniable.lab.methods import Oracle
    >>> from deniable.lab.populations import Zipf
    >>> experiment = Experiment(
    ...     name="docs",
    ...     title="GRR against OUE",
    ...     populations=[Zipf(1.1, 16)],
    ...     mechanisms=[Oracle("GRR"), Oracle("OUE")],
    ...     epsilons=[1.0, 4.0],
    ...     people=[1000],
    ...     repetitions=3,
    ...     metrics=["mse"],
    ... )
    >>> len(experiment.cells), experiment.cells[0].key
    (12, 'd04c786cf8a6af5556b3a2f7c2bf0285')
    >>> [row] = experiment.measure(experiment.cells[0])
    >>> row["mechanism"], row["metric"], round(row["value"]), round(row["predicted"])
    ('GRR', 'mse', 8014, 6172)
    """

    name: str
    """The name of its files."""
    title: str
    """The title of its chart."""
    populations: Sequence[Population]
    """The populations to ask."""
    mechanisms: Sequence[Method]
    """The methods to compare."""
    epsilons: Sequence[float]
    """The epsilons."""
    people: Sequence[int]
    """The sizes of the crowds."""
    repetitions: int
    """The number of runs of each combination, each with a new crowd."""
    metrics: Sequence[str]
    """What is measured, by name."""
    against: str = "epsilon"
    """What the chart's horizontal axis shows: ``epsilon`` or ``n``."""
    leave_out: bool = False
    """True to leave out combinations that a mechanism does not support and list them in ``left_out``; otherwise they are refused."""
    example: Callable[[], Chart] | None = None
    """A picture of single outcomes next to the chart of all: an importable function that draws it."""
    question: str = ""
    """The question that it answers."""
    found: str = ""
    """What its chart shows, in one to three sentences."""

    def __post_init__(self) -> None:
        for name in ("populations", "mechanisms", "epsilons", "people", "metrics"):
            values = getattr(self, name)
            if not isinstance(values, Sequence) or isinstance(values, str) or not values:
                raise ParameterError(name, values, allowed="a list of one or more", fix="put a single one in a list")
            object.__setattr__(self, name, tuple(values))
        if not isinstance(self.name, str) or not self.name or not self.name.replace("-", "").replace("_", "").isalnum():
            raise ParameterError("name", self.name, allowed="letters, digits and dashes", fix="choose a name that can be a file name")
        object.__setattr__(self, "epsilons", tuple(check_epsilon(epsilon) for epsilon in self.epsilons))
        for n in self.people:
            check_people(n)
        if type(self.repetitions) is not int or self.repetitions < 1:
            raise ParameterError(
                "repetitions", self.repetitions, allowed="an integer from 1 on", fix="try 100, which shows differences of a few percent"
            )
        if self.against not in AXES:
            raise ParameterError("against", self.against, allowed=f"one of {AXES}", fix="try epsilon")
        self._check_names()
        self._check_metrics()

    def _check_names(self) -> None:
        labels = {"mechanisms": [m.label for m in self.mechanisms], "populations": [p.describe() for p in self.populations]}
        for name, told in (labels | {name: list(getattr(self, name)) for name in ("epsilons", "people", "metrics")}).items():
            if len(set(told)) < len(told):
                raise ParameterError(name, told, allowed="each once", fix="give one of them another label, or drop it")

    def _check_metrics(self) -> None:
        for name in self.metrics:
            needs = known_metric(name).needs
            lacking = [method.label for method in self.mechanisms if needs not in method.gives]
            if lacking:
                allowed = f"metrics of what {lacking[0]} gives; {name} needs {NEEDS[needs]}"
                raise ParameterError("metrics", name, allowed=allowed, fix="leave out the metric, or change the mechanism")
            if needs == "numbers" and any(population.labeled for population in self.populations):
                raise ParameterError("metrics", name, allowed="metrics of labels, which have no distance", fix="tv is one")

    @cached_property
    def _grid(self) -> tuple[tuple[GridCell, ...], tuple[str, ...]]:
        cells: list[GridCell] = []
        left_out: dict[str, None] = {}
        for population in self.populations:
            identity = population.identity()
            for method in self.mechanisms:
                for epsilon in self.epsilons:
                    for n in self.people:
                        try:
                            setup = method.setup(population, epsilon, n)
                        except ParameterError as error:
                            if not self.leave_out:
                                raise
                            left_out[f"{method.label} on {population.describe()}, epsilon = {epsilon:g}: {error}"] = None
                            continue
                        parts = [self.name, identity, method.identity(), digest_of(setup), repr(epsilon), n]
                        cells += [GridCell(population, method, epsilon, n, i, key_of(*parts, i)) for i in range(self.repetitions)]
        if not cells:
            raise ParameterError("mechanisms", [m.label for m in self.mechanisms], allowed="one that can do this", fix=next(iter(left_out)))
        return tuple(cells), tuple(left_out)

    @property
    def size(self) -> int:
        """The number of cells in the grid, including those that are left out."""
        return prod(len(axis) for axis in (self.populations, self.mechanisms, self.epsilons, self.people)) * self.repetitions

    @property
    def cells(self) -> tuple[GridCell, ...]:
        """All cells in the order of the declaration, repetitions last."""
        return self._grid[0]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The combinations that mechanisms do not support, and why."""
        return self._grid[1]

    def measure(self, cell: GridCell) -> list[dict[str, Any]]:
        """Run one cell, and return a row for each metric."""
        source = ReplaySource.from_key(cell.key)
        values = cell.population.draw(cell.n, source)
        setup = cell.method.setup(cell.population, cell.epsilon, cell.n, cell.repetition)
        outcome = cell.method.run(setup, values, source)
        shared = {
            "experiment": self.name,
            "population": cell.population.describe(),
            "mechanism": cell.method.label,
            "spec": digest_of(setup),
            "epsilon": cell.epsilon,
            "n": cell.n,
            "repetition": cell.repetition,
            "replay_key": cell.key,
        }
        rows = []
        for name in self.metrics:
            predicted = cell.method.expected(name, outcome, cell.population, cell.epsilon, cell.n)
            rows.append(shared | {"metric": name, "value": known_metric(name)(outcome), "predicted": predicted})
        return rows

    def quick(self) -> Experiment:
        """Return a quick version: two repetitions with the smallest crowd. Its cells are cells of the whole experiment."""
        return replace(self, repetitions=min(self.repetitions, QUICK), people=(min(self.people),))


NEEDS = {
    "counts": "counts of all values",
    "distribution": 'a distribution: postprocess "norm-sub"',
    "numbers": 'a distribution: postprocess "norm-sub"',
    "list": "a list of the most frequent values: k",
    "hits": "counts of a list: a SetSearch",
    "targets": "false reports: an Attack",
    "rate": "someone who watches: an Observer",
    "regret": "someone who learns: a Learner",
    "foretold": "a model: a Fitted",
}


def key_of(*parts: Any) -> str:
    """A replay key: 128 bits of the digest of all that a cell depends on."""
    return sha256(json.dumps(["deniable/experiment/1", *parts]).encode()).hexdigest()[:32]


def digest_of(setup: Any) -> str:
    """The digest of a spec's or protocol's canonical JSON."""
    return sha256(setup.canonical).hexdigest()
