"""Rounds about tracks on a device: everybody answers, wherever they went; what some could not answer is refused unread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction

import pytest

from deniable.client import GRR
from deniable.contract.domain import Integers
from deniable.contract.encoder import Identity
from deniable.contract.question import Question, Round
from deniable.contract.task import OpenedRound
from deniable.contract.tracks import DrawnMove, FirstVisit, LastVisit, MoveCount, Track
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, rounds_task
from tests.conftest import ROOT

TOWN = Track(6, outside=True)
ENCODERS = [FirstVisit(TOWN), LastVisit(TOWN), MoveCount(TOWN, 2), DrawnMove(TOWN, 3, 1)]
HELD = [[], [0], (5, 6), [6], [0, 5, 2, 2, 6, 1], [3, 4] * 1000]
"""Nowhere, one place, out of the box, outside all the time, with jumps, and long."""


def asking(encoder, domain=TOWN, size=None):
    """A task about tracks, and a collector that asks one question."""
    task = rounds_task(domain)
    question = Question(name="asked", spec=GRR(domain_size=size or encoder.inputs, epsilon=1.0), encoder=encoder)
    collector = FakeCollector(task)
    collector.rounds[task.id.hex()] = OpenedRound(task=task.id, number=0, scale=1, round=Round((question,), Fraction(0)), state=bytes(32))
    return task, collector


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda encoder: encoder.kind)
def test_everybody_answers_wherever_they_went(encoder):
    task, collector = asking(encoder)
    for track in HELD:
        device = Device(collector, task)
        assert device.report(track).state == "sent"
        assert device.ledger.spent() == pytest.approx(1.0, abs=1e-9)
    assert len({len(body) for body in collector.bodies}) == 1
    assert len(collector.bodies) == len(HELD)


@pytest.mark.parametrize(
    ("encoder", "size"),
    [
        (FirstVisit(Track(6)), None),
        (LastVisit(Track(7)), None),
        (DrawnMove(Track(9), 3, 1), None),
        *((encoder, encoder.inputs - 1) for encoder in ENCODERS),
        (Identity(), 7),
    ],
    ids=["inside only", "no number for elsewhere", "another grid", *(f"{each.kind} without the last input" for each in ENCODERS), "itself"],
)
def test_a_round_that_some_could_not_answer_is_answered_by_nobody(encoder, size):
    """A twin that answers where it can would be silent for who went elsewhere, or nowhere, and that would reveal it."""
    task, collector = asking(encoder, size=size)
    answers = []
    for track in HELD:
        device = Device(collector, task)
        with pytest.raises(ProtocolError, match="every value of the task can answer") as caught:
            device.report(track)
        assert device.ledger.entries() == []
        answers.append(str(caught.value))
    assert len(set(answers)) == 1
    assert not collector.bodies


@pytest.mark.parametrize("wrong", [7, "01", {0, 1}, [7], [-1], [True], [0.0], [0, [1]], {"cells": [0]}], ids=str)
def test_what_is_no_track_is_the_apps_error_and_not_shown(wrong):
    task, collector = asking(ENCODERS[0])
    device = Device(collector, task)
    with pytest.raises(DomainError, match="allowed: lists of cells from 0 to 6") as caught:
        device.report(wrong)
    assert str(wrong) not in str(caught.value)  # errors end up in logs, and visits do not
    assert device.ledger.entries() == []
    for encoder in ENCODERS:
        with pytest.raises(DomainError):
            encoder.encode(wrong, ReplaySource([]))


def test_a_domain_of_tracks_has_no_size_and_no_keys_to_turn_back():
    assert TOWN.key([0, 6]) == TOWN.key((0, 6)) != TOWN.key([6, 0])
    for ask in (lambda: TOWN.size, lambda: TOWN.value(7), lambda: Track(1), lambda: Track(6, outside=1), lambda: Track(True)):
        with pytest.raises(ParameterError):
            ask()


def test_settings_are_checked_before_any_track():
    for make in (
        lambda: FirstVisit(Integers(0, 6)),
        lambda: MoveCount(TOWN, 0),
        lambda: MoveCount(TOWN, 2.0),
        lambda: DrawnMove(TOWN, 4, 1),
        lambda: DrawnMove(TOWN, 3, 65),
        lambda: DrawnMove(None, 3, 1),
    ):
        with pytest.raises(ParameterError):
            make()


def test_a_device_that_draws_a_move_loads_neither_numpy_nor_pyarrow():
    """From the task's own bytes to the bytes of a report, in an interpreter of its own, with all packages installed."""
    asked = [Question(name="asked", spec=GRR(domain_size=each.inputs, epsilon=1.0), encoder=each).to_json() for each in ENCODERS]
    code = """
import json, sys
from deniable.client.answerable import takes_all
from deniable.contract.domain import Domain
from deniable.contract.question import Question
for data in json.load(sys.stdin):
    question = Question.from_json(data)
    assert takes_all(question, Domain.from_json({"kind": "track", "cells": 6, "outside": True}))
    question.spec.encode(question.answer([0, 5, 6]))
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    loaded = set(json.loads(done.stdout))
    assert "deniable" in loaded
    assert not loaded & {"numpy", "pyarrow", "scipy", "numba", "cryptography"}
