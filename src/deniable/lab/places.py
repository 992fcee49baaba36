"""Ways to ask where people are, in the lab, and a crowd to ask: people at the airports of the United States."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from deniable.contract.record import Document, wire
from deniable.contract.source import Source
from deniable.contract.survey import Survey
from deniable.errors import MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require_one_of
from deniable.tasks.places.box import Box
from deniable.tasks.places.grid import Grid
from deniable.tasks.places.quadtree import QuadTree
from deniable.tasks.places.uniform import UniformGrid

BOX = Box(-125, 24, -66, 50)
"""The contiguous states."""
AIRPORTS = 3069
QUESTIONS = 120
"""Boxes that are asked about, a third of each size: about 1/4, 1/30 and 1/250 of the area."""
SIDES = (0.5, 0.18, 0.06)


@cache
def airports() -> Array:
    """Longitude and latitude of the airports in the box, from west to east (vega_datasets, extra ``lab``).

    >>> airports().shape
    (3069, 2)
    """
    try:
        from vega_datasets import local_data  # type: ignore[import-untyped]  # it has no types
    except ModuleNotFoundError as error:
        raise MissingExtra("Airports", "lab", error.name) from error
    table = local_data.airports()
    points: Array = table[["longitude", "latitude"]].to_numpy(dtype=float)
    points = points[BOX.contains(points)]
    if len(points) != AIRPORTS:
        raise ParameterError("vega_datasets", f"{len(points)} airports", allowed=f"{AIRPORTS} of them", fix="install a supported version")
    return points[np.lexsort(points.T[::-1])]


@dataclass(frozen=True)
class Airports(Population, named=False):
    """People at the airports of the contiguous United States, each airport as likely as another.

    >>> Airports().draw(3).shape
    (3,)
    """

    def table(self) -> tuple[Any, Array]:
        return np.arange(len(airports())), np.ones(len(airports()))

    def describe(self) -> str:
        return "people at airports"

    def identity(self) -> str:
        self.table()
        return f"{self!r}, vega_datasets {version('vega_datasets')}"  # another edition may have other places


@cache
def questions() -> tuple[Box, ...]:
    """The boxes that are asked about: centers spread evenly by a lattice of golden ratios, sides by thirds.

    >>> len(questions())
    120
    """
    found = []
    for place in range(QUESTIONS):
        side = SIDES[place % len(SIDES)]
        x, y = ((place + 0.5) * 0.7548776662466927) % 1, ((place + 0.5) * 0.5698402909980532) % 1  # R2 sequence
        west, south = BOX.west + x * (1 - side) * BOX.width, BOX.south + y * (1 - side) * BOX.height
        found.append(Box(west, south, west + side * BOX.width, south + side * BOX.height))
    return tuple(found)


@cache
def _inside() -> Array:
    """Which airports lie in which box."""
    return np.stack([box.contains(airports()) for box in questions()])


@dataclass(frozen=True)
class EvenMap(Document):
    """The guess without asking anyone: people are spread evenly."""

    noun = "setup"
    box: Box = field(default=BOX, metadata=wire(name="guess"))


@dataclass(frozen=True)
class GridSetup:
    """A grid as a setup of an experiment: its identity is the bytes of its question alone."""

    asking: UniformGrid
    canonical: bytes


@dataclass(frozen=True)
class PlaceCounting(Method):
    """A way to count people in boxes: a ``grid`` of so many columns and rows, a ``quadtree`` or an ``adaptive`` one, or a ``guess``.

    A naive one adds up a grid's cells as they are, without knowing how many people there are in all.

    >>> PlaceCounting("grid", "grid", cells=8, oracle="GRR").setup(Airports(), 1.0, 1000).asking.spec
    GRR(domain_size=64, epsilon=1.0)
    """

    label: str
    way: str
    cells: int = 64
    oracle: str = "auto"
    naive: bool = False

    def __post_init__(self) -> None:
        require_one_of(("grid", "quadtree", "adaptive", "guess"), "way", self.way)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, Airports):
            raise ParameterError("population", population, allowed="a crowd with places", fix="use Airports")
        if self.way == "guess":
            return EvenMap()
        if self.way == "grid":
            asking = UniformGrid(grid=Grid(BOX, self.cells, self.cells), epsilon=epsilon, people=n, oracle=self.oracle)
            return GridSetup(asking, Survey(asking.open().questions).canonical)
        depth, adaptive = self.cells.bit_length() - 1, self.way == "adaptive"
        return QuadTree(box=BOX, depth=depth, epsilon=epsilon, people=n, adaptive=adaptive, oracle=self.oracle)

    def run(self, setup: Any, values: Any, source: Source) -> Outcome:
        """Return the true and the estimated share of people in each box."""
        held = np.bincount(np.asarray(values), minlength=len(airports()))
        truth = _inside() @ held / len(values)
        if isinstance(setup, EvenMap):
            told = np.array([box.width * box.height / (BOX.width * BOX.height) for box in questions()])
            return Outcome(range(QUESTIONS), truth, told)
        points = airports()[np.asarray(values)]
        if self.naive:
            spec, grid = setup.asking.spec, setup.asking.grid
            raw = spec.estimate(spec.tally(spec.privatize(grid.cells(points), source=source))).counts
            told = np.array([grid.covered(box) @ raw for box in questions()]) / len(values)
        else:
            found = (setup if isinstance(setup, QuadTree) else setup.asking).run(points, source=source)
            told = np.array([found.count(box).value for box in questions()]) / max(found.n, 1)
        return Outcome(range(QUESTIONS), truth, told)

    @property
    def gives(self) -> set[str]:
        return {"counts"}

    def identity(self) -> str:
        settings = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self))
        return f"Where({settings})"  # a fixed word, not the class's name: replay keys follow from it
