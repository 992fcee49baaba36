"""What a collector does every second does not grow with what it has counted in its life."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import sqlalchemy as sql

from deniable.collect.collector import Collector
from deniable.collect.storage import inventory, tables
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.store import Store
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task
from tests.collect.test_rounds import answers, search_task

SEALED = 100_000
DAY = 86_400


@contextmanager
def watched(store):
    """What is asked of the database, and how many rows that gives."""
    asked, rows = [], [0]

    def remember(connection, cursor, statement, parameters, context, many):
        asked.append((statement, parameters))

    sql.event.listen(store.catalog.engine, "after_cursor_execute", remember)
    strategy = sql.engine.cursor.CursorFetchStrategy
    with pytest.MonkeyPatch.context() as patch:
        whole = strategy.fetchall
        patch.setattr(strategy, "fetchall", lambda self, result, cursor: _counted(whole(self, result, cursor), rows))
        yield asked, rows
    sql.event.remove(store.catalog.engine, "after_cursor_execute", remember)


def _counted(found, rows):
    rows[0] += len(found)
    return found


@pytest.fixture
def task(collector):
    task = survey_task(collector.registry.key, end=NOON + 200_000 * HOUR, retention=100_000)
    collector.publish(task)
    return task


def bury(store, task, count=SEALED):
    """As after years: so many periods that were sealed, without the reports that nobody asks for here."""
    rows = [{"task": task.id, "number": 1000 + period, "state": "sealed", "sealed": NOON, "reports": 1} for period in range(count)]
    with store.catalog.writing() as connection:
        connection.execute(tables.bucket.insert(), rows)
        connection.exec_driver_sql("ANALYZE")


def test_a_second_does_not_look_at_what_was_sealed_long_ago(collector, task, address):
    """The same statements with and without a hundred thousand sealed periods, each answered from an index; a start reads them once."""
    send(collector, envelope(task, 1))
    collector.tend()
    with watched(collector.store) as (before, few):
        assert collector.tend() == []
    bury(collector.store, task)
    with watched(collector.store) as (after, rows):
        assert collector.tend() == []
    assert [statement for statement, _ in after] == [statement for statement, _ in before]
    assert rows == few
    if not isinstance(address, str):
        for statement, parameters in after:
            with collector.store.catalog.reading() as connection:
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all() if "SELECT" in statement else []
            walked = [row[-1] for row in plan if "SCAN bucket" in row[-1]]
            assert set(walked) <= {"SCAN bucket USING INDEX bucket_unfinished"}, statement  # which has only those that are


def test_a_start_does_not_touch_each_sealed_period(collector, task, address, clock):
    send(collector, envelope(task, 1))
    collector.seal(task.id, 0)
    bury(collector.store, task, 2000)
    collector.store.close()
    opened = Store.open(address)
    try:
        with watched(opened) as (asked, _):
            again = Collector(opened, clock=clock)
        assert len(asked) < 20
        assert len(again.task(task.id).sealed) == 2001
        assert list(send(again, envelope(task, 2)).values()) == ["sealed"]
    finally:
        opened.close()


def test_opening_a_store_drops_what_a_crash_has_left_and_looks_at_nothing_else(collector, task, address, clock, monkeypatch):
    """The collector died after the commit, before the open reports were gone."""
    first = envelope(task, 1)
    send(collector, first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collector.store.log, "drop_open", lambda bucket: None)
        collector.seal(task.id, 0)
    send(collector, envelope(task, 2, period=0)._replace(period=0))
    bury(collector.store, task, 500)
    collector.store.close()
    dropped = []
    kind = type(collector.store.log)
    drop = kind.drop_open

    def watch(self, bucket):
        dropped.append(bucket)
        drop(self, bucket)

    monkeypatch.setattr(kind, "drop_open", watch)
    opened = Store.open(address)
    try:
        assert len(dropped) == 1
        again = Collector(opened, clock=clock)
        assert send(again, first) == {}
        assert opened.tallies(task.id)[0, 0, 0].n == 1
        if not isinstance(address, str):
            assert dropped == [Bucket(task.id, 0)]
            assert not list((address / "reports" / "open" / task.id.hex()).glob("*.log"))
    finally:
        opened.close()


def test_a_second_of_a_search_reads_no_states(collector, clock):
    """Each round's state is a list of prefixes: megabytes, if a second read them all."""
    task = search_task(collector, period=100)
    assert send(collector, *answers(collector, task, 5)) == {}
    assert collector.advance(task.id)
    collector.tend()
    with watched(collector.store) as (asked, _):
        collector.tend()
    assert asked
    assert not [statement for statement, _ in asked if "round.state" in statement or "round.canonical" in statement]


def test_only_due_reports_are_found_to_be_deleted(collector, monkeypatch):
    """Tasks with different times of retention, and more of them than one statement asks about."""
    monkeypatch.setattr(inventory, "AT_ONCE", 2)
    tasks = [survey_task(collector.registry.key, name=f"t{number}", retention=1 + number % 3) for number in range(5)]
    for task in tasks:
        collector.publish(task)
        bury(collector.store, task, 2)
    found = collector.store.sealed_until({task.id: NOON + DAY - task.retention * DAY for task in tasks})
    assert sorted(stored.bucket for stored in found) == sorted(
        Bucket(task.id, period) for task in tasks if task.retention == 1 for period in (1000, 1001)
    )
