"""Movement between cells without tracking anyone: starts, ends, lengths and single moves, each from different people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.encoder import Encoder
from deniable.contract.guarantee import TOOK_PART, Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.tracks import FARTHEST, MOST_MOVES, FirstVisit, LastVisit, MoveCount, Track
from deniable.core.tracks import visits_of
from deniable.errors import ParameterError
from deniable.tasks.checks import check_people, check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.oracles import quick_oracle
from deniable.tasks.places.flows import Flows, Moves
from deniable.tasks.places.grid import Grid

SHARES = {"start": Fraction(1, 8), "end": Fraction(1, 8), "length": Fraction(1, 8), "move": Fraction(5, 8)}
"""Who is asked what, if everybody is asked once."""


@dataclass(frozen=True, kw_only=True)
class AboutTracks(Protocol, abstract=True):
    """The base of protocols about tracks: the grid, the questions, and the oracle of each.

    Moves go at most ``reach`` cells in each direction; farther ones are counted together, as jumps. **Everybody answers**, or silence would
    reveal something: one more start, end and length stand for a person who went nowhere, and with ``outside="count"`` in the grid, one more
    start and end for visits outside of the box, and moves from or to there are jumps. If the grid refuses them, a person who leaves the box
    cannot answer.
    """

    grid: Grid
    epsilon: float
    longest: int
    people: int = 100_000
    reach: int = 1
    oracle: str = "auto"
    """The frequency oracle of every report; "auto" takes the one with the smallest error."""
    result: ClassVar[str] = "movement"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if self.grid.size < 2:
            raise ParameterError("grid", self.grid, allowed="a Grid of two or more cells", fix="use a finer grid")
        check_whole("longest", self.longest, 1, MOST_MOVES)
        check_whole("reach", self.reach, 1, FARTHEST)
        check_people(self.people)

    @property
    def domain(self) -> Track:
        """What a device holds: the numbers of the cells that its owner visited."""
        return self.grid.track

    @cached_property
    def moves(self) -> Moves:
        """The numbers that stand for moves."""
        return Moves(self.grid, self.reach)

    @cached_property
    def encoders(self) -> Mapping[str, Encoder]:
        """What is asked about a track, by the name of the question."""
        track = self.domain
        visits = {"start": FirstVisit(track), "end": LastVisit(track)}
        return {**visits, "length": MoveCount(track, self.longest), "move": self.moves.encoder}

    def spec(self, name: str) -> FrequencySpec:
        """The oracle of the question of that name: "start", "end", "length" or "move"."""
        return quick_oracle(self.oracle, self.encoders[name].inputs, self.epsilon, int(self.people * SHARES[name]))

    @property
    def exposed(self) -> str:
        """What taking part reveals, for every question."""
        inside = ", and that the whole track lies inside the box, since a person who leaves it cannot answer"
        return inside if self.grid.outside == "refuse" else ""


@typed
@dataclass(frozen=True, kw_only=True)
class Movement(AboutTracks):
    """Where tracks start and end, how long they are, and how likely each move is.

    Everybody answers one of four questions, drawn at random, with the full epsilon: the first cell, the last one, the number of moves
    (``longest`` and all longer ones together), or one move, drawn from all of their own. So the counts of moves weigh people, not moves:
    somebody who moves a hundred times has one vote. A device holds a list of visited cells (``Tracks.of`` makes them from points).

    Guarantee: epsilon-local for any two whole tracks of a person, whatever their lengths. ``EveryMove`` protects visits.

    Estimator: the oracles' unbiased shares; ``Flows`` makes transition probabilities and tracks from them.

    Cost: one report of one oracle; one round.

    >>> from deniable.tasks.places.box import Box
    >>> asking = Movement(grid=Grid(Box(0, 0, 8, 8, plane=True), 8, 8), epsilon=2.0, longest=20, people=50_000)
    >>> [(question.name, str(question.share), question.spec.domain_size) for question in asking.open().questions]
    [('start', '1/8', 65), ('end', '1/8', 65), ('length', '1/8', 22), ('move', '5/8', 578)]
    """

    derived: ClassVar[tuple[str, ...]] = ("domain",)
    """The domain of what a device holds: the device checks there whether everyone can answer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_feasible(self, "grid, longest, reach", fix="use fewer cells, or count more moves together")

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        asked = ((name, self.spec(name), encoder, SHARES[name]) for name, encoder in self.encoders.items())
        return Round(tuple(Question(name=name, spec=spec, encoder=encoder, share=share) for name, spec, encoder, share in asked))

    def close(self, tallies: Mapping[str, Any]) -> Flows:
        self._round.check_tallies(tallies)
        found: dict[str, Any] = {each.name: each.spec.estimate(tallies[each.name]) for each in self._round.questions}
        return Flows.of(self.moves, found, None, self.guarantee)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=self.epsilon,
            unit="one whole track, however long: each person answers one question about it, once",
            neighbors="any two tracks of one person",
            exposed=f"{TOOK_PART}, and which of the four questions was answered{self.exposed}",
        )

    def statement(self) -> str:
        """Return the guarantee in plain words, with what is compared."""
        kind = "User-level privacy: the whole track is protected, with full local privacy."
        return f"{self.guarantee.statement()}\nCompared: {self.guarantee.neighbors}. {kind}"

    def read(self, values: Any) -> Any:
        """Return everyone's visits, from ``Tracks`` or from a list or column with the visited cells of each person."""
        return visits_of(self.domain, values)
