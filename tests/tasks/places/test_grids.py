"""Maps from private reports: errors as stated, dense places looked at closely, states that can be stored, and crowds at the edge."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import deniable as dn
from deniable.client.answerable import check_answerable
from deniable.contract.probability import exp_below
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.core.run import ask, draw_tickets
from deniable.core.tally import Tally
from deniable.errors import DomainError, ParameterError, WireError
from deniable.tasks.places import Box, Grid, Polygon, QuadTree, UniformGrid
from deniable.tasks.places.morton import interleaved, separated
from deniable.testing import ReplaySource, law_of

SQUARE = Box(0, 0, 16, 16, plane=True)
ASKED = Box(4, 4, 8, 12, plane=True)
"""Two squares of the second level, or eight of the third."""
ALPHA = 1e-6


@cache
def crowd(n=3000):
    """A town, and people all over: the same points every time."""
    draw = np.random.default_rng(5)
    points = np.concatenate([draw.normal((5, 6), 1.0, (n * 2 // 3, 2)), draw.uniform(0, 16, (n - n * 2 // 3, 2))])
    return np.clip(points, 0, 16)


def asked(way, oracle="auto", epsilon=1.5, **options):
    if way == "grid":
        return UniformGrid(grid=Grid(SQUARE, 8, 8), epsilon=epsilon, people=3000, oracle=oracle)
    return QuadTree(box=SQUARE, depth=3, epsilon=epsilon, people=3000, oracle=oracle, adaptive=way == "adaptive", **options)


def told(asking, points, key):
    return asking.run(points, source=ReplaySource.from_key(key))


@pytest.mark.parametrize("way", ["grid", "quadtree"])
def test_points_come_in_rows_in_two_columns_or_as_the_numbers_of_cells(way):
    asking, points = asked(way), crowd()
    columns = {"longitude": pa.chunked_array([points[:7, 0], points[7:, 0]]), "latitude": points[:, 1]}
    cells = asking.read(points)
    for held in (points.tolist(), columns, cells):
        assert np.array_equal(np.asarray(asking.read(held)), cells)
    row_by_row = asking.grid.cells(points)
    for numbers in (row_by_row, row_by_row.astype(np.uint64), pa.array(row_by_row)):  # row by row, for a tree as for a grid
        assert np.array_equal(np.asarray(asking.read(numbers)), cells)
    for wrong in ({"height": points[:, 1]}, {"latitude": ["north"] * len(points)}, {"latitude": points}):
        with pytest.raises(DomainError, match="points"):
            asking.read(columns | wrong)
    with pytest.raises(DomainError):
        asking.read(np.array([0, asking.grid.size]))


def test_a_grid_of_one_cell_counts_people_whose_cell_it_is():
    one = UniformGrid(grid=Grid(SQUARE, 1, 1), epsilon=1.0)
    for held in (np.array([0, 0]), pa.array([0, 0]), [(1, 2), (3, 4)]):
        assert one.run(held).n == 2
    with pytest.raises(DomainError):
        one.run(np.array([0, 7]))


def test_columns_of_short_floats_fall_into_the_cells_of_their_doubles():
    points = crowd().astype(np.float32)
    fine = Grid(SQUARE, 4096, 4096)
    assert np.array_equal(fine.cells({"x": points[:, 0], "y": points[:, 1]}), fine.cells(points.astype(float)))


@pytest.mark.parametrize(("way", "oracle", "runs"), [("grid", "GRR", 150), ("grid", "OLH", 150), ("quadtree", "GRR", 100)])
def test_a_region_errs_as_stated(way, oracle, runs):
    """The sum of (error / stderr)^2 is chi-squared at 1e-6; who claims half of the error is caught (power above 0.999)."""
    asking, points = asked(way, oracle), crowd()
    truth = np.count_nonzero(Grid(SQUARE, 8, 8).covered(ASKED)[Grid(SQUARE, 8, 8).cells(points)])
    scores = []
    for run in range(runs):
        found = told(asking, points, f"{way} {oracle} {run}").count(ASKED)
        scores.append((found.value - truth) / found.stderr)
    square, limits = float(np.square(scores).sum()), stats.chi2(runs).ppf([ALPHA / 2, 1 - ALPHA / 2])
    assert limits[0] < square < limits[1]
    assert square / 0.5**2 > limits[1]
    assert abs(np.mean(scores)) < stats.norm.isf(ALPHA / 2) / np.sqrt(runs)


def test_dense_squares_are_split_and_empty_ones_are_not():
    found = told(asked("adaptive", epsilon=1.0), crowd(), "adaptive")
    west, south, east, north = found.blocks.T
    covered = np.zeros((8, 8), dtype=int)
    for block in found.blocks:
        covered[block[1] : block[3], block[0] : block[2]] += 1
    assert np.all(covered == 1)  # every place is in one square
    side = (east - west)[(west <= 2) & (east > 2) & (south <= 3) & (north > 3)]
    assert side.tolist() == [1]  # the town
    assert np.count_nonzero(east - west == 2) >= 8  # most of the land stays as it was first asked about
    assert found.counts.sum() == pytest.approx(found.n)
    assert found.fine().sum() == pytest.approx(found.n)


def test_a_search_that_stops_early_asks_everybody_left():
    """Where nothing stands out of the noise, all who are left count the first squares; stored between the rounds, it goes on alike."""
    asking = QuadTree(box=SQUARE, depth=4, epsilon=1.0, people=300, adaptive=True)
    points = np.random.default_rng(1).uniform(0, 16, (300, 2))
    source, state = ReplaySource.from_key("still"), asking
    tickets, names = draw_tickets(asking, 300, source), []
    while isinstance(state, Protocol):
        state = protocol_from_json(state.canonical)
        names += [(question.name, question.share) for question in state.open().questions]
        state = state.close(ask(state, asking.codes(points), tickets, source=source))
    assert names == [("level-2", Fraction(1, 3)), ("level-2-rest", Fraction(2, 3))]
    assert (state.n, len(state.blocks)) == (300, 16)
    assert "adaptive quadtree of 1 level," in state.about
    one = asking.close(ask(asking, asking.codes(points), tickets, source=source)).state.measured[0]
    assert state.stderr.mean() < 0.75 * np.mean(one.noise) ** 0.5 * 300 / one.n  # three times the people


@pytest.mark.parametrize(("way", "runs"), [("grid", 300), ("quadtree", 200)])
def test_errors_are_as_stated_where_all_are_in_one_cell(way, runs):
    """The sum of (error / stderr)^2 is below chi-squared's limit at 1e-6; errors too small by a fifth, as of independent cells, are not."""
    box = Box(0, 0, 4, 4, plane=True)
    grid = UniformGrid(grid=Grid(box, 4, 4), epsilon=4.0, people=2000, oracle="GRR")
    asking = grid if way == "grid" else QuadTree(box=box, depth=1, epsilon=4.0, people=2000, oracle="GRR")
    cell = Box(0, 0, 1, 1, plane=True) if way == "grid" else Box(0, 0, 2, 2, plane=True)
    scores, largest = [], []
    for run in range(runs):
        found = told(asking, np.full((2000, 2), 0.5), f"crowded {way} {run}")
        single, region = (found.counts[0], found.stderr[0]), found.count(cell)
        assert (region.value, region.stderr) == pytest.approx(single)
        scores.append((single[0] - 2000) / single[1])
        largest.append(single[1])
    square, limits = float(np.square(scores).sum()), stats.chi2(runs).ppf([ALPHA / 2, 1 - ALPHA / 2])
    assert limits[0] < square < limits[1]
    spec = asking.spec if way == "grid" else asking.open().questions[0].spec
    exact = np.sqrt(2000 * float(spec.p * (1 - spec.p))) / float(spec.p - spec.q)
    assert np.mean(largest) == pytest.approx(exact, rel=0.05)  # the law's own, with everybody in the cell


@pytest.mark.parametrize("adaptive", [False, True], ids=["one round", "rounds"])
def test_devices_can_answer_a_tree_wherever_they_are(adaptive):
    """They look into the task's JSON for what may be held, and answer only rounds that all of it can answer."""
    state = QuadTree(box=SQUARE, depth=3, epsilon=3.0, people=3000, adaptive=adaptive, outside="count")
    task, tickets = SimpleNamespace(protocol=state.canonical), draw_tickets(state, 3000, ReplaySource.from_key("devices"))
    while isinstance(state, Protocol):
        check_answerable(task, state.open())
        state = state.close(ask(state, state.codes(crowd()), tickets, source=ReplaySource.from_key("answers")))
    with pytest.raises(WireError, match=r"domain: got .*which follows from the rest"):
        protocol_from_json(task.protocol.replace(b'"high":64', b'"high":63'))


def test_a_hierarchy_beats_a_flat_grid_on_large_regions_only():
    large, small = Box(0, 0, 8, 8, plane=True), Box(4, 6, 6, 8, plane=True)
    flat, tree = (told(asked(way), crowd(), "compare") for way in ("grid", "quadtree"))
    assert tree.count(large).stderr < 0.6 * flat.count(large).stderr
    assert tree.count(small).stderr > flat.count(small).stderr


@pytest.mark.parametrize("outside", ["refuse", "count"])
def test_the_whole_answer_keeps_epsilon_exactly(outside):
    """The law of group and report together, for any two places, inside the box or not."""
    asking = QuadTree(box=SQUARE, depth=2, epsilon=1.0, oracle="GRR", outside=outside)

    def answer(code, source):
        question = asking.question(asking.ticket(source))
        return question.name, question.answer(code, source)

    codes = range(16 + (outside == "count"))
    laws = [law_of(lambda source, code=code: answer(code, source)) for code in codes]
    assert all(law.total == 1 for law in laws)
    worst = max(a.ratio(b) for a in laws for b in laws)
    assert 2.718 < worst <= exp_below(1.0)
    assert asking.guarantee.epsilon == 1.0


@pytest.mark.parametrize("adaptive", [False, True], ids=["one round", "rounds"])
def test_a_search_resumes_from_its_json(adaptive):
    asking = QuadTree(box=SQUARE, depth=3, epsilon=3.0, people=3000, adaptive=adaptive, outside="count")
    points = np.concatenate([crowd(), [(-3.0, 40.0)] * 500])
    direct = told(asking, points, "resume")
    source, values, state = ReplaySource.from_key("resume"), asking.codes(points), asking
    tickets = draw_tickets(state, len(points), source)
    while isinstance(state, Protocol):
        state = protocol_from_json(state.canonical)
        tallies = ask(state, values, tickets, source=source)
        state = state.close({name: Tally.from_bytes(tally.to_bytes()) for name, tally in tallies.items()})
    assert state.counts.tolist() == direct.counts.tolist()
    assert direct.elsewhere.value == pytest.approx(500, abs=5 * direct.elsewhere.stderr)
    assert direct.count(SQUARE).value + direct.elsewhere.value == pytest.approx(3500)
    later = asking.close(ask(asking, values, tickets, source=source))
    if adaptive:
        damaged = later.canonical.replace(b'"level":2', b'"level":2.5')
        with pytest.raises(WireError):
            protocol_from_json(damaged)


@pytest.mark.parametrize("way", ["grid", "quadtree", "adaptive"])
@pytest.mark.parametrize("points", [np.zeros((0, 2)), [(1.0, 1.0)], [(3.3, 3.3)] * 400], ids=["nobody", "one", "all in one place"])
def test_hardly_anyone_and_everybody_alike(way, points):
    found = told(asked(way), points, "edge")
    assert found.n == len(points)  # also of those who were left when a search had nothing to split
    assert np.isfinite(found.counts).all()
    assert np.isfinite(found.stderr).all()
    everybody = found.count(SQUARE)
    assert everybody.value == pytest.approx(found.n)
    assert everybody.stderr == pytest.approx(0, abs=1e-6)
    assert (found.nonnegative() >= 0).all()
    assert repr(found)
    if len(points) == 400:
        assert found.nonnegative().argmax() in np.flatnonzero(found.grid.covered(Box(3, 3, 3.5, 3.5, plane=True), found.blocks))


@pytest.mark.parametrize("outside", ["refuse", "count"])
def test_a_grid_is_asked_by_devices_one_by_one_as_in_memory(outside):
    """Each device names its cell; from the same random words, the crowd in memory gives the same counts."""
    asking = UniformGrid(grid=Grid(SQUARE, 5, 3, outside), epsilon=2.0, people=500, oracle="GRR")
    assert protocol_from_json(asking.canonical) == asking
    points = np.concatenate([crowd(500), [(17.0, 3.0)] * 9]) if outside == "count" else crowd(500)
    cells = asking.grid.cells(points).tolist()
    assert (max(cells) == 15) == (outside == "count")
    check_answerable(SimpleNamespace(protocol=asking.canonical), asking.open())
    source = ReplaySource.from_key("cells")
    reports = [asking.open().questions[0].answer(cell, source) for cell in cells]
    found = asking.close({"cell": asking.spec.tally(reports)})
    direct = told(asking, points, "cells")
    assert found.counts.tolist() == direct.counts.tolist()
    assert found.guarantee == direct.guarantee == asking.guarantee
    assert ("inside the box" in asking.guarantee.statement()) == (outside == "refuse")  # then who is elsewhere has no answer
    with pytest.raises(DomainError):
        asking.domain.key(16)


def test_a_grid_whose_domain_was_changed_on_the_way_is_refused():
    """Devices look at the domain, the collector at the grid: were they to differ, some would have no answer."""
    asking = UniformGrid(grid=Grid(SQUARE, 5, 3), epsilon=2.0)
    for old, new in ((b'"size":15', b'"size":16'), (b'"rows":3', b'"rows":4'), (b'"outside":"refuse"', b'"outside":"count"')):
        with pytest.raises(WireError):
            protocol_from_json(asking.canonical.replace(old, new))


def test_one_cell_asks_nothing():
    alone = UniformGrid(grid=Grid(SQUARE, 1, 1), epsilon=1.0)
    found = alone.run(crowd())
    assert (found.counts.tolist(), found.stderr.tolist(), alone.guarantee.epsilon) == ([3000.0], [0.0], 0.0)
    half = found.count(Box(0, 0, 16, 8, plane=True))
    assert (half.value, half.stderr, half.interval(0.95)[1]) == (1500.0, 1500.0, pytest.approx(1500 + 1.959964 * 1500))
    assert "hold 3,000 people" in half.headline()
    with pytest.raises(ParameterError, match="grid"):
        alone.spec  # noqa: B018  # there is nothing to ask
    for ask_anyway in (alone.open, lambda: alone.canonical):
        with pytest.raises(ParameterError, match=r"grid: got 'one cell'; .* run\(\)"):
            ask_anyway()
    pair = UniformGrid(grid=Grid(SQUARE, 2, 1), epsilon=1.0)
    with pytest.raises(WireError, match="one cell"):
        protocol_from_json(pair.canonical.replace(b'"columns":2', b'"columns":1'))
    with_others = UniformGrid(grid=Grid(SQUARE, 1, 1, outside="count"), epsilon=3.0, people=400)
    found = with_others.run([(1, 1)] * 300 + [(99, 1)] * 100, source=ReplaySource.from_key("others"))
    assert found.elsewhere.value == pytest.approx(100, abs=5 * found.elsewhere.stderr)


def test_points_outside_are_refused_before_anybody_reports():
    for way in ("grid", "quadtree", "adaptive"):
        with pytest.raises(DomainError, match=r"points\[1\].*outside"):
            asked(way).run([(1, 1), (1, 17)])


def test_the_oracle_is_chosen_and_counts_within_seconds():
    """A quarter of a million candidates for each of a million reports would take minutes; the next best errs 1.2 % more at most."""
    asking = UniformGrid(grid=Grid(SQUARE, 256, 256), epsilon=1.0, people=1_000_000)
    best = dn.frequency_oracle(domain_size=65_536, epsilon=1.0, n=1_000_000).spec
    assert asking.spec.mechanism == "PGR"
    assert asking.spec.variance(10**6) < 1.012**2 * best.variance(10**6) * 1.001
    assert asked("grid", "OUE").spec == dn.OUE(domain_size=64, epsilon=1.5)


def test_codes_are_prefixes_of_squares():
    draw = np.random.default_rng(3)
    column, row = draw.integers(0, 4096, (2, 500))
    codes = interleaved(column, row)
    assert all(np.array_equal(*pair) for pair in zip(separated(codes), (column, row), strict=True))
    assert np.array_equal(codes >> np.uint64(6), interleaved(column >> 3, row >> 3))


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 0},
        {"depth": 13},
        {"depth": 3, "levels": (1, 2)},
        {"depth": 3, "levels": (2, 1, 3)},
        {"depth": 3, "outside": "drop"},
        {"depth": 3, "epsilon": 0},
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(options):
    with pytest.raises(ParameterError):
        QuadTree(**{"box": SQUARE, "epsilon": 1.0} | options)


def test_a_polygon_is_counted_with_its_error():
    triangle = Polygon([[(0, 0), (16, 0), (16, 16), (0, 0)]])
    found = told(asked("grid", epsilon=4.0), crowd(), "triangle").count(triangle)
    x, y = crowd().T
    low, high = found.interval(0.95)
    assert low < np.count_nonzero(x > y) < high
    assert high - low > 2 * 1.95996 * found.stderr
    assert "assumed to be spread evenly" in repr(found)


@pytest.mark.parametrize("adaptive", [True, False])
def test_intervals_of_regions_hold_where_people_are_crowded_in_a_cell(adaptive):
    """10 % of 2,000 people in one finest cell, which adaptive trees seldom ask about: 12 misses in 40 runs have probability 1e-6."""
    words = np.array(ReplaySource.from_key("crowded").words(4000), dtype=np.uint64).reshape(-1, 2) % np.uint64(1 << 20)
    points = np.where(np.arange(2000)[:, None] % 10 == 0, [5.5, 6.5], words * (16 / (1 << 20)))
    regions = [(5, 6, 6, 7), (5.2, 6.1, 5.6, 6.6), (4, 4, 6, 8), (0, 0, 8, 8)]  # that cell, a part of it, half a square, a quarter of all
    x, y = points.T
    truth = np.array([np.count_nonzero((west <= x) & (x < east) & (south <= y) & (y < north)) for west, south, east, north in regions])
    tree, missed = QuadTree(box=SQUARE, depth=4, epsilon=1.0, people=2000, adaptive=adaptive), np.zeros(len(regions))
    for run in range(40):
        found = tree.run(points, source=ReplaySource.from_key(f"crowded {run}"))
        limits = np.array([found.count(Box(*region, plane=True)).interval(0.95) for region in regions])
        missed += (truth < limits[:, 0]) | (truth > limits[:, 1])
    assert missed.max() < 12


def test_a_region_through_a_cell_holds_between_nobody_and_everybody_there():
    """All 3,000 people are in the one corner of the one cell that the first half leaves out, or takes in."""
    found = UniformGrid(grid=Grid(SQUARE, 1, 1), epsilon=1.0).run(np.full((3000, 2), 15.0))
    for half in (Box(0, 0, 16, 8, plane=True), Box(0, 8, 16, 16, plane=True)):
        low, high = found.count(half).interval(0.5)
        assert low <= 0 < 3000 <= high
