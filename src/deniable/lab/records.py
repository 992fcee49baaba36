"""What experiments with real rows share: crowds drawn from them with replacement, and methods that are one way of several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from deniable.contract.record import UNWRITTEN, Document
from deniable.contract.source import Source
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below
from deniable.lab.methods import Method
from deniable.lab.populations.base import Population, require_one_of
from deniable.local.oracle_choice import check_people


def draw_rows(n: int, rows: int, source: Source | None) -> Array:
    """For each of n people which of so many rows is theirs, each as likely as another.

    >>> from deniable.testing import ReplaySource
    >>> draw_rows(5, 10, ReplaySource.from_key("docs")).tolist()
    [4, 2, 5, 0, 5]
    """
    check_people(n)
    drawn = np.zeros(n, dtype=np.uint32)
    serve_everyone(n, lambda part, words: fill_below(np.uint64(rows), drawn[part], words), source)
    return drawn


@dataclass(frozen=True)
class RecordSetup(Document):
    """A fit to records of so many features, with an epsilon, for so many people."""

    noun = "setup"
    way: str
    population: Any = field(metadata=UNWRITTEN)
    epsilon: float
    people: int
    derived: ClassVar[tuple[str, ...]] = ("features",)

    @property
    def features(self) -> int:
        """How many features a record has."""
        return int(self.population.features)


@dataclass(frozen=True)
class OneWay(Method):
    """One of some ``ways`` to fit a model to one kind of ``crowd``."""

    way: str
    label: str

    ways: ClassVar[tuple[str, ...]]
    crowd: ClassVar[type[Population]]

    def __post_init__(self) -> None:
        require_one_of(self.ways, "way", self.way)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, self.crowd):
            name = self.crowd.__name__
            raise ParameterError("population", population, allowed=f"records of {name}", fix=f"take {name}")
        return RecordSetup(self.way, population, epsilon, n)

    def identity(self) -> str:
        return repr((self.way, self.label))
