"""Tracks: the cells that people visited, one after another, for many people at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.places.grid import Grid, refuse_point


@dataclass(frozen=True, eq=False, repr=False)
class Tracks:
    """All visited cells in one column, person after person; person i's are those from ``offsets[i]`` to ``offsets[i + 1]``.

    A track of k moves has k + 1 visits; staying in a cell is a move, too. Whoever went nowhere has no visits and no moves. Visits outside
    of the box have the number after the last cell, if the grid counts them.

    >>> from deniable.tasks.places.box import Box
    >>> tracks = Tracks.of(Grid(Box(0, 0, 4, 1, plane=True), 4, 1), [[(0.5, 0.5), (1.5, 0.5), (1.6, 0.5)], [(3.5, 0.5)]])
    >>> tracks.cells.tolist(), tracks.offsets.tolist(), tracks.moves.tolist(), tracks
    ([0, 1, 1, 3], [0, 3, 4], [2, 0], 2 tracks of 0 to 2 moves)
    """

    cells: Array
    offsets: Array

    def __post_init__(self) -> None:
        cells, offsets = np.asarray(self.cells), np.asarray(self.offsets)
        if cells.ndim != 1 or offsets.ndim != 1 or any(column.dtype.kind not in "iu" for column in (cells, offsets) if column.size):
            raise DomainError("cells, offsets", (cells.dtype, offsets.dtype), allowed="two columns of integers", fix="see Tracks.of")
        steps = np.diff(offsets) if offsets.size else np.zeros(0)
        if not offsets.size or offsets[0] != 0 or offsets[-1] != cells.size or np.any(steps < 0):
            allowed = f"0 first, {cells.size} last, never falling"
            raise DomainError("offsets", offsets[:5], allowed=allowed, fix="one more entry than there are people")
        object.__setattr__(self, "cells", cells.astype(np.int64))
        object.__setattr__(self, "offsets", offsets.astype(np.int64))

    @classmethod
    def of(cls, grid: Grid, tracks: Sequence[Any]) -> Tracks:
        """From a list with the points of each person; for many people pass ``Tracks(grid.cells(points), offsets)``."""
        lengths = [len(track) for track in tracks]
        flat = np.concatenate([np.asarray(track, dtype=float).reshape(-1, 2) for track in tracks]) if sum(lengths) else np.zeros((0, 2))
        inside = grid.box.contains(flat) | (grid.outside == "count")
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        if not inside.all():
            row = int(np.argmin(inside))
            person = int(np.searchsorted(offsets, row, side="right")) - 1
            raise refuse_point(grid.box, f"tracks[{person}]")
        return cls(grid.cells(flat), offsets)

    @property
    def people(self) -> int:
        """How many tracks there are."""
        return self.offsets.size - 1

    @cached_property
    def moves(self) -> Array:
        """How many moves each track has."""
        return np.asarray(np.maximum(np.diff(self.offsets) - 1, 0))

    @property
    def starts(self) -> Array:
        """The first cell of each track; -1 for whoever went nowhere."""
        return self._visited(self.offsets[:-1])

    @property
    def ends(self) -> Array:
        """The last cell of each track; -1 for whoever went nowhere."""
        return self._visited(self.offsets[1:] - 1)

    def _visited(self, places: Array) -> Array:
        return np.where(np.diff(self.offsets) > 0, np.append(self.cells, -1)[places], -1)

    def all_moves(self) -> tuple[Array, Array]:
        """Every move of everybody: from which cell and to which."""
        inner = np.ones(self.cells.size, dtype=bool)
        inner[self.offsets[:-1][np.diff(self.offsets) > 0]] = False
        after = np.flatnonzero(inner)
        return self.cells[after - 1], self.cells[after]

    def to_geojson(self, grid: Grid) -> dict[str, Any]:
        """A FeatureCollection: lines through the middles of the grid's cells, and a point for whoever stayed. Nobody may be outside."""
        from deniable.tasks.places.geojson import tracks_to_geojson

        return tracks_to_geojson(self, grid)

    def __len__(self) -> int:
        return self.people

    def __repr__(self) -> str:
        told = f" of {self.moves.min()} to {self.moves.max()} moves" if self.people else ""
        return f"{self.people:,} tracks{told}"
