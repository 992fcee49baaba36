"""GeoJSON (RFC 7946): read points and regions, write estimated cells and tracks.

GeoJSON is about longitudes and latitudes. Boxes of other coordinates are refused, since every program that reads the file would put them on
the globe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.places.box import Box, read_points
from deniable.tasks.places.polygon import Polygon

if TYPE_CHECKING:
    from deniable.tasks.places.estimate import PlacesEstimate
    from deniable.tasks.places.grid import Grid
    from deniable.tasks.places.tracks import Tracks

NAME = "name"
"""The property that regions are named by, unless the caller says otherwise."""


def read_geometries(data: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the geometries and properties of a file, a text, or the result of ``json.loads``."""
    if isinstance(data, PathLike):
        data = Path(data).read_text(encoding="utf-8")
    try:
        content = json.loads(data) if isinstance(data, str | bytes) else data
    except json.JSONDecodeError as error:
        raise ParameterError("geojson", data, allowed="JSON", fix=str(error)) from error
    kind = content.get("type") if isinstance(content, Mapping) else None
    if kind == "FeatureCollection" and isinstance(content.get("features"), list):
        return [pair for feature in content["features"] for pair in read_geometries(feature)]
    if kind == "Feature" and isinstance(content.get("geometry"), Mapping):
        properties = content.get("properties")
        return [(dict(content["geometry"]), dict(properties) if isinstance(properties, Mapping) else {})]
    if kind in ("Point", "MultiPoint", "Polygon", "MultiPolygon", "LineString", "MultiLineString"):
        return [(dict(content), {})]
    allowed = "a FeatureCollection, a Feature with a geometry, or a geometry"
    raise ParameterError("geojson", kind or type(content).__name__, allowed=allowed, fix="see RFC 7946")


def read_geojson_points(data: Any) -> Array:
    """Return the points of a GeoJSON document (``data``), one person each, as rows of longitude and latitude; heights are left out.

    >>> read_geojson_points({"type": "MultiPoint", "coordinates": [[2.35, 48.86], [-87.63, 41.88, 180.0]]}).tolist()
    [[2.35, 48.86], [-87.63, 41.88]]
    """
    found: list[Any] = []
    for geometry, _ in read_geometries(data):
        if geometry["type"] not in ("Point", "MultiPoint"):
            raise ParameterError("geojson", geometry["type"], allowed="points", fix="read polygons with read_regions")
        found += [geometry["coordinates"]] if geometry["type"] == "Point" else geometry["coordinates"]
    return read_points([_position(position) for position in found])


@typed
def read_regions(data: Any, name: str = NAME) -> dict[str, list[Polygon]]:
    """Return the polygons of a GeoJSON document (``data``) by the property ``name``, or by their position where they have none.

    >>> corners = [[0, 0], [4, 0], [4, 3], [0, 0]]
    >>> area = {"type": "Feature", "properties": {"name": "park"}, "geometry": {"type": "Polygon", "coordinates": [corners]}}
    >>> regions = read_regions(area)
    >>> list(regions), regions["park"][0].area
    (['park'], 6.0)
    """
    found: dict[str, list[Polygon]] = {}
    for place, (geometry, properties) in enumerate(read_geometries(data)):
        if geometry["type"] not in ("Polygon", "MultiPolygon"):
            raise ParameterError("geojson", geometry["type"], allowed="polygons", fix="read points with read_geojson_points")
        told = str(properties.get(name, place))
        if told in found:
            raise ParameterError(
                "name", told, allowed="a different name for each region", fix="pass name= for a property that tells them apart"
            )
        parts = [geometry["coordinates"]] if geometry["type"] == "Polygon" else geometry["coordinates"]
        found[told] = [Polygon([[_position(position) for position in ring] for ring in rings]) for rings in parts]
    return found


def cells_to_geojson(estimate: PlacesEstimate) -> dict[str, Any]:
    """Return a FeatureCollection of all cells of an estimate, each with count, stderr, low, high and the density by area."""
    check_globe(estimate.grid.box)
    low, high = estimate.interval(0.95)
    columns = {"count": estimate.counts, "stderr": estimate.stderr, "low": low, "high": high, "density": estimate.counts / estimate.area}
    features = []
    for place, bounds in enumerate(estimate.bounds.tolist()):
        shape = {"type": "Polygon", "coordinates": [Box(*bounds).ring]}
        told = {name: float(column[place]) for name, column in columns.items()}
        features.append({"type": "Feature", "geometry": shape, "properties": told})
    return {"type": "FeatureCollection", "features": features}


def tracks_to_geojson(tracks: Tracks, grid: Grid) -> dict[str, Any]:
    """Return a FeatureCollection of tracks: lines through the middles of a grid's cells, and a point for each person who stayed.

    Visits must be inside the box.
    """
    check_globe(grid.box)
    if (tracks.cells.size and int(tracks.cells.max()) >= grid.size) or (tracks.starts < 0).any():
        raise ParameterError(
            "tracks", "visits outside, or none", allowed="visits of cells of the grid", fix="use the grid that the tracks were generated on"
        )
    centers = grid.centers
    features = []
    for place in range(tracks.people):
        visited = centers[tracks.cells[tracks.offsets[place] : tracks.offsets[place + 1]]].tolist()
        single = len(visited) == 1
        shape = {"type": "Point" if single else "LineString", "coordinates": visited[0] if single else visited}
        features.append({"type": "Feature", "geometry": shape, "properties": {"moves": len(visited) - 1}})
    return {"type": "FeatureCollection", "features": features}


def check_globe(box: Box) -> None:
    """Raise unless the coordinates of a box are degrees."""
    if box.plane:
        fix = "convert the coordinates, or use to_arrow() and chart()"
        raise ParameterError("plane", True, allowed="a box of longitudes and latitudes for GeoJSON", fix=fix)


def _position(position: Any) -> list[float]:
    """Longitude and latitude, within their limits."""
    numbers = list(position)[:2] if isinstance(position, list | tuple | np.ndarray) else []
    good = len(numbers) == 2 and all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)
    if not good or not (abs(numbers[0]) <= 180 and abs(numbers[1]) <= 90):
        fix = "put longitude first, and convert other coordinates beforehand"
        raise ParameterError("position", position, allowed="longitude from -180 to 180, then latitude from -90 to 90", fix=fix)
    return [float(numbers[0]), float(numbers[1])]
