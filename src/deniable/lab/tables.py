"""A real table of records, and ways to learn how its columns go together.

The table is Fair's survey of 6,366 married women (Redbook, 1974; ``statsmodels.datasets.fair``): how they rate their marriage, whether they
had an affair, how religious they are, and their age. A crowd of n people is drawn from its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.metadata import version
from math import pi, sqrt
from typing import Any

import numpy as np

from deniable.contract.domain import Domain, IndexRange, Integers
from deniable.contract.numbers import Numbers
from deniable.contract.record import Document
from deniable.contract.source import Source
from deniable.core.cells import KeyedTable
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require_one_of
from deniable.tasks.marginals.columns import Columns, Names
from deniable.tasks.marginals.components import positions
from deniable.tasks.marginals.designs import METHODS, wanted
from deniable.tasks.marginals.groups import oracle_for
from deniable.tasks.marginals.protocol import Marginals

COLUMNS: dict[str, Domain] = {
    "marriage": Integers(1, 5),
    "affair": IndexRange(2),
    "religious": Integers(1, 4),
    "age": Numbers(17, 42, steps=5),
}
"""Ratings from very poor to very good, no or yes, from not to strongly, and age in six bins around 17, 22, ... 42."""

ROWS = 6366


@dataclass(frozen=True)
class Marriages(Population, named=False):
    """The rows of Fair's survey: a value is the cell that a record falls into, of 240.

    >>> crowd = Marriages()
    >>> crowd.values.size, round(float(crowd.probabilities.max()), 4), crowd.describe()
    (214, 0.044, 'Fair, 1974')
    """

    def table(self) -> tuple[Any, Array]:
        try:
            from statsmodels import datasets  # type: ignore[import-untyped]  # it has no types
        except ModuleNotFoundError as error:
            raise MissingExtra("Marriages", "lab", error.name) from error
        rows = datasets.fair.load_pandas().data
        if len(rows) != ROWS:
            raise ParameterError("statsmodels", f"{len(rows)} rows", allowed=f"{ROWS} of fair", fix="install a supported version")
        read = {"marriage": rows["rate_marriage"], "religious": rows["religious"], "age": rows["age"]}
        table = {name: column.to_numpy() for name, column in read.items()} | {"affair": (rows["affairs"] > 0).to_numpy()}
        table |= {name: table[name].astype(np.int64) for name in ("marriage", "religious", "affair")}
        return np.unique(cells_of(KeyedTable(table, COLUMNS)), return_counts=True)

    def describe(self) -> str:
        return "Fair, 1974"

    def identity(self) -> str:
        self.table()  # the extra that is missing is named there
        return f"{self!r}, statsmodels {version('statsmodels')}"  # another edition may have other rows


def cells_of(table: KeyedTable) -> Array:
    """The cells that records fall into, as numbers."""
    found: Array = np.zeros(len(next(iter(table.values()))), dtype=np.int64)
    for name, domain in COLUMNS.items():
        found = found * domain.size + table[name].astype(np.int64)
    return found


def records_of(cells: Array) -> dict[str, Array]:
    """The records that fall into some cells, as columns of values."""
    columns = Columns.of(COLUMNS)
    found = {}
    for name, domain in COLUMNS.items():
        values = np.array([domain.value(key) for key in range(domain.size)])
        found[name] = values[positions(tuple(COLUMNS), (name,), columns.sizes)][cells]
    return found


@dataclass(frozen=True)
class WholeBudgetSplit(Document):
    """The naive way: everybody answers about every pair of columns, each time with the same part of epsilon. Private, and expensive."""

    noun = "setup"
    epsilon: float
    n: int
    pairs: tuple[Names, ...]
    way: str = "everything"


@dataclass(frozen=True)
class Pairs(Method):
    """All pairs of columns by a method of ``Marginals``, "everything" for the naive way, or "guess" for nobody asked: all cells alike."""

    method: str
    label: str

    def __post_init__(self) -> None:
        allowed = ("auto", *METHODS, "everything", "guess")
        require_one_of(allowed, "method", self.method)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, Marriages):
            raise ParameterError("population", population.describe(), allowed="a table of records", fix="Marriages()")
        if self.method in ("everything", "guess"):
            return WholeBudgetSplit(epsilon, n, wanted(Columns.of(COLUMNS), 2, None))
        return Marginals(columns=COLUMNS, epsilon=epsilon, method=self.method, people=n)

    def run(self, setup: Any, values: Any, source: Source) -> Outcome:
        columns = Columns.of(COLUMNS)
        pairs = wanted(columns, 2, None)
        places = [positions(tuple(COLUMNS), pair, columns.sizes)[values] for pair in pairs]
        truth = np.concatenate([np.bincount(place, minlength=columns.cells(pair)) for place, pair in zip(places, pairs, strict=True)])
        if self.method == "guess":
            counts = np.concatenate([np.full(columns.cells(pair), len(values) / columns.cells(pair)) for pair in pairs])
            return Outcome(range(truth.size), truth, counts)
        if isinstance(setup, Marginals):
            table = setup.run(records_of(values), source=source)
            found: list[FrequencyEstimate] = [table[pair] for pair in pairs]
        else:
            specs = [oracle_for(columns.cells(pair), setup.epsilon / len(pairs), setup.n) for pair in pairs]
            found = [s.estimate(s.tally(s.privatize(place, source=source))) for s, place in zip(specs, places, strict=True)]
        errors = np.concatenate([estimate.stderr for estimate in found])
        expected = float(errors.sum()) / sqrt(2 * pi) / max(int(truth.sum()), 1)
        predicted = {"tv": expected} if np.isfinite(expected) else {}  # a group that nobody is in
        return Outcome(range(truth.size), truth, np.concatenate([estimate.counts for estimate in found]), predicted=predicted)

    @property
    def gives(self) -> set[str]:
        return {"counts"}

    def identity(self) -> str:
        return repr([getattr(self, f.name) for f in fields(self)])
