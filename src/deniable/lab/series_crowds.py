"""Crowds over time: sums at each of many points, made up by people who switch, or recorded.

========================  ==========================================================================================================
``Switching``             each person holds 0 or 1, and draws it anew once in 250 steps on average, from a share with two seasons and
                          a trend: the synthetic crowd that stands for the health records of the literature
``Recorded``              a series that was measured, scaled so that its largest point is everybody and its smallest nobody:
                          atmospheric CO2 (weekly), sunspots (yearly), or the sea at El Nino (monthly), from ``statsmodels``
========================  ==========================================================================================================

The number of people is the grid's, unless ``people`` is given. Then the grid's number is free for something else, as for the frequencies
that are kept.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

from deniable.contract.source import Source
from deniable.core.stream import random_numbers
from deniable.errors import MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.populations.base import Population, is_integer, require, require_one_of
from deniable.local.oracle_choice import check_people

AVERAGE = 250
"""Steps between two draws of a person who switches."""
RECORDED = {"co2": 2284, "sunspots": 309, "elnino": 732}
"""How many points each has: known without reading any, which takes a second."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A crowd over time: the sums, how many people there are, and who changed when, by how much; unknown for what was recorded."""

    sums: Array
    people: int
    changes: Array | None = None
    """Columns person, time and change, those of a person in the order of time."""

    @property
    def states(self) -> Array:
        """Everybody's own series, people x points."""
        person, time, change = self._changes
        moved = np.zeros((self.people, self.sums.size), dtype=np.int8)
        moved[person, time] = change
        return np.cumsum(moved, axis=1, dtype=np.int8)

    def limited(self, most: int) -> Array:
        """The sums if people change so often and stay as they are from then on."""
        person, time, change = self._changes[:, np.argsort(self._changes[0], kind="stable")]
        first = np.searchsorted(person, person)  # where a person's begin
        kept = np.arange(person.size) - first < most
        return np.cumsum(np.bincount(time[kept], weights=change[kept], minlength=self.sums.size))

    @property
    def _changes(self) -> Array:
        if self.changes is None:
            raise ParameterError("population", "a recorded series", allowed="people whose changes are known", fix="use Switching")
        return self.changes


@dataclass(frozen=True)
class SeriesCrowd(Population, named=False):
    """Sums over time, of ``people`` people, or of as many as the grid says."""

    people: int | None = None

    def __post_init__(self) -> None:
        good = self.people is None or (is_integer(self.people) and self.people >= 1)
        require(good, "people", self.people, "an integer from 1 on, or None", "leave out people to use the grid's number")

    @property
    @abstractmethod
    def points(self) -> int:
        """How many points in time there are."""

    def table(self) -> tuple[Any, Array]:
        return np.arange(2), np.ones(2)

    def describe(self) -> str:
        return self._name() + (f", {self.people:,} people" if self.people else "")

    @abstractmethod
    def _name(self) -> str: ...


@dataclass(frozen=True)
class Switching(SeriesCrowd, named=False):
    """People who hold 0 or 1 for a while.

    >>> from deniable.testing import ReplaySource
    >>> crowd = Switching(steps=2000).draw(1000, ReplaySource.from_key("docs"))
    >>> crowd.sums[[0, 500, 1999]].tolist(), crowd.changes.shape[1] / 1000
    ([383.0, 494.0, 557.0], 4.095)
    """

    steps: int = 2000

    def __post_init__(self) -> None:
        super().__post_init__()
        require(is_integer(self.steps) and self.steps >= 1, "steps", self.steps, "an integer from 1 on", "try 2,000, as in the literature")

    @property
    def points(self) -> int:
        return self.steps

    def _name(self) -> str:
        return f"switching, {self.steps:,} points"

    @property
    def share(self) -> Array:
        """The chance to draw a 1 at each step."""
        time = np.arange(self.steps)
        return 0.35 + 0.15 * np.sin(2 * np.pi * time / 1460) + 0.10 * np.sin(2 * np.pi * time / 365) + 0.1 * time / self.steps

    def draw(self, n: int, source: Source | None = None) -> Drawn:
        """The crowd, from draw to draw of each person: the waiting times in between are geometric."""
        check_people(people := self.people or n)
        share, time, holds = self.share, np.zeros(people, dtype=np.int64), np.zeros(people, dtype=bool)
        awake, changes = np.arange(people), []
        while awake.size:
            now = time[awake]
            drawn = random_numbers(2 * awake.size, source).reshape(2, -1)
            new = drawn[0] < share[now]
            moved = new != holds[awake]
            changes.append(np.stack([awake, now, np.where(new, 1, -1)])[:, moved])
            holds[awake] = new
            time[awake] += np.maximum(np.ceil(np.log1p(-drawn[1]) / np.log1p(-1 / AVERAGE)), 1).astype(np.int64)
            awake = awake[time[awake] < self.steps]
        listed = np.concatenate(changes, axis=1)
        return Drawn(np.cumsum(np.bincount(listed[1], weights=listed[2], minlength=self.steps)), people, listed)


@dataclass(frozen=True)
class Recorded(SeriesCrowd, named=False):
    """A series that was measured.

    >>> crowd = Recorded(name="sunspots").draw(1000)
    >>> crowd.sums.size, crowd.sums.min(), crowd.sums.max()
    (309, np.float64(0.0), np.float64(1000.0))
    """

    name: str = "co2"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(RECORDED, "name", self.name)

    @property
    def points(self) -> int:
        return RECORDED[self.name]

    def _name(self) -> str:
        return f"{self.name}, {self.points:,} points"

    def identity(self) -> str:
        recorded(self.name)
        return f"{self!r}, statsmodels {version('statsmodels')}"  # another edition may have another series

    def draw(self, n: int, source: Source | None = None) -> Drawn:
        """The series in whole people; nothing is drawn."""
        check_people(people := self.people or n)
        return Drawn(np.rint(people * recorded(self.name)), people)


@lru_cache(maxsize=len(RECORDED))
def recorded(name: str) -> Array:
    """A series from 0 to 1; weeks without a measurement lie on the straight line between their neighbors."""
    try:
        from statsmodels import datasets  # type: ignore[import-untyped]  # it has no types
    except ModuleNotFoundError as error:
        raise MissingExtra("Recorded", "lab", error.name) from error
    data = getattr(datasets, name).load_pandas().data
    columns = {"co2": ["co2"], "sunspots": ["SUNACTIVITY"], "elnino": [column for column in data.columns if column != "YEAR"]}
    values = data[columns[name]].to_numpy(dtype=float).ravel()
    if values.size != RECORDED[name]:
        raise ParameterError(
            "statsmodels", f"{values.size} points", allowed=f"{RECORDED[name]} of {name}", fix="install a supported version"
        )
    known = np.flatnonzero(np.isfinite(values))
    values = np.interp(np.arange(values.size), known, values[known])
    return np.asarray((values - values.min()) / (values.max() - values.min()))
