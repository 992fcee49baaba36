"""Tracks: what a whole one costs, exactly; moves that are estimated without bias; and made-up tracks that move as people do."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.client.answerable import protocol_domain, takes_all
from deniable.contract.probability import exp_below
from deniable.contract.protocol import protocol_from_json
from deniable.core.run import ask, draw_tickets
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.tasks.places import Box, EveryMove, Grid, Movement, Tracks
from deniable.testing import ReplaySource, law_of

ROAD = Grid(Box(0, 0, 3, 1, plane=True), 3, 1)
SQUARE = Grid(Box(0, 0, 4, 4, plane=True), 4, 4)
DRIFT = 0.7
"""How likely people go east, in the crowd below; else they stay."""
LEVELS = {"user": Movement, "event": EveryMove}


def answer(asking, track, source):
    """All that a device sends: the question's name, and the report."""
    question = asking.question(asking.ticket(source))
    return question.name, question.answer(track, source)


def test_a_whole_track_costs_epsilon_however_long():
    """Every track of up to two moves, and none at all, on two cells and outside of them, through every branch of what a device draws."""
    asking = Movement(grid=Grid(Box(0, 0, 2, 1, plane=True), 2, 1, "count"), epsilon=1.0, longest=1, oracle="GRR")
    tracks = [track for visits in range(4) for track in product(range(3), repeat=visits)]
    laws = [law_of(lambda source, track=track: answer(asking, track, source)) for track in tracks]
    assert all(law.total == 1 for law in laws)
    worst = max(one.ratio(other) for one in laws for other in laws)
    assert 2.7 < worst <= exp_below(1.0)
    assert (asking.guarantee.epsilon, asking.guarantee.neighbors) == (1.0, "any two tracks of one person")
    assert "User-level" in asking.statement()
    assert "cannot answer" not in asking.statement()
    assert "a person who leaves it cannot answer" in replace(asking, grid=ROAD).statement()


def test_a_twin_that_sends_every_answer_is_caught():
    asking = Movement(grid=ROAD, epsilon=1.0, longest=2, oracle="GRR")

    def all_four(track, source):
        return tuple(question.answer(track, source) for question in asking.open().questions[:2])

    one, other = (law_of(lambda source, track=track: all_four(track, source)) for track in ((0, 1), (2, 1, 0)))
    assert one.ratio(other) > exp_below(1.0)


def test_events_cost_twice_for_a_visit_and_more_for_a_track():
    """Reports are independent, so that ratios multiply: one visit is in two of them, a track of k moves in k + 2."""
    asking = EveryMove(grid=ROAD, epsilon=1.0, longest=4, oracle="GRR")
    start, end, move = (asking.spec(name) for name in ("start", "end", "move"))

    def worst(track, other):
        ratio = Fraction(1)
        for spec, a, b in ((start, track[0], other[0]), (end, track[-1], other[-1])):
            ratio *= spec.law(a).ratio(spec.law(b))
        for place in range(len(track) - 1):
            a, b = (asking.moves.number(*each[place : place + 2]) for each in (track, other))
            ratio *= move.law(a).ratio(move.law(b))
        return ratio

    for visit in range(4):
        other = [1, 1, 1, 1]
        other[visit] = 0
        assert exp_below(1.0) < worst((1, 1, 1, 1), other) <= exp_below(2.0)
    assert exp_below(4.0) < worst((1, 1, 1, 1), (0, 0, 2, 2)) <= exp_below(5.0)
    assert asking.guarantee.epsilon == 2.0
    assert "(k + 2) times 1, at most 6" in asking.guarantee.unit
    assert "weaker guarantee" in asking.statement()
    with pytest.raises(ProtocolError, match="one for each move"):
        asking.open()  # a round asks everybody once


def drifting(n, longest=6):
    """People who start in the west, and go east with a known probability; and how many moves they make."""
    draw = np.random.default_rng(4)
    moves = draw.integers(0, longest + 1, n)
    offsets = np.concatenate([[0], np.cumsum(moves + 1)])
    cells = np.empty(offsets[-1], dtype=np.int64)
    column, row = np.zeros(n, dtype=np.int64), draw.integers(0, 4, n)
    for step in range(longest + 1):
        going = moves >= step
        cells[offsets[:-1][going] + step] = (4 * row + column)[going]
        column = np.minimum(column + (draw.random(n) < DRIFT), 3)
    return Tracks(cells, offsets)


@pytest.mark.parametrize("level", ["user", "event"])
def test_moves_are_estimated_and_tracks_are_made_that_move_alike(level):
    tracks = drifting(40_000)
    asking = LEVELS[level](grid=SQUARE, epsilon=4.0, longest=6, people=40_000)
    found = asking.run(tracks, source=ReplaySource.from_key(level))
    east, stay = 5, 4  # of nine ways
    for cell in range(16):
        if cell % 4 < 2:
            assert found.matrix[cell, east] == pytest.approx(DRIFT, abs=5 * found.matrix_stderr[cell, east])
        if cell % 4 == 3:
            assert found.matrix[cell, stay] == pytest.approx(1.0, abs=5 * found.matrix_stderr[cell, stay])
    assert found.matrix.sum(axis=1) == pytest.approx(np.ones(16))
    assert found.lengths[:7] == pytest.approx(np.full(7, 1 / 7), abs=0.03)
    made = found.tracks(20_000, source=ReplaySource.from_key("made"))
    for one, other in ((made.starts, tracks.starts), (made.ends, tracks.ends), (made.cells, tracks.cells)):
        shares = [np.bincount(cells, minlength=16) / cells.size for cells in (one, other)]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.06
    going, coming = made.all_moves()
    assert set(asking.moves.number(going, coming)) <= set(range(asking.moves.jump))  # nobody jumps
    if level == "user":
        assert found.n == pytest.approx(25_000, abs=600)  # five of eight people
    assert "rule" in str(found.chart().altair.to_dict())


def test_moves_weigh_people_and_not_moves():
    """One in two people goes to and fro a hundred times, the others once to the right: both have one vote."""
    busy, calm = [0, 1] * 50, [1, 2]
    tracks = Tracks(np.array((busy + calm) * 2000), np.arange(2001).repeat(2)[:4001] * 102 + np.tile([0, 100], 2001)[:4001])
    found = Movement(grid=ROAD, epsilon=5.0, longest=99, people=4000).run(tracks, source=ReplaySource.from_key("votes"))
    right = found.shares[1, 5]
    assert right == pytest.approx(0.5, abs=5 * found.parts["move"].frequency_stderr.max())


def test_few_and_short_tracks():
    asking = Movement(grid=ROAD, epsilon=2.0, longest=3, people=10)
    nobody = asking.run(Tracks(np.zeros(0, dtype=int), np.zeros(1, dtype=int)))
    assert nobody.matrix[:, 4].tolist() == [1.0] * 3  # nothing was seen: people stay
    assert len(nobody.tracks(5, source=ReplaySource.from_key("few"))) == 5
    assert len(nobody.tracks(0)) == 0
    still = asking.run(Tracks(np.full(400, 2), np.arange(401)), source=ReplaySource.from_key("still"))
    assert still.parts["move"].frequencies[asking.moves.none] == pytest.approx(1.0, abs=5 * still.parts["move"].frequency_stderr.max())
    assert still.lengths.argmax() == 0
    assert repr(still)


@pytest.mark.parametrize("level", ["user", "event"])
def test_whoever_went_nowhere_or_left_the_box_is_counted_too(level):
    """A quarter each: no track at all, outside all the time, out and in again, and one move inside."""
    grid = Grid(ROAD.box, 3, 1, "count")
    out, west, east = (9.0, 9.0), (0.5, 0.5), (1.5, 0.5)
    tracks = Tracks.of(grid, [[], [out, out], [west, out, west], [west, east]] * 1000 + [[]])
    asking = LEVELS[level](grid=grid, epsilon=6.0, longest=3, people=4001)
    found = asking.run(tracks, source=ReplaySource.from_key(f"nowhere {level}"))
    asked = {"user": {"0 > 1": 0.25, "jump": 0.5, "none": 0.25}, "event": {"0 > 1": 0.25, "jump": 0.75, "none": 0.0}}[level]
    numbers = {"0 > 1": asking.moves.number(0, 1), "jump": asking.moves.jump, "none": asking.moves.none}
    wanted = [
        (found.parts["start"], grid.size, 0.5),
        (found.parts["end"], grid.size, 0.5),
        *((found.parts["move"], numbers[name], asked[name]) for name in asked),
    ]
    for estimate, place, share in wanted:
        drawn = share * (1 - share) / estimate.n if level == "user" else 0.0  # who is asked what is drawn, too
        assert estimate.frequencies[place] == pytest.approx(share, abs=5 * (estimate.frequency_stderr[place] ** 2 + drawn) ** 0.5)
    nowhere = 0.0 if level == "user" else 0.25  # at the event level no moves look like no track
    assert found.lengths[0] == pytest.approx(nowhere, abs=0.03)
    assert found.lengths[1] == pytest.approx({"user": 2 / 3, "event": 1 / 2}[level], abs=0.12)
    made = found.tracks(500, source=ReplaySource.from_key("made"))
    assert made.cells.max() < grid.size
    assert len(asking.run(Tracks.of(grid, [[], []])).tracks(2)) == 2


def test_jumps_are_one_answer_of_their_own():
    asking = Movement(grid=Grid(Box(0, 0, 9, 1, plane=True), 9, 1), epsilon=5.0, longest=1, people=800)
    found = asking.run(Tracks(np.array([0, 8] * 800), np.arange(801) * 2), source=ReplaySource.from_key("jump"))
    assert found.parts["move"].frequencies[asking.moves.jump] == pytest.approx(1.0, abs=5 * found.parts["move"].frequency_stderr.max())


def test_tracks_that_cannot_be_are_refused():
    with pytest.raises(DomainError, match=r"tracks\[1\].*Box") as refused:
        Tracks.of(ROAD, [[(0.5, 0.5)], [(1.5, 0.5), (3.25, 0.5)]])
    assert "3.25" not in str(refused.value)  # errors end up in logs
    with pytest.raises(DomainError, match="offsets"):
        Tracks(np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(DomainError, match="same grid"):
        Movement(grid=ROAD, epsilon=1.0, longest=2).run(Tracks(np.array([7]), np.array([0, 1])))
    with pytest.raises(DomainError, match="longest = 2"):
        EveryMove(grid=ROAD, epsilon=1.0, longest=2).run(Tracks(np.zeros(4, dtype=int), np.array([0, 4])))
    for cell in (3, -1, True, 0.5):
        with pytest.raises(DomainError, match="cells from 0 to 2"):
            answer(Movement(grid=ROAD, epsilon=1.0, longest=2), [0, cell], ReplaySource.from_key("device"))
    for wrong in ("road", [[0, 1], [2, 3]], [[0, 1], 2], 7):
        with pytest.raises(DomainError, match="tracks"):
            Movement(grid=ROAD, epsilon=1.0, longest=2).run(wrong)


@pytest.mark.parametrize("made", [Movement, EveryMove])
@pytest.mark.parametrize(
    "options",
    [{"longest": 0}, {"longest": 2.5}, {"reach": 0}, {"reach": 65}, {"people": -1}, {"oracle": "coins"}, {"grid": Grid(ROAD.box, 1, 1)}],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(made, options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        made(**{"grid": ROAD, "epsilon": 1.0, "longest": 2} | options)


def test_moves_that_nobody_could_count_are_refused_before_anybody_is_asked():
    with pytest.raises(ParameterError, match=r"grid, longest, reach: got '.*GiB"):
        Movement(grid=Grid(ROAD.box, 4096, 4096), epsilon=1.0, longest=2, reach=64)


GROUPS = ("start", "end", "length", "move")


@pytest.mark.parametrize("outside", ["refuse", "count"])
def test_devices_one_by_one_give_what_the_crowd_in_memory_gives(outside):
    """From one stream of random words, question by question: first what everybody draws, then everybody's noise."""
    asking = Movement(grid=replace(SQUARE, outside=outside), epsilon=2.0, longest=3, people=400)
    assert protocol_from_json(asking.canonical) == asking
    people = [[], [3], [0, 1, 2, 3, 7], [5, 5, 5], [15, 0], *([[16, 2], [16]] if outside == "count" else [])] * 60
    tickets = draw_tickets(asking, len(people), ReplaySource.from_key("tickets"))
    one, many = ReplaySource.from_key("words"), ReplaySource.from_key("words")
    expected = ask(asking, people, tickets, source=many)
    for question in asking.open().questions:
        assert takes_all(question, protocol_domain(asking.canonical))
        asked = [track for track, ticket in zip(people, tickets, strict=True) if asking.question(int(ticket)) == question]
        inputs = [question.encoder.encode(track, one) for track in asked]
        tally = question.spec.tally([question.spec.randomize(held, one) for held in inputs])
        assert tally.to_bytes() == expected[question.name].to_bytes()
    assert tuple(expected) == GROUPS
    found = asking.close(expected)
    assert (tuple(found.parts), found.guarantee) == (GROUPS, asking.guarantee)


def test_lists_of_cells_and_tracks_are_the_same_crowd():
    people = [[0, 1, 2], [], [2]] * 50
    asking = Movement(grid=ROAD, epsilon=2.0, longest=2, people=150)
    column = Tracks(np.concatenate([np.array(track, dtype=int) for track in people]), np.cumsum([0, *map(len, people)]))
    one, other = (asking.run(crowd, source=ReplaySource.from_key("same")) for crowd in (people, column))
    assert one.to_arrow() == other.to_arrow()


def test_what_is_shown_of_the_parts_changes_no_probability():
    """A page shows the largest values of each part, and none of a part with few reports."""
    found = Movement(grid=ROAD, epsilon=4.0, longest=2, people=300).run([[0, 1, 2]] * 300, source=ReplaySource.from_key("shown"))
    for parts in ({}, {name: part.shortened(2) for name, part in found.parts.items()}):
        assert replace(found, parts=parts).rows()["probability"].tolist() == found.rows()["probability"].tolist()
        assert len(replace(found, parts=parts).tracks(3, source=ReplaySource.from_key("made"))) == 3


def test_a_device_draws_each_of_its_moves_as_often_as_another():
    """Exactly: a track of three different moves, and one that goes nowhere at all."""
    encoder = Movement(grid=ROAD, epsilon=2.0, longest=2).moves.encoder
    law = law_of(lambda source: encoder.encode([0, 1, 1, 2], source))
    moves = [encoder.number(*move) for move in ((0, 1), (1, 1), (1, 2))]
    assert {move: law[move] for move in moves} == dict.fromkeys(moves, Fraction(1, 3))
    assert law_of(lambda source: encoder.encode([], source))[encoder.none] == 1


def test_what_was_changed_on_the_way_is_refused():
    asking = Movement(grid=ROAD, epsilon=1.0, longest=2)
    content = json.loads(asking.canonical)
    other = {"domain": {"kind": "track", "cells": 3, "outside": True}, "longest": 0, "grid": content["grid"] | {"columns": 1}, "more": 1}
    for name, changed in other.items():
        with pytest.raises(WireError):
            protocol_from_json(json.dumps(content | {name: changed}, sort_keys=True, separators=(",", ":")).encode())


def test_unsigned_offsets_are_read_as_signed_ones():
    """Differences of unsigned numbers wrap around: what falls looked as if it rose, and rows were copied past their ends."""
    offsets = np.array([0, 10, 2, 10])
    for dtype in (np.int64, np.uint64, np.uint8):
        with pytest.raises(DomainError, match="offsets"):
            Tracks(np.arange(10) % 4, offsets.astype(dtype))
        assert Tracks(np.arange(10) % 4, np.sort(offsets).astype(dtype)).offsets.tolist() == [0, 2, 10, 10]
