"""Many people's tracks at once: all visits in one flat array, and what is asked about them (``contract.tracks``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np

from deniable.contract.source import Source
from deniable.contract.tracks import DrawnMove, FirstVisit, LastVisit, MoveCount, Track
from deniable.core.texts import draw
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.kernels.sets import gather_rows


@dataclass(frozen=True, eq=False)
class Visits:
    """All visited cells in one column, person after person; person i's are those from ``offsets[i]`` to ``offsets[i + 1]``.

    >>> column = Visits(np.array([0, 1, 1, 3]), np.array([0, 3, 4, 4]))
    >>> len(column), column.moves.tolist(), column.starts.tolist(), column[[1]].cells.tolist()
    (3, [2, 0, 0], [0, 3, -1], [3])
    """

    cells: Array
    offsets: Array

    def __post_init__(self) -> None:
        cells, offsets = np.asarray(self.cells), np.asarray(self.offsets)
        if cells.ndim != 1 or offsets.ndim != 1 or any(column.dtype.kind not in "iu" for column in (cells, offsets) if column.size):
            raise DomainError("cells, offsets", (cells.dtype, offsets.dtype), allowed="two columns of integers", fix="see Tracks.of")
        if not offsets.size or offsets[0] != 0 or offsets[-1] != cells.size or np.any(offsets[1:] < offsets[:-1]):
            allowed = f"rising offsets from 0 to {cells.size}"
            raise DomainError("offsets", offsets[:5], allowed=allowed, fix="give one entry more than there are people")
        object.__setattr__(self, "cells", cells.astype(np.int64))
        object.__setattr__(self, "offsets", offsets.astype(np.int64))

    def __len__(self) -> int:
        return int(self.offsets.size - 1)

    def __getitem__(self, positions: Any) -> Self:
        """Some people's, by position."""
        rows = np.arange(len(self))[positions] if isinstance(positions, slice) else np.asarray(positions, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[rows])])
        cells = np.empty(int(offsets[-1]), dtype=np.int64)
        gather_rows(self.offsets, self.cells, rows, offsets, cells)
        return type(self)(cells, offsets)

    @cached_property
    def moves(self) -> Array:
        """How many moves each track has."""
        return np.asarray(np.maximum(np.diff(self.offsets) - 1, 0))

    @property
    def starts(self) -> Array:
        """The first cell of each track; -1 for a person who went nowhere."""
        return self._visited(self.offsets[:-1])

    @property
    def ends(self) -> Array:
        """The last cell of each track; -1 for a person who went nowhere."""
        return self._visited(self.offsets[1:] - 1)

    def _visited(self, places: Array) -> Array:
        return np.where(np.diff(self.offsets) > 0, np.append(self.cells, -1)[places], -1)

    def all_moves(self) -> tuple[Array, Array]:
        """Every move of everybody: from which cell and to which."""
        inner = np.ones(self.cells.size, dtype=bool)
        inner[self.offsets[:-1][np.diff(self.offsets) > 0]] = False
        after = np.flatnonzero(inner)
        return self.cells[after - 1], self.cells[after]


def visits_of(domain: Track, values: Any) -> Visits:
    """A column of tracks of a domain, from lists of cells or ``Visits``; DomainError for what is none."""
    if isinstance(values, Visits):
        if values.cells.size and not 0 <= int(values.cells.min()) <= int(values.cells.max()) <= domain.visit.high:
            allowed = f"cells from 0 to {domain.visit.high}"
            raise DomainError("tracks", int(values.cells.max()), allowed=allowed, fix="use the same grid")
        return values
    readers = [getattr(values, name, None) for name in ("to_pylist", "to_list", "tolist")]  # Arrow; Polars and pandas; NumPy
    rows = next((reader() for reader in readers if reader is not None), values)
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        allowed = "Tracks, or a list with the visited cells of each person"
        raise DomainError("tracks", type(values).__name__, allowed=allowed, fix="make them with Tracks.of(grid, lists of points)")
    found = []
    for place, row in enumerate(rows):
        try:
            found.append(domain.visits(row))
        except DomainError as error:
            raise DomainError(f"tracks[{place}]", error.received, allowed=error.allowed, fix=error.fix) from error
    cells = np.fromiter(chain.from_iterable(found), dtype=np.int64)
    return Visits(cells, np.cumsum([0, *map(len, found)]))


def first_visits(encoder: FirstVisit, column: Visits) -> Array:
    """What ``FirstVisit.encode`` gives for each person."""
    return np.where(column.starts < 0, encoder.domain.cells, column.starts)


def last_visits(encoder: LastVisit, column: Visits) -> Array:
    """What ``LastVisit.encode`` gives for each person."""
    return np.where(column.ends < 0, encoder.domain.cells, column.ends)


def move_counts(encoder: MoveCount, column: Visits) -> Array:
    """What ``MoveCount.encode`` gives for each person."""
    return np.where(column.starts < 0, encoder.longest + 1, np.minimum(column.moves, encoder.longest))


def drawn_moves(encoder: DrawnMove, column: Visits, source: Source | None) -> Array:
    """What ``DrawnMove.encode`` gives for each person, from the same random words."""
    return draw(np.concatenate([[0], np.cumsum(column.moves)]), encoder.number(*column.all_moves()), encoder.none, source)
