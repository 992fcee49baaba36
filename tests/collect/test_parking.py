"""Rounds that cannot be closed: parked, reported, never tried again by themselves, and no other task's trouble."""

from __future__ import annotations

import resource

import numpy as np
import pytest

import deniable as dn
from deniable.collect.analysis.analyst import estimate, task_status
from deniable.collect.collector import Collector
from deniable.collect.finishing import UnfinishedError, finish, finish_alone
from deniable.collect.storage.parking import LEASE
from deniable.contract.work import Work
from deniable.core.run import ask
from deniable.errors import ParameterError, ProtocolError
from deniable.testing import ReplaySource
from tests.collect.crowd import NOON, envelope, send, survey_task
from tests.collect.test_rounds import SEARCH, answers, search_task


@pytest.fixture
def crashing(monkeypatch):
    """Closing any round of a search fails; the times that it was tried."""
    tried = []

    def close(self, tallies):
        tried.append(self.stage)
        raise MemoryError

    monkeypatch.setattr(dn.PEM, "close", close)
    return tried


def due(collector, clock):
    """A search whose first round is due, and a survey beside it."""
    search = search_task(collector, period=100, late=10)
    survey = survey_task(collector.registry.key, dn.RR(epsilon=3.0), end=NOON + 100_000)
    collector.publish(survey)
    assert send(collector, envelope(survey, 1), *answers(collector, search, 3)) == {}
    clock.now = NOON + 110
    return search, survey


def test_a_round_that_fails_is_parked_and_not_tried_again(collector, clock, crashing):
    search, survey = due(collector, clock)
    (words,) = collector.tend()
    assert words.startswith("parked round 0 of search, which cannot be closed")
    for _ in range(3):
        clock.now += 200
        assert collector.tend() == []
    assert crashing == [0]
    assert "MemoryError" in collector.task(search.id).parked
    assert send(collector, envelope(survey, 0)) == {}  # the other task goes on


def test_a_parked_round_stays_parked_after_a_restart(collector, clock, crashing):
    search, survey = due(collector, clock)
    collector.tend()
    again = Collector(collector.store, clock=clock)
    assert again.tend() == []
    assert crashing == [0]
    assert again.task(search.id).parked
    assert send(again, envelope(survey, 0)) == {}


def test_an_admin_sees_why_and_tries_again(collector, clock, crashing, monkeypatch):
    search, _ = due(collector, clock)
    collector.tend()
    assert "MemoryError" in task_status(collector, search.id)["parked"]
    assert task_status(collector, search.id, exact=False)["parked"] is True
    with pytest.raises(ProtocolError, match="round 0 could not be closed"):
        estimate(collector, search.id)
    with pytest.raises(MemoryError):
        collector.advance(search.id)
    assert crashing == [0, 0]  # looking at it did not try
    monkeypatch.undo()
    assert collector.advance(search.id, 0)
    assert not collector.task(search.id).parked
    assert task_status(collector, search.id)["parked"] is None


def test_a_round_that_ended_the_process_is_tried_once_more_alone_and_then_parked(collector, clock, monkeypatch):
    due(collector, clock)
    alone = []

    class Killed(BaseException):
        """The process ends here."""

    def outcome(_, task, number, *, alone: bool, seen=alone):
        seen.append(alone)
        raise Killed

    monkeypatch.setattr(Collector, "outcome", outcome)
    with pytest.raises(Killed):
        collector.tend()
    clock.now += LEASE  # before that, others who share the database leave it to the one who began
    with pytest.raises(Killed):
        Collector(collector.store, clock=clock).tend()
    assert alone == [False, True]
    clock.now += LEASE
    again = Collector(collector.store, clock=clock)
    assert again.tend()[0].startswith("parked round 0 of search")
    assert again.tend() == []
    assert len(alone) == 2


def test_heavy_rounds_are_closed_in_a_process_of_their_own_with_the_same_result(monkeypatch):
    last = dn.PEM(bits=8, k=3, epsilon=3.0, groups=1, people=400)
    tallies = ask(last, np.repeat([200, 7], [200, 200]), source=ReplaySource.from_key("alone"))
    (expected,) = last.close(tallies).values()
    monkeypatch.setattr(dn.PEM, "work", lambda _: Work(1 << 30, 0))
    monkeypatch.setattr(dn.PEM, "close", lambda *_: pytest.fail("closed in this process"))
    (found,) = finish(last, tallies).values()
    assert list(found.values) == list(expected.values)
    np.testing.assert_array_equal(found.counts, expected.counts)


@pytest.mark.parametrize(
    ("deed", "told"),
    [("bytearray(8 << 30)", "MemoryError"), ("os.kill(os.getpid(), 9)", "ended with status -9")],
)
def test_a_process_that_takes_too_much_or_dies_leaves_the_collector_alone(tmp_path, monkeypatch, deed, told):
    """The evil twin's module stands before ours on the path of the process that closes the round."""
    (tmp_path / "sitecustomize.py").write_text(
        f"import os, sys\nif sys.argv[-1:] == ['-c']:\n    import deniable.tasks.heavy_hitters.pem as pem\n"
        f"    pem.PEM.close = lambda *_: {deed}\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tallies = ask(SEARCH, np.zeros(0, dtype=np.int64))
    with pytest.raises(UnfinishedError, match=told):
        finish_alone(SEARCH, tallies)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + (1 << 17)  # KiB: an eighth of a GiB


def test_a_process_that_takes_too_long_is_ended():
    with pytest.raises(UnfinishedError, match="ended with status -9"):
        finish_alone(SEARCH, ask(SEARCH, np.zeros(0, dtype=np.int64)), seconds=0.01)


def test_a_task_that_an_older_version_took_does_not_keep_the_collector_from_starting(collector, clock, monkeypatch):
    search, survey = due(collector, clock)

    def refuse(self):
        raise ParameterError("oracle", "BloomRR", allowed="less", fix="name another one")

    monkeypatch.setattr(dn.PEM, "__post_init__", refuse)
    again = Collector(collector.store, clock=clock)
    assert "BloomRR" in again.task(search.id).unreadable
    assert again.tend() == []
    assert "BloomRR" in task_status(again, search.id)["parked"]
    assert send(again, envelope(survey, 0)) == {}
