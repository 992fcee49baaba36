"""A batch that is interrupted: what was decided is finished once, by a resend or by the next start; what was not leaves no trace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deniable.collect import admission
from deniable.collect.analysis.analyst import estimate
from deniable.collect.batch_intake import BatchRefused
from deniable.collect.collector import Collector
from deniable.collect.storage.log import StorageError
from tests.collect.crowd import HOUR, NOON
from tests.collect.mixing import MINIMUM, analyst_key, count, hand_in, message, opened, published, reports, seals

MODULUS = b"\x80" + bytes(254) + b"\x01"
"""An issuer's: whether a token is good is tested with the tokens."""


class Crash(BaseException):
    """Nothing catches it but the test."""


def batch_of(collector, task, envelopes):
    return opened(message(task, seals(task, envelopes, analyst_key(collector, task))))


def interrupted(collector, batch, *, after: bool):
    """Hand in a batch, and die right before its rows are appended, or right after."""
    append = collector._receiver._append

    def die(rows):
        if after:
            append(rows)
        raise Crash

    collector._receiver._append = die
    with pytest.raises(Crash):
        collector.receive(batch)
    collector._receiver._append = append


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("how", ["resend", "restart", "both"])
def test_what_was_decided_is_finished_once(collector, after, how):
    task = published(collector)
    batch = batch_of(collector, task, reports(task, MINIMUM))
    interrupted(collector, batch, after=after)
    if how != "resend":
        collector = Collector(collector.store, clock=collector.clock)
        assert count(collector, task) == MINIMUM
    if how != "restart":
        assert collector.receive(batch).outcome == ("taken" if how == "resend" else "repeated")
    assert count(collector, task) == MINIMUM
    assert collector.batches.begun() == []
    assert collector.receive(batch).outcome == "repeated"
    collector.seal(task.id, 0)
    assert count(collector, task) == MINIMUM
    assert estimate(collector, task.id).to_json()["shuffle"]["sizes"] == [MINIMUM]


@pytest.mark.parametrize("after", [False, True])
def test_a_report_is_counted_in_one_batch_although_the_other_is_on_its_way(collector, after):
    task = published(collector)
    first, others = reports(task, MINIMUM), reports(task, MINIMUM - 1)
    interrupted(collector, batch_of(collector, task, first), after=after)
    with pytest.raises(BatchRefused) as caught:
        hand_in(collector, task, [*others, first[0]])
    assert caught.value.code == "too_few"
    assert hand_in(collector, task, [*others, first[0], *reports(task, 1)]) == "taken"
    again = Collector(collector.store, clock=collector.clock)
    assert count(again, task) == 2 * MINIMUM
    assert [batch.reports for batch in again.batches.listed(task.id)] == [MINIMUM, MINIMUM]


@pytest.mark.parametrize("after", [False, True])
def test_a_period_that_is_sealed_meanwhile_has_the_batch_as_a_whole_or_not_at_all(collector, after):
    """By another collector of the same database, which does not know of the one that died."""
    task = published(collector)
    assert hand_in(collector, task, reports(task, MINIMUM)) == "taken"
    batch = batch_of(collector, task, reports(task, MINIMUM + 1))
    interrupted(collector, batch, after=after)
    collector.seal(task.id, 0)
    again = Collector(collector.store, clock=collector.clock)
    sizes = [MINIMUM, MINIMUM + 1] if after else [MINIMUM]
    assert [batch.reports for batch in again.batches.listed(task.id)] == sizes
    assert count(again, task) == sum(sizes)
    if after:
        assert again.receive(batch).outcome == "repeated"
    else:
        with pytest.raises(BatchRefused):
            again.receive(batch)


@pytest.mark.parametrize("by_itself", [True, False])
def test_a_disk_that_is_full_for_a_while_loses_nothing(collector, monkeypatch, by_itself):
    task = published(collector)
    batch = batch_of(collector, task, reports(task, MINIMUM))

    def full(rows):
        raise StorageError("disk", "full", allowed="some room", fix="make some")

    with monkeypatch.context() as patch:
        patch.setattr(collector._receiver, "_append", full)
        with pytest.raises(StorageError):
            collector.receive(batch)
        with pytest.raises(StorageError):
            collector.tend()
    assert count(collector, task) == 0
    if by_itself:
        assert "finished 1 shuffled batch" in collector.tend()
    assert collector.receive(batch).outcome == ("repeated" if by_itself else "taken")
    assert count(collector, task) == MINIMUM


def test_a_token_counts_in_one_batch_of_all_periods(collector, clock, monkeypatch):
    """As tokens give reports their ids, the same id in another period is a token that was spent before."""
    monkeypatch.setattr(admission, "holds", lambda *_: True)
    task = published_with(collector, admission="token", issuer=MODULUS, retention=30)
    token = bytes(288)
    first = [each._replace(token=token) for each in reports(task, MINIMUM)]
    assert hand_in(collector, task, first) == "taken"
    collector.seal(task.id, 0)
    clock.now = NOON + HOUR + 60
    collector.watch.follow()
    collector = Collector(collector.store, clock=clock)
    again = [each._replace(period=1) for each in first[:3]] + [each._replace(token=token) for each in reports(task, MINIMUM, period=1)]
    with pytest.raises(BatchRefused) as caught:
        hand_in(collector, task, again[:-1], period=1)
    assert caught.value.code == "too_few"
    assert hand_in(collector, task, again, period=1) == "taken"
    collector.seal(task.id, 1)
    assert count(collector, task, 1) == MINIMUM == collector.batches.listed(task.id, [1])[0].reports


def test_a_token_counts_in_one_batch_of_all_open_periods(collector, clock, monkeypatch):
    """The period that is sealed first would take it from the other batch, which is priced with it."""
    clock.now = NOON + 3500
    monkeypatch.setattr(admission, "holds", lambda *_: True)
    task = published_with(collector, admission="token", issuer=MODULUS, retention=30)
    first = [each._replace(token=bytes(288)) for each in reports(task, MINIMUM, period=1)]
    assert hand_in(collector, task, first, period=1) == "taken"
    earlier = [each._replace(period=0) for each in first]
    with pytest.raises(BatchRefused, match="too_few"):
        hand_in(collector, task, earlier)
    fresh = [each._replace(token=bytes(288)) for each in reports(task, MINIMUM + 1)]
    assert hand_in(collector, task, earlier + fresh) == "taken"
    for period in (0, 1):
        collector.seal(task.id, period)
    assert [count(collector, task, period) for period in (0, 1)] == [MINIMUM + 1, MINIMUM]
    assert [batch.reports for batch in collector.batches.listed(task.id)] == [MINIMUM + 1, MINIMUM]


def published_with(collector, **rules):
    """A task of tokens, whose issuer this test does not need."""
    from tests.collect.mixing import shuffle_task

    task = shuffle_task(collector.registry.key, **rules)
    collector.registry.publish(task, collector.now())
    collector.refresh()
    collector.tend()
    return replace(task)
