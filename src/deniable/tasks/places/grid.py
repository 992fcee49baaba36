"""A grid of equal cells over a declared box, from points to numbers of cells and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Integers
from deniable.contract.record import Plain
from deniable.contract.tracks import MOST_CELLS, Track
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.places.box import Box, read_points
from deniable.tasks.places.polygon import Region, coverage

OUTSIDE = ("refuse", "count")


@typed
@dataclass(frozen=True)
class Grid(Plain):
    """A box cut into cells of equal size, so many columns and rows, numbered row by row from the south-west corner.

    A point on a line between cells belongs to the cell north and east of it, and points on the outer edge to the last cell. A point
    outside of the box is refused, unless ``outside="count"`` declares that there are some: then one more value stands for all of them.

    >>> grid = Grid(Box(0, 0, 4, 2, plane=True), columns=4, rows=2)
    >>> grid.cells([(0.5, 0.5), (4.0, 2.0), (1.0, 1.5)]).tolist(), grid.bounds(5)
    ([0, 7, 5], (1.0, 1.0, 2.0, 2.0))
    """

    noun = "grid"
    box: Box
    columns: int
    rows: int
    outside: str = "refuse"

    def __post_init__(self) -> None:
        for name in ("columns", "rows"):
            check_whole(name, getattr(self, name), 1, fix="64 is usual")
        if self.columns * self.rows > MOST_CELLS:
            raise ParameterError("columns, rows", (self.columns, self.rows), allowed=f"at most {MOST_CELLS:,} cells", fix="use fewer")
        check_outside(self.outside)

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.columns * self.rows

    @property
    def values(self) -> int:
        """The number of values that are reported: the cells, and everywhere else if that is counted."""
        return self.size + (self.outside == "count")

    @property
    def track(self) -> Track:
        """Return the domain of tracks on this grid; ParameterError for a single cell, where nobody moves."""
        return Track(self.size, outside=self.outside == "count")

    def cells(self, points: Any) -> Array:
        """Return the cell of each point; for points outside ``size`` if they are counted, otherwise DomainError."""
        found = read_points(points)
        inside = self.box.contains(found)
        if self.outside == "refuse" and not inside.all():
            first = int(np.argmin(inside))
            raise refuse_point(self.box, f"points[{first}]")
        x = np.clip((found[:, 0] - self.box.west) / self.box.width, 0.0, 1.0)
        y = np.clip((found[:, 1] - self.box.south) / self.box.height, 0.0, 1.0)
        column = np.minimum((x * self.columns).astype(np.int64), self.columns - 1)
        row = np.minimum((y * self.rows).astype(np.int64), self.rows - 1)
        return np.where(inside, row * self.columns + column, self.size)

    def checked(self, cells: Any) -> Array:
        """A column of the numbers of cells, and of ``size`` for elsewhere if that is counted; DomainError for other numbers."""
        found: Array = keys_of(Integers(0, max(self.values - 1, 1)), cells).astype(np.int64)
        if (found >= self.values).any():  # a grid of one cell
            raise DomainError("cells", 1, allowed="0, the only cell", fix="pass the numbers that cells(points) returns")
        return found

    def bounds(self, cell: int) -> tuple[float, float, float, float]:
        """Return west, south, east and north of a cell."""
        if isinstance(cell, bool) or not isinstance(cell, int | np.integer) or not 0 <= cell < self.size:
            raise ParameterError("cell", cell, allowed=f"an integer from 0 to {self.size - 1}", fix="get the number from cells(points)")
        row, column = divmod(int(cell), self.columns)
        x, y = self._lines
        return float(x[column]), float(y[row]), float(x[column + 1]), float(y[row + 1])

    @cached_property
    def _lines(self) -> tuple[Array, Array]:
        return (
            np.linspace(self.box.west, self.box.east, self.columns + 1),
            np.linspace(self.box.south, self.box.north, self.rows + 1),
        )

    def block_bounds(self, blocks: Array) -> Array:
        """West, south, east and north of blocks of cells: first column, first row, and the columns and rows after the last."""
        x, y = self._lines
        return np.column_stack([x[blocks[:, 0]], y[blocks[:, 1]], x[blocks[:, 2]], y[blocks[:, 3]]])

    @property
    def centers(self) -> Array:
        """Return the middle of each cell."""
        x, y = ((lines[:-1] + lines[1:]) / 2 for lines in self._lines)
        return np.column_stack([np.tile(x, self.rows), np.repeat(y, self.columns)])

    def covered(self, region: Region, blocks: Array | None = None) -> Array:
        """Return the fraction of each cell, or of each block of cells, that lies inside a region."""
        fractions = coverage(region, self.box, self.columns, self.rows)
        if blocks is None:
            return fractions.ravel()
        total = np.zeros((self.rows + 1, self.columns + 1))
        total[1:, 1:] = fractions.cumsum(axis=0).cumsum(axis=1)
        west, south, east, north = blocks.T
        sums = total[north, east] - total[south, east] - total[north, west] + total[south, west]
        shares = sums / ((east - west) * (north - south))
        return np.asarray(np.where(np.abs(shares - np.round(shares)) < 1e-9, np.round(shares), shares))  # sums of many cells round


def check_outside(outside: object) -> None:
    """Raise unless ``outside`` is "refuse" or "count"."""
    if outside not in OUTSIDE:
        raise ParameterError(
            "outside", outside, allowed=f"one of {OUTSIDE}", fix='use "refuse", or "count" to add one value for everywhere else'
        )


def refuse_point(box: Box, where: str) -> DomainError:
    """Return the error for a point outside of the box. It does not show the point, since errors end up in logs."""
    fix = 'widen the box, or declare outside="count"; nothing was counted'
    return DomainError(where, "a point outside", allowed=f"points inside {box.describe()}", fix=fix)


def single_blocks(grid: Grid) -> Array:
    """Every cell as a block of its own."""
    row, column = np.divmod(np.arange(grid.size), grid.columns)
    return np.column_stack([column, row, column + 1, row + 1])
