"""Tracks: the cells that a person visited, one after another, and what a device is asked about them.

A person who went nowhere has an answer to every question, and so has a person who left the box where that is counted: staying silent would
reveal it. What is drawn costs nothing: the report on it is a mixture of reports that are epsilon-local each.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from deniable.contract.canonical import canonical_json
from deniable.contract.domain import DOMAINS, Domain, Integers
from deniable.contract.encoder import Encoder, bulk_half
from deniable.contract.hashing import string_key
from deniable.contract.source import Source
from deniable.errors import DomainError, ParameterError

MOST_CELLS = 1 << 24
MOST_MOVES = 1 << 20
"""The most moves of a track that are counted apart from all longer ones."""
FARTHEST = 64
"""The farthest move that is counted separately, in cells in each direction."""


@DOMAINS.add
@dataclass(frozen=True)
class Track(Domain):
    """A list of visited cells, of any length: numbers from 0 to ``cells`` - 1, and with ``outside`` the number ``cells`` for elsewhere.

    A track of k moves has k + 1 visits; staying in a cell is a move, too. A person who went nowhere has an empty one. A value's key is a
    hash of its visits; encoders ask about a part of them.

    >>> Track(4).key([0, 1, 1]) == Track(4, outside=True).key((0, 1, 1)), Track(4).describe()
    (True, 'lists of cells from 0 to 3')
    """

    cells: int
    outside: bool = False
    kind: ClassVar[str] = "track"
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_integer("cells", self.cells, 2, MOST_CELLS, fix="use more cells: in one cell nobody moves")
        if type(self.outside) is not bool:
            raise ParameterError("outside", self.outside, allowed="True or False", fix="pass True to add a number for visits elsewhere")

    @property
    def size(self) -> int:
        raise ParameterError("domain", self.describe(), allowed="a domain with a largest value", fix="ask about one visit or one move")

    @cached_property
    def visit(self) -> Integers:
        """What each entry of the list may be."""
        return Integers(0, self.cells - (not self.outside))

    def visits(self, value: Any) -> list[int]:
        """Return one person's visits; DomainError if the value is no such track."""
        if not isinstance(value, list | tuple):
            raise self.refuse(type(value).__name__)
        try:
            return [self.visit.key(cell) for cell in value]
        except DomainError as error:
            raise self.refuse("a visit elsewhere") from error

    def key(self, value: Any) -> int:
        return string_key(canonical_json(self.visits(value)))

    def value(self, key: int) -> Hashable:
        raise ParameterError("key", key, allowed="a key of a listed domain", fix="ask about one visit: a hash cannot be turned back")

    def describe(self) -> str:
        return f"lists of cells from 0 to {self.visit.high}"


class Tracked:
    """What the encoders of this module share: whose values they read, and how they read a column of them."""

    domain: Track
    checks_column: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Track):
            raise ParameterError("domain", self.domain, allowed="a Track", fix="write Track(cells=64)")

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def column(self, values: Any) -> Any:
        """Return many people's visits (``core.tracks.Visits``), with the same checks as one person's."""
        return bulk_half("tracks", f"{type(self).__name__}.column").visits_of(self.domain, values)


@dataclass(frozen=True)
class FirstVisit(Tracked, Encoder):
    """The cell that a track starts in; elsewhere, the last input, also stands for a track that goes nowhere.

    >>> [FirstVisit(Track(4)).encode(track, source=None) for track in ([2, 3], [])]
    [2, 4]
    """

    domain: Track

    @property
    def inputs(self) -> int:
        return self.domain.cells + 1

    def encode(self, value: Any, source: Source) -> int:
        return next(iter(self.domain.visits(value)), self.domain.cells)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("tracks", "FirstVisit.encode_many").first_visits(self, self.column(values))


@dataclass(frozen=True)
class LastVisit(Tracked, Encoder):
    """The cell that a track ends in; elsewhere, the last input, also stands for a track that goes nowhere.

    >>> [LastVisit(Track(4)).encode(track, source=None) for track in ([2, 3], [])]
    [3, 4]
    """

    domain: Track

    @property
    def inputs(self) -> int:
        return self.domain.cells + 1

    def encode(self, value: Any, source: Source) -> int:
        return next(reversed(self.domain.visits(value)), self.domain.cells)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("tracks", "LastVisit.encode_many").last_visits(self, self.column(values))


@dataclass(frozen=True)
class MoveCount(Tracked, Encoder):
    """How many moves a track has, ``longest`` and all more together; the last input stands for a track that goes nowhere.

    >>> [MoveCount(Track(4), 2).encode(track, source=None) for track in ([1], [2, 3], [0] * 9, [])]
    [0, 1, 2, 3]
    """

    domain: Track
    longest: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_integer("longest", self.longest, 1, MOST_MOVES, fix="count longer tracks together")

    @property
    def inputs(self) -> int:
        return self.longest + 2

    def encode(self, value: Any, source: Source) -> int:
        visits = len(self.domain.visits(value))
        return min(visits - 1, self.longest) if visits else self.longest + 1

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("tracks", "MoveCount.encode_many").move_counts(self, self.column(values))


@dataclass(frozen=True)
class DrawnMove(Tracked, Encoder):
    """One of a track's moves, each as likely as another: the cell it begins in, times the ways out of a cell, plus the way.

    Cells stand in rows of ``columns``. A way is up to ``reach`` cells in each direction, staying included. After all of these comes one
    input for moves that go farther, or from or to elsewhere, and one for a track without a move. Draws one number below the number of
    moves, or below 1.

    >>> from deniable.testing import ReplaySource
    >>> encoder = DrawnMove(Track(9), columns=3, reach=1)
    >>> [encoder.encode([4, 5, 0], ReplaySource([word])) for word in (0, 1 << 63)], encoder.encode([8], ReplaySource([0]))
    ([41, 81], 82)
    """

    domain: Track
    columns: int
    reach: int

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_integer("reach", self.reach, 1, FARTHEST, fix="try 1, which tells moves to the eight neighbors apart")
        _check_integer("columns", self.columns, 1, self.domain.cells, fix="say how many cells are in a row")
        if self.domain.cells % self.columns:
            allowed = f"a divisor of {self.domain.cells}, the number of cells"
            raise ParameterError("columns", self.columns, allowed=allowed, fix="say how many cells are in a row")

    @property
    def ways(self) -> int:
        """How many ways lead out of a cell, staying included."""
        return (2 * self.reach + 1) ** 2

    @property
    def jump(self) -> int:
        """The number of all moves that go too far."""
        return self.domain.cells * self.ways

    @property
    def none(self) -> int:
        """The number of a track without a move."""
        return self.jump + 1

    @property
    def inputs(self) -> int:
        return self.jump + 2

    def number(self, start: Any, end: Any) -> Any:
        """Return the number of a move, or of each of many moves in arrays."""
        cells, reach = self.domain.cells, self.reach
        rows, across = end // self.columns - start // self.columns, end % self.columns - start % self.columns
        near = (start < cells) & (end < cells) & (abs(rows) <= reach) & (abs(across) <= reach)
        way = (rows + reach) * (2 * reach + 1) + across + reach
        return near * (start * self.ways + way - self.jump) + self.jump

    def encode(self, value: Any, source: Source) -> int:
        visits = self.domain.visits(value)
        drawn = source.below(max(len(visits) - 1, 1))
        found: int = self.number(visits[drawn], visits[drawn + 1]) if len(visits) > 1 else self.none
        return found

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("tracks", "DrawnMove.encode_many").drawn_moves(self, self.column(values), source)


def _check_integer(name: str, value: object, least: int, most: int, fix: str) -> None:
    if type(value) is not int or not least <= value <= most:
        raise ParameterError(name, value, allowed=f"an integer from {least} to {most:,}", fix=fix)
