"""Rounds that cannot be closed: parked, reported, never tried again by themselves, and no other task's trouble."""

from __future__ import annotations

import resource
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

import deniable as dn
from deniable.collect.analysis.analyst import estimate, task_status
from deniable.collect.collector import Collector
from deniable.collect.round_process import UnfinishedError, finish, finish_alone
from deniable.collect.storage.attempts import LEASE, TRIES
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.store import Store
from deniable.contract.envelope import Envelope
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
        tried.append(self.state.stage)
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
    assert "MemoryError" in collector.task(search.id).parked[0]
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
    expected = last.close(tallies)
    monkeypatch.setattr(dn.PEM, "work", lambda _: Work(1 << 30, 0))
    monkeypatch.setattr(dn.PEM, "close", lambda *_: pytest.fail("closed in this process"))
    found = finish(last, tallies)
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


class Killed(BaseException):
    """The process ends here."""


def failing_seal(monkeypatch, kind):
    """Closing any period or round fails before anything is counted; the periods that were tried."""
    tried = []

    def seal(self, bucket, *_, **__):
        tried.append(bucket.number)
        raise kind

    monkeypatch.setattr(Store, "seal", seal)
    return tried


def two_periods(collector, clock):
    """A survey with two periods that are over, and one that is not."""
    survey = survey_task(collector.registry.key, dn.RR(epsilon=3.0), period=100, late=10, end=NOON + 1000)
    collector.publish(survey)
    for period in (0, 1, 2):
        clock.now = NOON + 100.0 * period
        assert send(collector, envelope(survey, 1, period=period)) == {}
    return survey


def restarted(collector, clock):
    """The collector that follows one that died, once others would no longer wait for that one."""
    clock.now += LEASE
    return Collector(collector.store, clock=clock)


@pytest.mark.parametrize("kind", [MemoryError, UnfinishedError("period", 0, allowed="less", fix="none")])
def test_a_period_that_cannot_be_counted_is_parked_and_the_next_one_is_tried(collector, clock, monkeypatch, kind):
    survey = two_periods(collector, clock)
    tried = failing_seal(monkeypatch, kind)
    clock.now = NOON + 210
    words = collector.tend()
    assert [each.partition(", which")[0] for each in words] == [f"parked period {i} of {survey.name}" for i in (0, 1)]
    for again in (collector, Collector(collector.store, clock=clock)):
        assert again.tend() == []
        assert again.tend() == []
        assert list(again.task(survey.id).parked) == [0, 1]
    assert tried == [0, 1]
    assert task_status(collector, survey.id)["parked"].startswith("period 0: ")
    assert task_status(collector, survey.id, exact=False)["parked"] is True


def test_an_admin_has_a_parked_period_counted_again(collector, clock, monkeypatch):
    survey = two_periods(collector, clock)
    tried = failing_seal(monkeypatch, MemoryError)
    clock.now = NOON + 210
    collector.tend()
    with pytest.raises(MemoryError):
        collector.close_period(Bucket(survey.id, 0), again=True)
    assert collector.tend() == []
    assert tried == [0, 1, 0]
    monkeypatch.undo()
    assert collector.close_period(Bucket(survey.id, 0), again=True)
    assert list(collector.task(survey.id).parked) == [1]
    collector.close_task(survey.id)
    assert not collector.task(survey.id).parked
    assert {stored.state for stored in collector.store.buckets(survey.id)} == {"sealed"}


def test_a_period_that_ends_the_process_twice_is_parked(collector, clock, monkeypatch):
    survey = two_periods(collector, clock)
    tried = failing_seal(monkeypatch, Killed)
    clock.now = NOON + 110
    for _ in range(2):
        with pytest.raises(Killed):
            restarted(collector, clock).tend()
    monkeypatch.undo()
    again = restarted(collector, clock)
    assert again.tend()[0].startswith(f"parked period 0 of {survey.name}")
    assert tried == [0, 0]
    assert [stored.state for stored in again.store.buckets(survey.id)] == ["open", "sealed", "sealed"]


@pytest.mark.parametrize("kind", [Killed, MemoryError])
def test_a_round_that_fails_while_it_is_sealed_is_parked_too(collector, clock, monkeypatch, kind):
    search = search_task(collector, period=100, late=10)
    assert send(collector, *answers(collector, search, 3)) == {}
    tried = failing_seal(monkeypatch, kind)
    for _ in range(4):
        again = restarted(collector, clock)
        clock.now += 110  # a round that is met late is asked to the end of the time it is met in
        with suppress(Killed):
            again.tend()
    assert tried == [0] * (1 if kind is MemoryError else TRIES)
    assert again.task(search.id).parked[0]


def test_a_full_disk_parks_nothing_however_often_it_is_tried(collector, clock, monkeypatch):
    search, _ = due(collector, clock)
    tried = failing_seal(monkeypatch, OSError(28, "No space left on device"))
    for _ in range(4):
        with pytest.raises(OSError, match="No space"):
            collector.tend()
    assert tried == [0] * 4
    monkeypatch.undo()
    assert collector.tend() == ["closed round 0 of search, opened the next"]
    assert collector.task(search.id).round == 1


def test_closing_a_round_takes_no_more_memory_with_more_strata(collector, clock):
    labels = tuple(map(str, range(64)))
    protocol = dn.PEM(bits=16, k=3, epsilon=3.0, groups=1, people=400)
    search = search_task(collector, protocol=protocol.canonical, strata=(("a", labels),))
    asked = protocol.open().questions[0]
    rows = asked.spec.privatize(np.zeros(64, dtype=np.int64)).rows()
    sent = [Envelope(search.id, 0, 0, stratum, bytes([stratum]) * 16, row.tobytes()) for stratum, row in enumerate(rows)]
    assert send(collector, *sent) == {}
    collector.seal(search.id, 0)
    one = max(len(tally.to_bytes()) for tally in collector.store.tallies(search.id).values())
    assert one > 1 << 16
    collector.outcome(search.id, 0)
    tracemalloc.start()
    try:
        totals = collector.store.totals(search.id, 0, (asked,))
        assert tracemalloc.get_traced_memory()[1] < 20 * one
    finally:
        tracemalloc.stop()
    assert totals[asked.name].n == 64
