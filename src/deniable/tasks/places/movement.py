"""How people move between cells, without anybody's track: starts, ends, lengths and single moves, each from other people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.encoder import Attribute
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.question import Question
from deniable.contract.source import SYSTEM, Source
from deniable.contract.survey import Survey
from deniable.core.stream import random_words
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.searching import check_oracle
from deniable.tasks.places.flows import Flows, Moves
from deniable.tasks.places.grid import Grid
from deniable.tasks.places.tracks import Tracks
from deniable.tasks.places.uniform import chosen_oracle

LEVELS = ("user", "event")
SHARES = {"start": Fraction(1, 8), "end": Fraction(1, 8), "length": Fraction(1, 8), "move": Fraction(5, 8)}
"""Who is asked what, if everybody is asked once."""


@typed
@dataclass(frozen=True, kw_only=True)
class Movement:
    """Where tracks start and end, how long they are, and how likely each move is.

    ``privacy="user"``: everybody answers one of four questions, drawn at random, with the full epsilon: the first cell, the last one, the
    number of moves (``longest`` and all longer ones together), or one move, drawn from all of their own. So the counts of moves weigh
    people, not moves: somebody who moves a hundred times has one vote.

    ``privacy="event"``: everybody reports the first cell, the last one and **every** move, with epsilon each. Much is learned, and it
    protects one visit, not one person.

    Guarantee: at the user level, epsilon-local for any two whole tracks of a person, whatever their lengths. At the event level, 2 epsilon
    for two tracks that differ in one visit, which is part of two reports; a track of k moves costs (k + 2) epsilon; and k is public.

    Moves go at most ``reach`` cells in each direction; farther ones are counted together, as jumps. **Everybody answers**, or silence would
    tell: one more start, end and length stand for whoever went nowhere, and with ``outside="count"`` in the grid, one more start and end
    for visits outside of the box, and moves from or to there are jumps. If the grid refuses them, whoever leaves the box cannot answer.

    >>> from deniable.tasks.places.box import Box
    >>> asking = Movement(grid=Grid(Box(0, 0, 8, 8, plane=True), 8, 8), epsilon=2.0, longest=20, people=50_000)
    >>> [(question.name, str(question.share), question.spec.domain_size) for question in asking.protocol.questions]
    [('start', '1/8', 65), ('end', '1/8', 65), ('length', '1/8', 22), ('move', '5/8', 578)]
    """

    grid: Grid
    epsilon: float
    longest: int
    people: int = 100_000
    reach: int = 1
    privacy: str = "user"
    oracle: str = "auto"
    """The frequency oracle of every report; "auto" takes the one with the smallest error."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_oracle(self.oracle)
        if self.privacy not in LEVELS:
            raise ParameterError("privacy", self.privacy, allowed=f"one of {LEVELS}", fix='"user" protects whole tracks')
        if not isinstance(self.grid, Grid) or self.grid.size < 2:
            raise ParameterError("grid", self.grid, allowed="a Grid of two or more cells", fix="in one cell nobody moves")
        for name, least, most in (("longest", 1, 1 << 20), ("people", 0, 1 << 50), ("reach", 1, 64)):
            check_whole(name, getattr(self, name), least, most)

    @cached_property
    def moves(self) -> Moves:
        """The numbers that stand for moves."""
        return Moves(self.grid, self.reach)

    @cached_property
    def protocol(self) -> Survey:
        """The four questions, to shares of the people; at the event level everybody answers all, and the last one for every move."""
        places = self.grid.size + 1  # everywhere else, and nowhere
        sizes = {"start": places, "end": places, "length": self.longest + 2, "move": self.moves.size}
        return Survey(
            tuple(
                Question(
                    name=name,
                    spec=chosen_oracle(self.oracle, size, self.epsilon, int(self.people * SHARES[name])),
                    encoder=Attribute(name),
                    share=SHARES[name],
                )
                for name, size in sizes.items()
            )
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a person's track costs, and what taking part shows anyway."""
        inside = ", and that the whole track lies inside the box: whoever leaves it cannot answer" if self.grid.outside == "refuse" else ""
        if self.privacy == "user":
            return Guarantee(
                epsilon=self.epsilon,
                unit="one whole track, however long: each person answers one question about it, once",
                neighbors="any two tracks of one person",
                exposed=f"that the person took part, and which of the four questions was answered{inside}",
            )
        return Guarantee(
            epsilon=2 * self.epsilon,
            unit=f"one visit of a track, which is part of two reports; a whole track of k moves costs (k + 2) times {self.epsilon:g}, "
            f"at most {(self.longest + 2) * self.epsilon:g}",
            neighbors="two tracks of one person that differ in one visit",
            exposed=f"that the person took part, and how many moves the track has{inside}",
        )

    def statement(self) -> str:
        """The promise in plain words, with the relaxation that it is, if it is one."""
        kind = (
            "User-level: the whole track is protected, with no relaxation of local privacy."
            if self.privacy == "user"
            else "Event-level: a relaxation. Single visits are protected; habits, which many visits show, are not."
        )
        return f"{self.guarantee.statement()}\nTrue answers are {self.guarantee.neighbors}. {kind}"

    # --- one person ---

    def record(self, track: Sequence[int], source: Source = SYSTEM) -> dict[str, int]:
        """What a device answers from, at the user level: the start, the end, the length, and one of the own moves, drawn at random."""
        for cell in track:
            if isinstance(cell, bool) or not isinstance(cell, int | np.integer) or not 0 <= cell < self.grid.values:
                allowed = f"cells from 0 to {self.grid.values - 1}"
                raise DomainError("track", "a visit elsewhere", allowed=allowed, fix='outside="count" adds one for outside')
        if not len(track):
            nowhere = self.moves.elsewhere
            return {"start": nowhere, "end": nowhere, "length": self.longest + 1, "move": self.moves.none}
        moves = len(track) - 1
        drawn = source.below(moves) if moves > 1 else 0
        move = self.moves.number(track[drawn], track[drawn + 1]) if moves else self.moves.none
        return {"start": int(track[0]), "end": int(track[-1]), "length": min(moves, self.longest), "move": move}

    def answer(self, track: Sequence[int], source: Source = SYSTEM) -> tuple[str, Any]:
        """One person's only report, at the user level: the question's name, and the answer to it."""
        if self.privacy != "user":
            raise ParameterError(
                "privacy", self.privacy, allowed="user for one report", fix="event-level devices report each move by question"
            )
        question: Any = self.protocol.question(self.protocol.ticket(source))  # there is one: the shares add up to one
        return question.name, question.answer(self.record(track, source), source)

    # --- many people ---

    def run(self, tracks: Tracks, *, source: Source | None = None) -> Flows:
        """Ask a crowd held in memory."""
        if not isinstance(tracks, Tracks):
            raise DomainError("tracks", type(tracks).__name__, allowed="Tracks", fix="Tracks.of(grid, lists of points) makes them")
        if tracks.cells.size and not 0 <= int(tracks.cells.min()) <= int(tracks.cells.max()) < self.grid.values:
            raise DomainError("tracks", int(tracks.cells.max()), allowed=f"cells from 0 to {self.grid.values - 1}", fix="use the same grid")
        return self._every_move(tracks, source) if self.privacy == "event" else self._one_answer(tracks, source)

    def _one_answer(self, tracks: Tracks, source: Source | None) -> Flows:
        words, moves = random_words(tracks.people, source), tracks.moves
        drawn = _scaled(words, np.maximum(moves, 1))
        visited, first = np.append(tracks.cells, [0, 0]), tracks.offsets[:-1] + drawn  # whoever never moved is overwritten below
        numbers = self.moves.numbers(visited[first], visited[first + 1])
        columns = {
            **self._ends(tracks),
            "length": np.where(tracks.starts < 0, self.longest + 1, np.minimum(moves, self.longest)),
            "move": np.where(moves > 0, numbers, self.moves.none),
        }
        return self.estimate(self.protocol.run(columns, source=source))

    def _ends(self, tracks: Tracks) -> dict[str, Array]:
        """Where tracks start and end; whoever went nowhere does so elsewhere."""
        columns = {"start": tracks.starts, "end": tracks.ends}
        return {name: np.where(cells < 0, self.moves.elsewhere, cells) for name, cells in columns.items()}

    def _every_move(self, tracks: Tracks, source: Source | None) -> Flows:
        if tracks.people and int(tracks.moves.max()) > self.longest:
            person = int(tracks.moves.argmax())
            allowed = f"at most longest = {self.longest} moves"
            raise DomainError(f"tracks[{person}]", int(tracks.moves[person]), allowed=allowed, fix="cut it: each move is paid for")
        columns = {**self._ends(tracks), "move": self.moves.numbers(*tracks.all_moves())}
        found = {}
        for question in self.protocol.questions:
            if question.name in columns:
                found[question.name] = question.spec.estimate(
                    question.spec.tally(question.spec.privatize(columns[question.name], source=source))
                )
        known = np.bincount(tracks.moves, minlength=self.longest + 1).astype(float)  # how many moves are reported is no secret here
        return self.estimate(found, known)

    def estimate(self, found: Mapping[str, Any], lengths: Array | None = None) -> Flows:
        """The movement behind the estimates that were ``found`` for the questions; ``lengths`` are known at the event level."""
        if missing := {"start", "end", "move"} - set(found):
            raise ProtocolError(
                "found", sorted(map(str, found)), allowed=f"estimates of {sorted(missing)}, too", fix="run asks for all of them"
            )
        parts = {name: found[name] for name in SHARES if name in found}
        return Flows.of(self.moves, parts, lengths, self.guarantee)


def _scaled(words: Array, below: Array) -> Array:
    """A number below each bound, from one word each; off by at most bound / 2^64 from uniform, which no privacy depends on."""
    high, low = words >> np.uint64(32), words & np.uint64(0xFFFFFFFF)
    bound = below.astype(np.uint64)  # below 2^32
    return np.asarray((high * bound + (low * bound >> np.uint64(32))) >> np.uint64(32)).astype(np.int64)
