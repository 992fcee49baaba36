"""Movement between cells where each person reports every move: you learn much, and single visits are protected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.guarantee import TOOK_PART, Guarantee
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.source import Source
from deniable.core.tracks import visits_of
from deniable.errors import DomainError
from deniable.tasks.oracles import check_oracle
from deniable.tasks.places.flows import Flows
from deniable.tasks.places.movement import AboutTracks

ASKED = ("start", "end", "move")


@typed
@dataclass(frozen=True, kw_only=True)
class EveryMove(MemoryProtocol, AboutTracks):
    """Where tracks start and end, and how likely each move is, from a report about **every** move of everybody.

    Everybody reports the first cell, the last one and every move, with epsilon each. How many moves a track has is public; tracks of more
    than ``longest`` are refused.

    Guarantee: 2 epsilon for two tracks that differ in one visit, which is part of two reports; a track of k moves costs (k + 2) epsilon.
    This is a relaxation: it protects one visit, and not one person. ``Movement`` protects whole tracks.

    Estimator: the oracles' unbiased shares of starts, ends and moves; lengths are known.

    Cost: k + 2 reports from a person with k moves.

    >>> from deniable.tasks.places.box import Box
    >>> from deniable.tasks.places.grid import Grid
    >>> asking = EveryMove(grid=Grid(Box(0, 0, 8, 8, plane=True), 8, 8), epsilon=1.0, longest=20)
    >>> asking.guarantee.epsilon, asking.needs
    (2.0, 'several reports from each person, one for each move')
    """

    needs: ClassVar[str] = "several reports from each person, one for each move"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_oracle(self.oracle)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=2 * self.epsilon,
            unit=f"one visit of a track, which is part of two reports; a whole track of k moves costs (k + 2) times {self.epsilon:g}, "
            f"at most {(self.longest + 2) * self.epsilon:g}",
            neighbors="two tracks of one person that differ in one visit",
            exposed=f"{TOOK_PART}, and how many moves the track has{self.exposed}",
        )

    def statement(self) -> str:
        """Return the guarantee in plain words, and how it is weaker than full local privacy."""
        kind = "Event-level privacy, a weaker guarantee: single visits are protected; habits, which many visits reveal, are not."
        return f"{self.guarantee.statement()}\nCompared: {self.guarantee.neighbors}. {kind}"

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Flows:
        """Ask a crowd held in memory: ``Tracks``, or a list with the visited cells of each person."""
        tracks = visits_of(self.domain, values)
        if len(tracks) and int(tracks.moves.max()) > self.longest:
            person = int(tracks.moves.argmax())
            allowed = f"at most longest = {self.longest} moves"
            raise DomainError(
                f"tracks[{person}]", int(tracks.moves[person]), allowed=allowed, fix="shorten the track: each move costs privacy"
            )
        ends = {name: self.encoders[name].encode_many(tracks, source) for name in ("start", "end")}
        columns = ends | {"move": self.moves.number(*tracks.all_moves())}
        found: dict[str, Any] = {}
        for done, name in enumerate(ASKED, start=1):
            spec = self.spec(name)
            found[name] = spec.estimate(spec.tally(spec.privatize(columns[name], source=source)))
            if progress is not None:
                progress(done, len(ASKED))
        known = np.bincount(tracks.moves, minlength=self.longest + 1).astype(float)  # how many moves are reported is public
        return Flows.of(self.moves, found, known, self.guarantee)
