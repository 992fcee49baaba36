"""Tracks: the cells that people visited, one after another, for many people at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from deniable.core.tracks import Visits
from deniable.tasks.places.grid import Grid, refuse_point


class Tracks(Visits):
    """All visited cells in one column, person after person; person i's are those from ``offsets[i]`` to ``offsets[i + 1]``.

    A track of k moves has k + 1 visits; staying in a cell is a move, too. A person who went nowhere has no visits and no moves. Visits
    outside of the box have the number after the last cell, if the grid counts them.

    >>> from deniable.tasks.places.box import Box
    >>> tracks = Tracks.of(Grid(Box(0, 0, 4, 1, plane=True), 4, 1), [[(0.5, 0.5), (1.5, 0.5), (1.6, 0.5)], [(3.5, 0.5)]])
    >>> tracks.cells.tolist(), tracks.offsets.tolist(), tracks.moves.tolist(), tracks
    ([0, 1, 1, 3], [0, 3, 4], [2, 0], 2 tracks of 0 to 2 moves)
    """

    @classmethod
    def of(cls, grid: Grid, tracks: Sequence[Any]) -> Self:
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
        return len(self)

    def to_geojson(self, grid: Grid) -> dict[str, Any]:
        """Return a FeatureCollection: lines through the middles of cells, and a point for each person who stayed. All must be inside."""
        from deniable.tasks.places.geojson import tracks_to_geojson

        return tracks_to_geojson(self, grid)

    def __repr__(self) -> str:
        moves = f" of {self.moves.min()} to {self.moves.max()} moves" if self.people else ""
        return f"{self.people:,} tracks{moves}"
