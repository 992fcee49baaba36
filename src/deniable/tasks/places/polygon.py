"""Regions to count people in: boxes and polygons, and how much of each grid cell they cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.places.box import Box

_BLOCK = 512
"""Edges compared with all others at a time."""


@dataclass(frozen=True)
class Polygon:
    """An outline and any number of holes, each a closed ring of corners. Several polygons that do not overlap are one region, too.

    Rings may run either way; what comes first is the outline. Edges are straight in the coordinates of the box. Rings that cross
    themselves or each other are refused, since their inside would be a matter of opinion.

    >>> Polygon([[(0, 0), (4, 0), (0, 3), (0, 0)]]).area
    6.0
    """

    rings: tuple[tuple[tuple[float, float], ...], ...]

    def __init__(self, rings: Sequence[Sequence[Sequence[float]]]) -> None:
        try:
            arrays = [np.asarray(ring, dtype=float) for ring in rings]
        except (TypeError, ValueError) as error:
            raise ParameterError("rings", rings, allowed="lists of corners, each of two numbers", fix=str(error)) from error
        for ring in arrays:
            if ring.ndim != 2 or ring.shape[1] != 2 or len(ring) < 4 or not np.isfinite(ring).all() or tuple(ring[0]) != tuple(ring[-1]):
                allowed = "closed rings of three or more corners, the first one again at the end"
                raise ParameterError("rings", f"a ring of shape {ring.shape}", allowed=allowed, fix="repeat the first corner")
        if not arrays:
            raise ParameterError("rings", rings, allowed="one outline, and holes after it", fix="put a single ring in a list")
        object.__setattr__(self, "rings", tuple(tuple((float(x), float(y)) for x, y in ring) for ring in arrays))
        edges = self.edges
        if _crossing(edges) or self.area <= 0:
            allowed = "rings that do not cross, with an area"
            raise ParameterError("rings", f"{len(edges)} edges", allowed=allowed, fix="split the polygon where it crosses itself")

    @property
    def edges(self) -> Array:
        """All edges as rows x0, y0, x1, y1: the outline against the clock, holes with it."""
        parts = []
        for place, corners in enumerate(self.rings):
            ring = np.array(corners)
            if (_area(ring) > 0) == (place > 0):
                ring = ring[::-1]
            parts.append(np.column_stack([ring[:-1], ring[1:]]))
        return np.concatenate(parts)

    @property
    def area(self) -> float:
        """The area of the outline without the holes, in square units of the coordinates."""
        sizes = [abs(_area(np.array(ring))) for ring in self.rings]
        return float(sizes[0] - sum(sizes[1:]))


Region = Box | Polygon | Sequence[Polygon]
"""The types of regions."""


def edges_of(region: Region) -> Array:
    """The edges of a region, so directed that the inside is on the left."""
    if isinstance(region, Box):
        ring = np.array(region.ring)
        return np.column_stack([ring[:-1], ring[1:]])
    if isinstance(region, Polygon):
        return region.edges
    if isinstance(region, Sequence) and region and all(isinstance(part, Polygon) for part in region):
        edges = np.concatenate([part.edges for part in region])
        if _crossing(edges):
            raise ParameterError("region", f"{len(region)} polygons", allowed="polygons that do not overlap", fix="join the polygons first")
        return edges
    raise ParameterError("region", region, allowed="a Box, a Polygon, or a list of polygons", fix="read GeoJSON with read_regions")


def coverage(region: Region, box: Box, columns: int, rows: int) -> Array:
    """The fraction of each cell of a grid that lies inside a region, row by row from the south, exactly but for rounding.

    Every edge is cut where it meets a grid line. A piece that rises by dy at x covers, to its left (where the inside is), dy times the
    width of all cells west of it, and a part of its own cell; falling pieces take away. So a running sum along each row is the area.

    >>> coverage(Polygon([[(0, 0), (2, 0), (2, 2), (0, 0)]]), Box(0, 0, 2, 2, plane=True), 2, 2).tolist()
    [[0.5, 1.0], [0.0, 0.5]]
    """
    edges = edges_of(region)
    scaled = (edges - np.array([box.west, box.south] * 2)) * np.array([columns / box.width, rows / box.height] * 2)
    pieces = _cut(_cut(scaled, 1, rows), 0, columns)
    x, y = (pieces[:, 0] + pieces[:, 2]) / 2, (pieces[:, 1] + pieces[:, 3]) / 2
    rise = pieces[:, 3] - pieces[:, 1]
    seen = (y > 0) & (y < rows) & (x > 0)  # west of the box nothing is covered to the left
    x, y, rise = np.minimum(x[seen], columns), y[seen], rise[seen]
    row, column = y.astype(np.int64), np.minimum(x.astype(np.int64), columns - 1)
    own = np.zeros((rows, columns + 1))
    np.add.at(own, (row, column), rise * (x - column))
    whole = np.zeros((rows, columns + 1))
    np.add.at(whole, (row, column), rise)
    west_of = np.cumsum(whole[:, ::-1], axis=1)[:, ::-1]  # rises of this cell and all east of it
    covered = own[:, :columns] + west_of[:, 1 : columns + 1]
    if covered.min(initial=0.0) < -1e-6 or covered.max(initial=0.0) > 1 + 1e-6:
        raise ParameterError("region", "parts that lie inside each other", allowed="holes inside their outline", fix="check the rings")
    return np.asarray(np.clip(np.where(np.abs(covered - np.round(covered)) < 1e-9, np.round(covered), covered), 0.0, 1.0))


def _cut(edges: Array, axis: int, lines: int) -> Array:
    """Edges cut at the integers 0..lines of one coordinate."""
    start, end = edges[:, axis], edges[:, axis + 2]
    low, high = np.minimum(start, end), np.maximum(start, end)
    first = np.clip(np.floor(low) + 1, 0, lines + 1).astype(np.int64)
    last = np.clip(np.ceil(high) - 1, -1, lines).astype(np.int64)
    cuts = np.maximum(last - first + 1, 0)
    which = np.repeat(np.arange(len(edges)), cuts + 1)
    step = np.arange(which.size) - np.repeat(np.cumsum(cuts + 1) - (cuts + 1), cuts + 1)  # 0 for the first piece of each edge
    forward = end >= start
    span = np.where(end == start, 1.0, end - start)

    def at(number: Array) -> Array:
        """Where piece ``number`` of its edge begins, from 0 to 1 along the edge."""
        line = np.where(forward[which], first[which] + number - 1, last[which] - number + 1)
        inner = (line - start[which]) / span[which]
        return np.where(number <= 0, 0.0, np.where(number > cuts[which], 1.0, inner))[:, None]

    begin, direction = edges[which, :2], edges[which, 2:] - edges[which, :2]
    return np.concatenate([begin + at(step) * direction, begin + at(step + 1) * direction], axis=1)


def _area(ring: Array) -> float:
    x, y = (ring - ring[0]).T  # from a corner: coordinates far from zero would lose digits
    return float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) / 2)


def _crossing(edges: Array) -> bool:
    """True if any two edges cross; edges that only touch do not cross."""
    a, b = edges[:, :2], edges[:, 2:]
    for start in range(0, len(edges), _BLOCK):
        c, d = a[start : start + _BLOCK, None], b[start : start + _BLOCK, None]
        apart = _side(c, d, a) * _side(c, d, b) < 0
        if np.any(apart & (_side(a, b, c) * _side(a, b, d) < 0)):
            return True
    return False


def _side(a: Array, b: Array, point: Array) -> Array:
    """On which side of the line from a to b a point lies."""
    u, v = b - a, point - a
    return np.asarray(np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]))
