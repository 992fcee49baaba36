"""The declared box around all places: reading it off people's points would publish the outermost ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.contract.arguments import typed
from deniable.contract.record import Plain
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array


@typed
@dataclass(frozen=True)
class Box(Plain):
    """A box from west to east and from south to north: in degrees, or with ``plane=True`` in any two coordinates.

    A box does not cross the line where longitudes jump from 180 to -180. Places on the edge lie inside.

    >>> Box(-125, 24, -66, 50).contains(np.array([[-87.6, 41.9], [2.3, 48.9]])).tolist()
    [True, False]
    """

    noun = "box"
    west: float
    south: float
    east: float
    north: float
    plane: bool = False

    def __post_init__(self) -> None:
        for name in ("west", "south", "east", "north"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating) or not isfinite(value):
                raise ParameterError(name, value, allowed="a finite number", fix="write Box(west, south, east, north)")
            object.__setattr__(self, name, float(value))
        if not isinstance(self.plane, bool):
            raise ParameterError("plane", self.plane, allowed="True or False", fix="leave out plane for longitude and latitude")
        for low, high in (("west", "east"), ("south", "north")):
            if not getattr(self, low) < getattr(self, high) or not isfinite(getattr(self, high) - getattr(self, low)):
                pair = (getattr(self, low), getattr(self, high))
                raise ParameterError(
                    f"{low}, {high}", pair, allowed=f"{low} below {high}", fix="swap them, or split a box at longitude 180"
                )
        if not self.plane:
            for names, limit in ((("west", "east"), 180), (("south", "north"), 90)):
                for name in names:
                    if abs(getattr(self, name)) > limit:
                        allowed = f"degrees from {-limit} to {limit}"
                        raise ParameterError(name, getattr(self, name), allowed=allowed, fix="pass plane=True for other coordinates")

    @property
    def width(self) -> float:
        """From west to east."""
        return self.east - self.west

    @property
    def height(self) -> float:
        """From south to north."""
        return self.north - self.south

    @property
    def ring(self) -> list[list[float]]:
        """The corners, against the clock, the first one again at the end."""
        w, s, e, n = self.west, self.south, self.east, self.north
        return [[w, s], [e, s], [e, n], [w, n], [w, s]]

    @property
    def frame(self) -> dict[str, Any]:
        """The frame of a chart of the box (``Figure``): its ends, and whether they are degrees."""
        return {"ends": (self.west, self.south, self.east, self.north), "plane": self.plane}

    def contains(self, points: Array) -> Array:
        """Return which points lie inside."""
        x, y = points[:, 0], points[:, 1]
        return np.asarray((x >= self.west) & (x <= self.east) & (y >= self.south) & (y <= self.north))

    def describe(self) -> str:
        """Return the box in a few words."""
        kind = "" if not self.plane else ", plane=True"
        return f"Box({self.west:g}, {self.south:g}, {self.east:g}, {self.north:g}{kind})"


def is_column(values: Any) -> bool:
    """True for a column of integers, which are numbers of cells instead of points."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return bool(pa.types.is_integer(values.type))
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu"


def read_points(points: Any) -> Array:
    """Return points as an array of n rows and two columns, x (longitude) first; DomainError for anything else.

    They may also be a mapping of two columns, x first.

    >>> read_points([(2.3, 48.9)]).shape, read_points([]).shape
    ((1, 2), (0, 2))
    """
    try:
        if isinstance(points, Mapping):
            columns = [np.asarray(column, dtype=float) for column in points.values()]
            found = np.stack(columns, axis=-1) if columns else np.zeros((1, 0))
        else:
            found = np.asarray(points, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise DomainError("points", type(points).__name__, allowed="pairs of numbers, x first", fix=str(error)) from error
    if found.size == 0 and found.ndim <= 2:
        return np.zeros((0, 2))
    if found.ndim != 2 or found.shape[1] != 2:
        fix = "make them with np.column_stack([longitudes, latitudes])"
        raise DomainError("points", f"shape {found.shape}", allowed="pass one row of two numbers for each person", fix=fix)
    good = np.isfinite(found).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        raise DomainError(f"points[{row}]", tuple(found[row]), allowed="two finite numbers", fix="remove this person; nothing was counted")
    return found
