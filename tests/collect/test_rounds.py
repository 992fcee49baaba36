"""Tasks of several rounds over a collector: when each is asked, taken and closed, and that nothing is closed twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.collect.collector import Collector
from deniable.contract.ed25519 import ROUND_CONTEXT, verify
from deniable.contract.envelope import Envelope
from deniable.contract.public_log import verify_chain
from deniable.contract.source import SYSTEM
from deniable.contract.task import OpenedRound
from deniable.core.run import ask
from deniable.errors import ProtocolError
from deniable.testing import ReplaySource
from tests.collect.crowd import NOON, envelope, send, survey_task

SEARCH = dn.PEM(bits=8, k=3, epsilon=3.0, groups=2, people=400)


def search_task(collector, **rules):
    """A search in two rounds, which are closed by hand unless ``period`` says when."""
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, **{"name": "search", "protocol": SEARCH.canonical, "rounds": True, "period": 0, "answers": 1} | rules)
    collector.publish(task)
    return task


def answers(collector, task, count):
    """The reports of so many people on the round at hand."""
    number, source = collector.task(task.id).round, ReplaySource.from_key(f"{count} people")
    (question,) = collector.registry.state(task.id, number).open().questions
    rows = question.spec.privatize(question.encoder.encode_many(np.arange(count) % 7, source), source=source).rows()
    ids = (b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(2)) for _ in rows)
    return [Envelope(task.id, number, 0, 0, name, row.tobytes()) for name, row in zip(ids, rows, strict=True)]


def test_rounds_over_a_collector_are_the_protocol_itself(collector, clock):
    """PEM, driven by advance(): the same reports give the same result as the library's own loop, bit for bit."""
    base, task = survey_task(collector.registry.key, dn.RR(epsilon=3.0)), search_task(collector)
    values = np.repeat([200, 201, 7, 90], [160, 120, 80, 40])
    state, source = SEARCH, ReplaySource.from_key("rounds over a collector")
    while isinstance(state, dn.PEM):
        number = collector.task(task.id).round
        stored = collector.registry.opened(task.id)
        assert verify(task.key, ROUND_CONTEXT + stored.canonical, stored.signature)
        asked = OpenedRound.from_json(stored.canonical).round.questions
        people = values[number::2]
        for place, question in enumerate(asked):
            reports = question.spec.privatize(question.encoder.encode_many(people, source), source=source)
            rows = reports.rows()
            base_envelope = envelope(base, 0)._replace(task=task.id, period=number, question=place)
            sent = [
                base_envelope._replace(id=bytes([number, place]) + i.to_bytes(14, "big"), payload=row.tobytes())
                for i, row in enumerate(rows)
            ]
            assert send(collector, *sent) == {}
            assert list(send(collector, sent[0]._replace(period=number + 1, id=bytes(16))).values()) == ["wrong_round"]
            candidates = state.open().questions[place].candidates
            tallies = {question.name: question.spec.tally(reports, candidates=candidates if question.spec.candidates_at_tally else None)}
        state = state.close(tallies)
        assert collector.advance(task.id) == isinstance(state, dn.PEM)
    found, expected = collector.outcome(task.id, number), state
    assert list(found.values) == list(expected.values)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert set(found.values) >= {200, 201}
    assert collector.task(task.id).closed
    with pytest.raises(ProtocolError):
        collector.advance(task.id)
    assert len(collector.registry.entries()) == 4  # the task, two rounds, the end
    verify_chain(collector.registry.entries(), task.key)


def test_a_collector_that_stopped_between_seal_and_next_round_goes_on(collector, clock):
    task = search_task(collector)
    collector.seal(task.id, 0)
    assert collector.tend() == ["closed round 0 of search, opened the next"]
    assert collector.task(task.id).round == 1
    expected = SEARCH.close(ask(SEARCH, np.zeros(0, dtype=np.int64)))
    assert collector.registry.state(task.id, 1) == expected


def test_a_timed_round_is_asked_for_its_period_and_takes_what_is_under_way(collector, clock):
    """A device that was asked in time has paid: for ``late`` seconds its report is taken, while nobody is asked any more."""
    task = search_task(collector, period=100, late=10)
    assert send(collector, *answers(collector, task, 5)) == {}
    for seconds, asked in ((99, True), (100, False), (109, False)):
        clock.now = NOON + seconds
        assert collector.tend() == []
        assert collector.task(task.id).asks(clock.now) is asked
        assert send(collector, *answers(collector, task, 1)) == {}
    clock.now = NOON + 110
    assert not collector.task(task.id).asks(clock.now)  # not in the moment before it is closed, either
    late = answers(collector, task, 1)
    assert collector.tend() == ["closed round 0 of search, opened the next"]
    assert collector.store.buckets(task.id)[0].reports == 8
    assert list(send(collector, *late).values()) == ["sealed"]  # what it led to is public: it cannot count any more
    assert collector.task(task.id).asks(clock.now)
    clock.now += 109
    assert collector.tend() == []  # counted from the opening of the round
    assert send(collector, *answers(collector, task, 5)) == {}
    clock.now += 1
    assert collector.tend() == ["closed round 1 of search, the last"]
    assert not collector.task(task.id).asks(clock.now)


def test_a_round_with_too_few_reports_is_asked_once_more(collector, clock):
    task = search_task(collector, period=100, late=10, minimum_batch=4)
    twice = answers(collector, task, 3)
    assert send(collector, *twice, *twice) == {}  # counted once each
    clock.now = NOON + 110
    few = "prolonged search: fewer than 4 reports in round 0"
    assert collector.tend() == [few]
    assert collector.tend() == []
    assert collector.task(task.id).asks(clock.now)
    clock.now = NOON + 215
    assert collector.tend() == []
    assert not collector.task(task.id).asks(clock.now)
    clock.now = NOON + 220
    assert collector.tend() == [few]
    assert send(collector, *answers(collector, task, 1)) == {}
    clock.now = NOON + 330
    assert collector.tend() == ["closed round 0 of search, opened the next"]
    assert collector.task(task.id).asks(clock.now)


def test_a_collector_that_starts_anew_in_a_prolonged_round_asks_to_its_end(collector, clock):
    task = search_task(collector, period=100, late=10, minimum_batch=4)
    assert send(collector, *answers(collector, task, 3)) == {}
    clock.now = NOON + 110
    assert len(collector.tend()) == 1
    clock.now = NOON + 130
    assert send(collector, *answers(collector, task, 1)) == {}  # enough, by now
    under_way = answers(collector, task, 1)
    again = Collector(collector.store, clock=clock)
    assert again.task(task.id).asks(clock.now)
    assert again.tend() == []
    assert send(again, *under_way) == {}
    clock.now = NOON + 220
    assert again.tend() == ["closed round 0 of search, opened the next"]


def test_a_search_that_ends_with_too_few_reports_has_no_result(collector, clock):
    task = search_task(collector, minimum_batch=4)
    assert send(collector, *answers(collector, task, 3)) == {}
    clock.now = task.end + task.late - 1
    assert collector.tend() == []
    clock.now += 1
    assert collector.tend() == ["closed search without a result: fewer than 4 reports in round 0"]
    assert (collector.task(task.id).closed, collector.task(task.id).round) == (True, 0)
    assert collector.tend() == []


def test_an_admin_names_the_round_and_forces_one_with_few_reports(collector):
    task = search_task(collector, minimum_batch=4)
    assert send(collector, *answers(collector, task, 3)) == {}
    with pytest.raises(ProtocolError, match=r"4 reports or more in round 0"):
        collector.advance(task.id, 0)
    assert collector.advance(task.id, 0, force=True)
    with pytest.raises(ProtocolError, match=r"round: got 0; allowed: 1, the current round"):
        collector.advance(task.id, 0, force=True)
    assert send(collector, *answers(collector, task, 4)) == {}
    assert not collector.advance(task.id, 1)
