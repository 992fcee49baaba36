"""Boxes, cells and polygons: where a point belongs, how much of a cell a region covers, and what is refused."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from deniable.errors import DomainError, ParameterError, WireError
from deniable.tasks.places import Box, Grid, Polygon, UniformGrid, read_geojson_points, read_regions
from deniable.tasks.places.polygon import coverage
from deniable.tasks.places.tracks import Tracks
from deniable.testing import ReplaySource

SQUARE = Box(0, 0, 8, 8, plane=True)
STAR = [(4, 0.3), (5.1, 2.9), (7.9, 3.2), (5.6, 4.7), (6.6, 7.7), (4, 5.8), (1.2, 7.4), (2.3, 4.8), (0.2, 3.1), (2.9, 3.0), (4, 0.3)]
HOLE = [(3.5, 3.5), (3.5, 4.6), (4.7, 4.6), (4.7, 3.5), (3.5, 3.5)]


def wound(ring, points):
    """Whether points lie inside a ring, by the crossings of a ray: another method than the one that is tested."""
    x, y = points.T
    inside = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in pairwise(ring):
        if y0 != y1:
            inside ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return inside


@pytest.mark.parametrize("turn", [1, -1], ids=["against the clock", "with the clock"])
def test_covered_fractions_are_those_of_many_points(turn):
    polygon = Polygon([STAR[::turn], HOLE])
    ticks = (np.arange(1600) + 0.5) / 200
    lattice = np.column_stack([np.tile(ticks, ticks.size), np.repeat(ticks, ticks.size)])
    inside = wound(STAR, lattice) & ~wound(HOLE, lattice)
    wanted = inside.reshape(8, 200, 8, 200).mean(axis=(1, 3))
    found = coverage(polygon, SQUARE, 8, 8)
    assert np.abs(found - wanted).max() < 2e-3  # a lattice of 200 x 200 points in each cell
    assert found.sum() == pytest.approx(polygon.area, abs=1e-9)  # cells of area 1
    assert found[3, 4] < 1 < found.sum()  # the hole is in it


def test_regions_that_reach_out_of_the_box_and_those_that_miss_it():
    assert coverage(Box(-5, -5, 50, 50, plane=True), SQUARE, 5, 3).tolist() == [[1.0] * 5] * 3
    assert not coverage(Box(9, 9, 10, 10, plane=True), SQUARE, 5, 3).any()
    assert not coverage(Box(-3, 2, -1, 4, plane=True), SQUARE, 5, 3).any()
    across = coverage(Box(-9, 3, 99, 5, plane=True), SQUARE, 4, 8)
    assert across.sum(axis=1).tolist() == [0, 0, 0, 4, 4, 0, 0, 0]
    wide = Polygon([[(-100, -100), (108, 4), (-100, 108), (-100, -100)]])  # its sides leave the box at the right
    assert coverage(wide, SQUARE, 3, 3).sum() == pytest.approx(9, abs=0.2)
    two = [Polygon([[(0, 0), (1, 0), (1, 1), (0, 0)]]), Polygon([[(0, 0), (1, 1), (0, 1), (0, 0)]])]  # they touch
    assert coverage(two, SQUARE, 8, 8)[0, 0] == 1.0


@pytest.mark.parametrize(
    "rings",
    [
        [[(0, 0), (2, 2), (2, 0), (0, 2), (0, 0)]],  # a bow tie
        [[(0, 0), (1, 0), (1, 1), (0, 1)]],  # not closed
        [[(0, 0), (1, 0), (0, 0)]],  # no area
        [[(0, 0), (2, 0), (4, 0), (0, 0)]],
        [[(0, 0), (4, 0), (4, 4), (0, 0)], [(3, -1), (3, 1), (5, 1), (3, -1)]],  # a hole across the outline
        [[(0, 0), (float("nan"), 0), (1, 1), (0, 0)]],
        [],
    ],
    ids=str,
)
def test_polygons_without_an_inside_are_refused(rings):
    with pytest.raises(ParameterError, match="rings"):
        Polygon(rings)


def test_parts_that_overlap_are_refused():
    outer, inner = Polygon([[(0, 0), (6, 0), (6, 6), (0, 6), (0, 0)]]), Polygon([[(1, 1), (3, 1), (3, 3), (1, 1)]])
    with pytest.raises(ParameterError, match="region"):
        coverage([outer, inner], SQUARE, 4, 4)  # one inside the other: no edges cross
    with pytest.raises(ParameterError, match="region"):
        coverage([outer, Polygon([[(5, 5), (9, 5), (9, 9), (5, 5)]])], SQUARE, 4, 4)
    with pytest.raises(ParameterError, match="Polygon"):
        coverage("everywhere", SQUARE, 4, 4)


def test_points_on_lines_belong_to_one_cell_and_blocks_to_their_cells():
    grid = Grid(Box(-1, 10, 1, 12, plane=True), columns=2, rows=4)
    assert grid.cells([(-1, 10), (0, 10.5), (1, 12), (-0.0, 11.999), (-1e-9, 12)]).tolist() == [0, 3, 7, 7, 6]
    assert grid.cells(grid.centers).tolist() == list(range(8))
    assert grid.bounds(3) == (0, 10.5, 1, 11)
    blocks = np.array([[0, 0, 2, 1], [0, 1, 1, 4]])
    assert grid.covered(Box(-1, 10, 0, 12, plane=True), blocks).tolist() == [0.5, 1.0]
    with pytest.raises(ParameterError, match="cell"):
        grid.bounds(8)


@pytest.mark.parametrize(
    ("points", "wrong"),
    [
        ([(0, 0), (9, 3)], r"points\[1\]: got 'a point outside'.*Box\(0, 0, 8, 8.*declare outside=\"count\""),
        ([(1, np.nan)], r"points\[0\]"),
    ],
    ids=["outside", "nan"],
)
def test_points_outside_are_refused_unless_they_are_declared(points, wrong):
    with pytest.raises(DomainError, match=wrong):
        Grid(SQUARE, 4, 4).cells(points)
    assert Grid(SQUARE, 4, 4, outside="count").cells([(0, 0), (9, 3), (-1, -1)]).tolist() == [0, 16, 16]


@pytest.mark.parametrize("points", ["here", [1.0, 2.0], [[1, 2, 3]], [["a", "b"]]], ids=str)
def test_what_is_no_point_is_refused(points):
    with pytest.raises(DomainError, match="points"):
        Grid(SQUARE, 4, 4).cells(points)


@pytest.mark.parametrize(
    ("sides", "wrong"),
    [
        ((5, 0, 1, 1), "west, east"),
        ((170, 0, 190, 1), "east"),
        ((0, -91, 1, 1), "south"),
        ((0, 0, np.inf, 1), "east"),
        (("0", 0, 1, 1), "west"),
    ],
    ids=str,
)
def test_boxes_that_are_none_are_refused(sides, wrong):
    with pytest.raises(ParameterError, match=wrong):
        Box(*sides)
    assert Box.from_json(Box(170, 0, 190, 1, plane=True).to_json()) == Box(170, 0, 190, 1, plane=True)
    with pytest.raises(WireError):
        Box.from_json({"west": "0"})


def test_geojson_goes_out_and_comes_back():
    box = Box(-88, 41, -87, 42)
    found = UniformGrid(grid=Grid(box, 3, 2), epsilon=2.0, people=900).run([(-87.6, 41.8)] * 900, source=ReplaySource.from_key("chicago"))
    written = json.loads(json.dumps(found.to_geojson()))
    regions = read_regions(written)
    assert len(regions) == 6
    for place, parts in enumerate(regions.values()):
        told = written["features"][place]["properties"]
        again = found.count(parts)
        assert again.value == pytest.approx(told["count"])
        assert again.stderr == pytest.approx(told["stderr"])
        assert (again.bias, again.law.inner) == (None, again.law.numbers)
    lines = Tracks(np.array([0, 1, 5]), np.array([0, 2, 3])).to_geojson(found.grid)
    assert [feature["geometry"]["type"] for feature in lines["features"]] == ["LineString", "Point"]
    assert found.grid.cells(lines["features"][0]["geometry"]["coordinates"]).tolist() == [0, 1]
    for cells in ([found.grid.size], []):
        with pytest.raises(ParameterError, match="tracks"):
            Tracks(np.array(cells, dtype=int), np.array([0, len(cells)])).to_geojson(found.grid)
    feature = {"type": "Feature", "properties": None, "geometry": {"type": "Point", "coordinates": [-87.5, 41.5]}}
    assert read_geojson_points(json.dumps({"type": "FeatureCollection", "features": [feature] * 2})).tolist() == [[-87.5, 41.5]] * 2


@pytest.mark.parametrize(
    ("read", "data"),
    [
        (read_geojson_points, "{"),
        (read_geojson_points, {"type": "Topology"}),
        (read_geojson_points, {"type": "Point", "coordinates": [41.5, -187.5]}),
        (read_geojson_points, {"type": "Polygon", "coordinates": []}),
        (read_regions, {"type": "Point", "coordinates": [0, 0]}),
        (read_regions, {"type": "Feature", "geometry": None}),
    ],
    ids=["no JSON", "TopoJSON", "latitude first", "polygons as points", "points as polygons", "no geometry"],
)
def test_geojson_that_says_something_else_is_refused(read, data):
    with pytest.raises(ParameterError):
        read(data)


def test_a_plane_is_never_put_on_the_globe():
    found = UniformGrid(grid=Grid(SQUARE, 2, 2), epsilon=1.0).run([(1, 1)])
    with pytest.raises(ParameterError, match="plane"):
        found.to_geojson()
    assert "mark" in json.dumps(found.outlined({"star": [Polygon([STAR])]}).altair.to_dict())
