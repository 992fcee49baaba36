"""The analyst's keys: made when they are needed, announced while they are good, deleted when nothing can come for them."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

import pytest
import sqlalchemy as sql

from deniable.collect.batch_intake import BatchRefused
from deniable.collect.collector import Collector
from deniable.collect.storage import tables
from deniable.collect.storage.store import Store
from deniable.contract.notice import ANALYST, read_keys
from deniable.errors import DeniableError
from deniable.sealing.keys import GRACE, LIFETIME
from tests.collect.crowd import HOUR, NOON
from tests.collect.mixing import MINIMUM, analyst_key, hand_in, message, opened, published, reports, seals, shuffle_task

DAY = 86_400


def at(collector, clock, time):
    """The same store, by a collector that believes a later clock."""
    clock.now = time
    later = Collector(collector.store, clock=clock)
    later.tend()
    return later


def test_without_a_task_of_shuffle_trust_there_is_no_key(collector):
    collector.tend()
    assert (collector.keys.pairs(), json.loads(collector.keys.announcement())) == ({}, {"keys": []})
    task = published(collector)
    assert len(collector.keys.pairs()) == 1
    assert analyst_key(collector, task).role == ANALYST


def test_keys_follow_each_other_and_are_forgotten(collector, clock):
    task = published(collector, end=NOON + 400 * DAY, period=DAY, answers=1, retention=500)
    first = analyst_key(collector, task)
    assert at(collector, clock, NOON + LIFETIME / 2 - 60).keys.pairs().keys() == {first.id}
    later = at(collector, clock, NOON + LIFETIME / 2 + 60)
    assert len(later.keys.pairs()) == len(json.loads(later.keys.announcement())["keys"]) == 2
    assert analyst_key(later, task) == first  # all devices go on with it until it ends, and then take the other
    second = analyst_key(at(collector, clock, NOON + LIFETIME), task)
    assert later.keys.pairs().keys() >= {first.id, second.id}
    assert second != first
    last = NOON + LIFETIME + GRACE + DAY + task.late
    assert first.id in at(collector, clock, last - 60).keys.pairs()
    after = at(collector, clock, last + 60)
    assert first.id not in after.keys.pairs()
    with pytest.raises(DeniableError):
        read_keys(collector.keys.announcement(), task.key, last + 60 + LIFETIME, ANALYST)


def test_a_deleted_key_is_on_no_disk(tmp_path, clock):
    """Neither in the database nor in its log of changes; if a reader holds the log, at the next tending."""
    with closing(Store.open(tmp_path)) as store:
        task = published(Collector(store, clock=clock))
        (pair,) = Collector(store, clock=clock).keys.pairs().values()

        def found():
            return [path.name for path in tmp_path.rglob("*") if path.is_file() and pair.private in path.read_bytes()]

        assert found()
        with store.catalog.reading() as connection:  # what it sees must stay for it
            connection.execute(sql.select(tables.secret)).all()
            later = at(Collector(store, clock=clock), clock, task.end + LIFETIME + GRACE + task.period + task.late)
            assert pair.id not in later.keys.pairs()
            assert found()
        later.tend_keys()
        assert found() == []


def test_all_reports_of_a_period_are_sealed_for_one_key(collector, clock):
    """A week in which the first key ends: whoever comes when takes the one that the period began with."""
    published(collector)
    start = int(NOON + LIFETIME - 3 * DAY)
    clock.now = start + 1.0
    task = replace(shuffle_task(collector.registry.key), name="second", start=start, end=start + 7 * DAY, period=7 * DAY)
    Collector(collector.store, clock=clock).publish(task)
    used = set()
    for hour in range(7 * 24):
        later = at(collector, clock, start + hour * HOUR + 1.0)
        used.add(read_keys(later.keys.announcement(), task.key, clock.now, ANALYST, since=start).id)
    assert len(used) == 1
    assert len(later.keys.pairs()) > 1


def test_keys_of_long_periods_live_longer(collector, clock):
    """All that a period may be sealed for fit into one list."""
    task = published(collector, end=NOON + 3000 * DAY, period=1500 * DAY, answers=1, retention=4000)
    for day in range(0, 3000, 10):
        later = at(collector, clock, NOON + day * DAY)
        began = NOON + day // 1500 * 1500 * DAY
        found = read_keys(later.keys.announcement(), task.key, clock.now, ANALYST, since=began)
        assert (found.valid_at(began), len(later.keys.pairs()) <= 32) == (True, True)


def test_what_was_sealed_for_a_key_that_is_gone_cannot_be_opened(collector, clock):
    task = published(collector, end=NOON + 400 * DAY, period=400 * DAY, answers=1, retention=500)
    batch = opened(message(task, seals(task, reports(task, MINIMUM), analyst_key(collector, task))))
    late = at(collector, clock, NOON + LIFETIME + 60)  # ended, and kept
    assert late.receive(batch).outcome == "taken"
    more = opened(message(task, seals(task, reports(task, MINIMUM), analyst_key(late, task))))
    with collector.store.catalog.writing() as connection:
        connection.execute(tables.secret.delete().where(tables.secret.c.name.startswith("hpke ")))
    with pytest.raises(BatchRefused) as caught:
        late.receive(more)
    assert caught.value.code == "too_few"


def test_collectors_of_one_database_have_the_same_keys(collector):
    published(collector)
    other = Collector(collector.store, clock=collector.clock)
    other.tend()
    assert other.keys.pairs() == collector.keys.pairs()
    assert other.keys.announcement() == collector.keys.announcement()


def test_a_key_is_announced_under_the_identity_in_the_task(collector):
    task = published(collector)
    body = collector.keys.announcement()
    assert read_keys(body, task.key, NOON, ANALYST).valid_at(NOON + HOUR)
    with pytest.raises(DeniableError):
        read_keys(body, bytes(range(32)), NOON, ANALYST)
    private = next(iter(collector.keys.pairs().values())).private
    assert private not in body
    assert private.hex().encode() not in body


def test_a_task_is_answered_through_a_key_made_while_another_was_in_use(collector, clock):
    """A period that is longer than a key's life: seals for both keys come in batches of their own."""
    task = shuffle_task(collector.registry.key, end=NOON + 60 * DAY, period=60 * DAY, answers=1)
    collector.publish(task)
    early = seals(task, reports(task, MINIMUM), analyst_key(collector, task))
    late = at(collector, clock, NOON + LIFETIME - 60)
    assert hand_in(late, task, reports(task, MINIMUM)) == "taken"
    assert late.receive(opened(message(task, early))).outcome == "taken"
    with collector.store.catalog.reading() as connection:
        kept = connection.execute(sql.select(tables.secret.c.name).where(tables.secret.c.name.startswith("hpke "))).scalars().all()
    assert len(kept) == 2
