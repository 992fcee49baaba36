"""Counts on a grid of equal cells: each person reports a cell once, by the oracle with the smallest error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.domain import IndexRange
from deniable.contract.guarantee import TOOK_PART, Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Progress, Protocol
from deniable.contract.question import Question, Round
from deniable.contract.source import Source
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.checks import check_people
from deniable.tasks.feasible import check_feasible
from deniable.tasks.oracles import check_oracle, quick_oracle
from deniable.tasks.places.box import is_column
from deniable.tasks.places.cells import Cells
from deniable.tasks.places.estimate import PlacesEstimate
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.grid import Grid, single_blocks

CELL = "cell"
"""The name of the question."""
NOTHING_ASKED = Guarantee(epsilon=0.0, unit="taking part: there is only one cell, so nothing is asked")


@typed
@dataclass(frozen=True, kw_only=True)
class UniformGrid(Protocol):
    """Count people in each cell of a grid.

    A device holds the number of the cell that its owner is in (``grid.cells`` of the point), and reports it once. A single cell asks
    nothing: ``run`` counts the people, and there is no round to open.

    Guarantee: epsilon-local for any two places, inside the box or not: everybody reports once.

    Estimator: the oracle's unbiased counts, shifted so that they add up to the number of reports, which is known. The variance of a
    region is sum D (w - mean w)^2 with w the covered fractions and D as in ``flat``, so that large regions err as little as small ones.

    Cost: one report of the oracle, which ``people``, ``epsilon`` and the number of cells decide.

    >>> from deniable.tasks.places.box import Box
    >>> from deniable.testing import ReplaySource
    >>> asking = UniformGrid(grid=Grid(Box(0, 0, 4, 4, plane=True), 4, 4), epsilon=2.0, people=20_000)
    >>> points = np.tile([[0.5, 0.5], [0.5, 0.5], [3.5, 2.5], [1.5, 3.5]], (5000, 1))
    >>> found = asking.run(points, source=ReplaySource.from_key("square"))
    >>> quarter = found.count(Box(0, 0, 2, 2, plane=True))
    >>> asking.spec.mechanism, round(quarter.value), round(quarter.stderr)
    ('SubsetSelection', 10219, 200)
    >>> found.count(Box(0, 0, 1, 0.5, plane=True))
    20,000 people in 16 cells; SubsetSelection, epsilon = 2; low and high: 95 %, noise only
    cells on its edge hold 10,246 people, assumed to be spread evenly
    value   count  stderr     low    high
    region  5,123   5,124  -4,920  15,165
    """

    grid: Grid
    epsilon: float
    people: int = 100_000
    oracle: str = "auto"
    derived: ClassVar[tuple[str, ...]] = ("domain",)
    """The domain of what a device holds: the device checks there whether everyone can answer."""
    result: ClassVar[str] = "places"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_people(self.people)
        if self.grid.values > 1:
            check_feasible(self, "grid", fix="ask about fewer cells, or with an adaptive QuadTree")
        else:
            check_oracle(self.oracle)

    @classmethod
    def from_fields(cls, **values: Any) -> Self:
        found = cls(**values)
        found.domain  # noqa: B018  # no document holds a single cell: it has no round
        return found

    @property
    def domain(self) -> IndexRange:
        """The cells, and everywhere else if that is counted; ParameterError for a single cell, where there is nothing to ask."""
        if self.grid.values < 2:
            raise ParameterError(
                "grid", "one cell", allowed="two or more values to tell apart", fix="use run(), which counts a single cell without asking"
            )
        return IndexRange(self.grid.values)

    @cached_property
    def spec(self) -> FrequencySpec:
        """The oracle of every report."""
        return quick_oracle(self.oracle, self.domain.size, self.epsilon, self.people)

    def open(self) -> Round:
        return Round((Question(name=CELL, spec=self.spec),))

    def close(self, tallies: Mapping[str, Any]) -> PlacesEstimate:
        self.open().check_tallies(tallies)
        found: FrequencyEstimate = self.spec.estimate(tallies[CELL])
        return self._counted(Flat.of(found), found.n, f"{self.spec.mechanism}, epsilon = {self.epsilon:.4g}")

    @property
    def guarantee(self) -> Guarantee:
        if self.grid.values < 2:
            return NOTHING_ASKED
        inside = ", and is inside the box, since a person elsewhere cannot answer" if self.grid.outside == "refuse" else ""
        return replace(self.spec.guarantee, unit="one report about one cell of the grid", exposed=TOOK_PART + inside)

    def read(self, values: Any) -> Any:
        """Return everyone's cell, from points in rows of x and y or in two columns; a column of integers is cells."""
        return self.grid.checked(values) if is_column(values) else self.grid.cells(values)

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> PlacesEstimate:
        """Ask a crowd held in memory; a grid of one cell asks nobody."""
        cells = self.read(values)
        if self.grid.values < 2:
            return self._counted(Flat.known(np.array([float(cells.size)])), cells.size, "one cell: nothing was asked")
        found: PlacesEstimate = super().run(cells, source=source, progress=progress)
        return found

    def _counted(self, counts: Flat, n: int, how: str) -> PlacesEstimate:
        cells = Cells(n=n, tree=counts, fewest=n, outside=self.grid.outside == "count")
        return PlacesEstimate.of(self.grid, single_blocks(self.grid), cells, how, self.guarantee)
