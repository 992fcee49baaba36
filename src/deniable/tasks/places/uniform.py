"""People counted on a grid of equal cells: each names a cell once, by the oracle with the smallest error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import IndexRange
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.question import Question
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import MECHANISMS
from deniable.contract.survey import Survey
from deniable.core.frequency import FrequencyEstimate
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.local.choose import frequency_oracle
from deniable.tasks.checks import check_people
from deniable.tasks.heavy_hitters.searching import check_oracle
from deniable.tasks.places.cells import Cells
from deniable.tasks.places.estimate import PlacesEstimate
from deniable.tasks.places.flat import Flat
from deniable.tasks.places.grid import Grid, single_blocks

CELL = "cell"
"""The name of the question."""
SERVER_STEPS = 10**9
"""What counting a map may take in all, in steps of about a nanosecond, unless there are many people: seconds, for a loss of about 1 %."""
STEPS_A_PERSON = 200
NOTHING_ASKED = Guarantee(epsilon=0.0, unit="taking part: there is one cell only, and nothing is asked")


@dataclass(frozen=True, kw_only=True)
class UniformGrid:
    """How many people are in each cell of a grid.

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
    cells on its edge hold 10,246 people, taken to be spread evenly
    value   count  stderr     low    high
    region  5,123   5,124  -4,920  15,165
    """

    grid: Grid
    epsilon: float
    people: int = 100_000
    oracle: str = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_oracle(self.oracle)
        if not isinstance(self.grid, Grid):
            raise ParameterError("grid", self.grid, allowed="a Grid", fix="write Grid(box, columns=64, rows=64)")
        check_people(self.people)

    @cached_property
    def spec(self) -> FrequencySpec:
        """The oracle that everybody reports by; ParameterError for a single cell, where there is nothing to ask."""
        if self.grid.values < 2:
            raise ParameterError("grid", "one cell", allowed="two or more values to tell apart", fix="run() counts one cell by itself")
        return chosen_oracle(self.oracle, self.grid.values, self.epsilon, self.people)

    @property
    def protocol(self) -> Survey:
        """The question as a protocol of one round, for devices and collectors."""
        return Survey((Question(name=CELL, spec=self.spec),))

    @property
    def guarantee(self) -> Guarantee:
        """What taking part costs a person."""
        return self.protocol.guarantee if self.grid.values > 1 else NOTHING_ASKED

    def answer(self, point: Any, source: Source = SYSTEM) -> Any:
        """One person's report about the point where the person is."""
        return self.spec.randomize(int(self.grid.cells([point])[0]), source)

    def run(self, points: Any, *, source: Source | None = None) -> PlacesEstimate:
        """Ask a crowd held in memory, one point for each person."""
        cells = self.grid.cells(points)
        if self.grid.values < 2:
            return self._made(Flat.known(np.array([float(cells.size)])), cells.size, "one cell: nothing was asked")
        return self.estimate(self.spec.tally(self.spec.privatize(cells, source=source)))

    def estimate(self, tally: Tally) -> PlacesEstimate:
        """The map behind a tally of everybody's reports."""
        found: FrequencyEstimate = self.spec.estimate(tally)
        how = f"{self.spec.mechanism}, epsilon = {self.epsilon:.4g}"
        return self._made(Flat.of(found), found.n, how)

    def _made(self, counted: Flat, n: int, how: str) -> PlacesEstimate:
        cells = Cells(n=n, tree=counted, fewest=n, outside=self.grid.outside == "count")
        return PlacesEstimate.of(self.grid, single_blocks(self.grid), cells, how, self.guarantee)


def chosen_oracle(oracle: str, size: int, epsilon: float, people: int) -> FrequencySpec:
    """The oracle of a name over so many values; "auto" is the one with the smallest error among those that count within seconds."""
    if oracle == "auto":
        steps = max(SERVER_STEPS, STEPS_A_PERSON * people)
        return frequency_oracle(domain_size=size, epsilon=epsilon, n=max(people, 1), server=steps).spec
    made: Any = MECHANISMS[oracle]
    spec: FrequencySpec = made(domain=IndexRange(size), epsilon=epsilon)
    return spec
