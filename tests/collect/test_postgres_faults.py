"""The report log in PostgreSQL when parts are damaged, connections lost or the server crashes."""

# ruff: noqa: F811  # fixtures are imported

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from traceback import format_exception

import psycopg
import pytest
import sqlalchemy as sql

from deniable.collect.storage import postgres, postgres_sealed
from deniable.collect.storage.block import Bucket, sort_once
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.postgres import PostgresLog
from tests.collect.test_postgres import (  # collector: a fixture
    TASK,
    block,
    collector,  # noqa: F401  # a fixture
    opened,
    plain,
    read_open,
    read_sealed,
    report,
    seal,
    sealing,
)

DAMAGE = {
    "a flipped bit": "UPDATE sealed_report SET rows = set_bit(rows, 77, 1 - get_bit(rows, 77)) WHERE part = 1",
    "cut short": "UPDATE sealed_report SET rows = substr(rows, 1, octet_length(rows) - 17) WHERE part = 1",
    "misplaced": "UPDATE sealed_report a SET rows = b.rows, sha256 = b.sha256 FROM sealed_report b WHERE (a.part, b.part) = (1, 2)",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_part_is_named(collector, monkeypatch, damage):
    engine, log = collector
    bucket = Bucket(TASK, 5)
    monkeypatch.setattr(postgres_sealed, "MOST_BYTES", 100)
    log.append({bucket: [block(*map(report, range(20)), stratum=3)]})
    seal(engine, log, bucket)
    with engine.begin() as connection:
        assert connection.exec_driver_sql(DAMAGE[damage]).rowcount == 1
    with pytest.raises(StorageError, match=r"sealed reports of 000102030405/5: .*question 0, stratum 3, part 1"):
        read_sealed(engine, log, bucket)


def test_a_missing_or_unsorted_part_is_named(collector, monkeypatch):
    engine, log = collector
    monkeypatch.setattr(postgres_sealed, "MOST_BYTES", 100)
    rows = sorted(map(report, range(20)))
    for period, order in enumerate((rows, rows[5:10] + rows[:5])):  # each part of the second is sorted; they are not
        bucket = Bucket(TASK, period)
        log.append({bucket: [block(*rows)]})
        with sealing(engine, log, bucket) as connection:
            log.write_sealed(connection, bucket, [block(*order)])
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM sealed_report WHERE bucket = 1 AND part = 0")
    for period in range(2):
        with pytest.raises(StorageError, match=rf"/{period}: .*part 1"):
            read_sealed(engine, log, Bucket(TASK, period))


def test_a_lost_connection_acknowledges_nothing_and_the_next_append_works(collector, postgres_address):
    engine, log = collector
    bucket = Bucket(TASK, 0)
    log.append({bucket: [block(report(1))]})

    @sql.event.listens_for(engine, "after_cursor_execute")
    def terminate(connection, cursor, statement, *_):
        if "INSERT INTO report_" in statement:  # stored, and not yet committed
            sql.event.remove(engine, "after_cursor_execute", terminate)
            with psycopg.connect(postgres_address, autocommit=True) as killer:
                killer.execute("SELECT pg_terminate_backend(%s, 10000)", [connection.connection.driver_connection.info.backend_pid])

    with pytest.raises(StorageError, match="database: got 'AdminShutdown 57P01'"):
        log.append({bucket: [block(report(2))]})
    assert log.append({bucket: [block(report(3))]}) == frozenset()
    assert plain(sort_once(read_open(engine, log, bucket))) == plain(sort_once([block(report(1), report(3))]))


def test_a_crash_of_the_server_keeps_what_was_acknowledged(collector, postgres):
    engine, log = collector
    log.append({Bucket(TASK, 0): [block(*map(report, range(500)))], Bucket(TASK, 1): [block(*map(report, range(300)))]})
    seal(engine, log, Bucket(TASK, 1))
    log.append({Bucket(TASK, 0): [block(report(500))]})
    postgres.kill()
    try:
        with pytest.raises(StorageError):
            log.append({Bucket(TASK, 0): [block(report(501))]})
    finally:
        postgres.start()
    assert plain(sort_once(read_open(engine, log, Bucket(TASK, 0)))) == plain(sort_once([block(*map(report, range(501)))]))
    assert plain(read_sealed(engine, log, Bucket(TASK, 1))) == plain(sort_once([block(*map(report, range(300)))]))
    assert log.append({Bucket(TASK, 0): [block(report(501))], Bucket(TASK, 1): [block(report(501))]}) == {Bucket(TASK, 1)}


def test_an_append_that_loses_a_deadlock_tries_again(collector, postgres_address):
    """Somebody else holds the higher id and wants the lower; the server gives the append up, and it comes again."""
    engine, log = collector
    bucket = Bucket(TASK, 0)
    log.append({bucket: [block(report(0))]})
    low, high = sorted([report(1), report(2)])
    insert = "INSERT INTO report_1 (bucket, question, stratum, id, payload) VALUES (1, 0, 0, %s, '')"
    given_up = Event()
    sql.event.listen(engine, "handle_error", lambda context: given_up.set())
    with ThreadPoolExecutor(1) as pool, psycopg.connect(postgres_address) as rival:
        rival.execute("SET deadlock_timeout = '1min'")  # so that the append is the one to be given up
        rival.execute(insert, [high[:16]])
        appended = pool.submit(log.append, {bucket: [block(high, low)]})
        while not rival.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0]:
            assert not appended.done()
        rival.execute(insert, [low[:16]])
        rival.rollback()
        assert appended.result(timeout=60) == frozenset()
    assert given_up.is_set()
    assert len(read_open(engine, log, bucket)[0].rows) == 3


def test_any_other_error_of_the_database_is_a_storage_error_that_tells_no_report(collector):
    engine, log = collector
    bucket = Bucket(TASK, 0)
    log.append({bucket: [block(report(0))]})
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE report ADD CHECK (stratum < 5)")
    with pytest.raises(StorageError) as caught:
        log.append({bucket: [block(report(1, b"private"), stratum=7)], Bucket(TASK, 1): [block(report(1))]})
    told = "".join(format_exception(caught.value))
    assert "CheckViolation 23514" in told
    assert b"private".hex() not in told
    assert len(read_open(engine, log, bucket)[0].rows) == 1
    assert read_open(engine, log, Bucket(TASK, 1)) == []


def test_an_acknowledgement_waits_for_the_disk_though_the_server_was_told_otherwise(postgres_address):
    for setting, used in (("off", "on"), ("remote_apply", "remote_apply")):
        with psycopg.connect(postgres_address, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = {setting}")
        with opened(postgres_address) as (engine, _), engine.begin() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == used


def test_a_database_that_only_reads_is_not_ready(collector, postgres_address):
    """As one whose disk is full: it answers questions, and takes no reports."""
    engine, log = collector
    bucket, name = Bucket(TASK, 0), engine.url.database
    log.append({bucket: [block(report(1))]})
    assert log.trouble() is None
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        engine.dispose()
        with pytest.raises(StorageError):
            log.append({bucket: [block(report(2))]})
        assert "read-only" in log.trouble()
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    engine.dispose()
    assert log.trouble() is None
    log.append({bucket: [block(report(2))]})


@contextmanager
def altered(address, setting, value):
    """The database with a setting for all connections that are made meanwhile."""
    with psycopg.connect(address, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET {setting} = '{value}'")
        yield
        connection.execute(f"ALTER DATABASE {name} RESET {setting}")


def test_a_disk_without_room_is_seen_before_an_append_fails(postgres_address):
    """Also by a collector that was just started. The limit on temporary files stands in for the disk: nothing else here can be full."""
    with altered(postgres_address, "temp_file_limit", "512kB"), opened(postgres_address) as (_, log):
        assert "temporary file size exceeds" in log.trouble()
    with altered(postgres_address, "temp_file_limit", "4MB"), opened(postgres_address) as (_, log):
        assert log.trouble() is None, "a full disk is one with less than about 1 MiB"


def test_a_collector_that_starts_on_a_database_that_only_reads_is_not_ready(postgres_address):
    with opened(postgres_address):  # makes the tables
        pass
    with altered(postgres_address, "default_transaction_read_only", "on"):
        engine = sql.create_engine(sql.make_url(postgres_address).set(drivername="postgresql+psycopg"))
        assert "read-only" in PostgresLog(engine).trouble()
        engine.dispose()


def test_room_is_looked_for_once_a_second(collector, monkeypatch):
    """Anyone may ask whether a collector is ready."""
    engine, log = collector
    now, probes = 100.0, []
    monkeypatch.setattr(postgres, "monotonic", lambda: now)
    sql.event.listen(engine, "before_cursor_execute", lambda *call: probes.append("repeat" in call[2]))
    for step in (0.0, 0.5, 0.4, 0.2, 0.9, 0.2):
        now += step
        assert log.trouble() is None
    assert sum(probes) == 3
