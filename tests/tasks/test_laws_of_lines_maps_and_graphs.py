"""What the laws of ranges, places and graphs share: samples of people, comparisons and figures."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.errors import ParameterError
from deniable.tasks.graphs import Degrees, Graph
from deniable.tasks.places import Box, Grid, Movement, PersonalPlaces, QuadTree, Taxonomy, Tracks
from deniable.tasks.ranges import AHEAD, Hierarchy
from deniable.testing import ReplaySource

N = 3000
SQUARE = Box(0, 0, 8, 8, plane=True)
POINTS = np.column_stack([np.arange(N) % 7 + 0.5, np.arange(N) % 3 + 0.5])
TOWN = Taxonomy(["north/hill", "north/mill", "south/lake"])
RING = Graph.of([(i, (i + 1) % 90) for i in range(90)], nodes=90)


def source(key="laws"):
    return ReplaySource.from_key(key)


def tracks():
    grid = Grid(SQUARE, 4, 4)
    return Movement(grid=grid, epsilon=3.0, longest=2, people=N).run(Tracks.of(grid, [[(1, 1), (3, 1)]] * N), source=source())


def named(key="laws"):
    regions, epsilons = ["everywhere"] * N, [1.0] * N
    crowd = {"place": ["north/hill", "south/lake"] * (N // 2), "region": regions, "epsilon": epsilons}
    return PersonalPlaces.of(TOWN, regions, epsilons).run(crowd, source=source(key))


def line(protocol, key="laws", values=None):
    asked = protocol(domain=dn.Integers(0, 31), epsilon=2.0, people=N)
    return asked.run(np.arange(N) % 20 if values is None else values, source=source(key))


def town(key="laws", points=POINTS):
    return QuadTree(box=SQUARE, depth=3, epsilon=2.0, people=N, adaptive=True).run(points, source=source(key))


SEVERAL = {
    "tree": lambda: line(Hierarchy),
    "map": town,
    "moves": tracks,
    "degrees": lambda: Degrees(nodes=90, epsilon=2.0).run(RING, source=source()),
}


def test_a_map_of_a_sample_errs_by_the_people_who_were_drawn_as_well():
    found = town()
    region = found.count(Box(0, 0, 2, 2, plane=True))
    held = np.clip(region.value, 0, N)
    low, high = region.interval(0.9, population=True)
    drawn = np.sqrt(region.stderr**2 + held * (1 - held / N))
    assert (high - low) / (region.interval(0.9)[1] - region.interval(0.9)[0]) == pytest.approx(drawn / region.stderr)
    everybody = found.count(SQUARE).interval(population=True)
    assert everybody == pytest.approx((N, N), abs=1e-3)  # of a sample, too, everybody is somewhere
    for each in (found, named(), line(AHEAD)):
        inner, outer = each.interval(0.9), each.interval(0.9, population=True)
        assert np.all((outer[0] <= inner[0] + 1e-6) & (inner[1] <= outer[1] + 1e-6))  # where nothing errs, rounding does


def test_changes_are_seen_and_no_change_is_not():
    moved = np.column_stack([POINTS[:, 0], 7 - POINTS[:, 1]])
    for before, same, other in (
        (town(), town("again"), town("moved", moved)),
        (line(Hierarchy), line(Hierarchy, "again"), line(Hierarchy, "moved", np.arange(N) % 20 + 10)),
    ):
        if list(before.values) == list(same.values):
            assert before.compare(same).changed() == []
        if list(before.values) == list(other.values):
            assert before.compare(other).changed()
    region = Box(0, 0, 8, 4, plane=True)
    change = town().count(region).compare(town("moved", moved).count(region))
    assert change.p_value < 1e-6
    assert change.interval()[1] < 0


def test_figures_are_those_of_their_kind():
    marks = {name: [figure.mark for figure in SEVERAL[name]().figures()] for name in SEVERAL}
    assert (marks["tree"], marks["map"], marks["moves"], marks["degrees"]) == (["steps", "curve"], ["map"], ["flows"], ["curve"])
    drawn = tracks().chart(3).to_dict()["data"]["values"]
    assert len(drawn) <= 3
    assert all((each["west"], each["south"]) != (each["east"], each["north"]) for each in drawn)  # staying is not drawn
    fine = QuadTree(box=SQUARE, depth=8, epsilon=4.0, people=10, levels=(8,)).run(POINTS[:10], source=source())
    with pytest.raises(ParameterError, match="coarser grid"):
        fine.chart()
