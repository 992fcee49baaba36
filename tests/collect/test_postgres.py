"""The report log in a real PostgreSQL: what was acknowledged is sealed once, whoever else appends, seals, dies or restarts."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Barrier, Semaphore

import numpy as np
import pytest
import sqlalchemy as sql

from deniable.collect.storage import postgres_sealed, schema, tables
from deniable.collect.storage.block import Block, Bucket, sort_once
from deniable.collect.storage.postgres import PostgresLog
from deniable.collect.storage.postgres_catalog import PostgresCatalog

TASK = bytes(range(32))


def report(number, payload=b"\0"):
    """A row: an id that sorts unlike the numbers do, and a payload."""
    return hashlib.sha256(b"%d" % number).digest()[:16] + payload


def block(*rows, question=0, stratum=0):
    return Block.of(question, stratum, len(rows[0]) - 16, b"".join(rows))


def plain(blocks):
    return [(block.address, [row.tobytes() for row in block.rows]) for block in blocks]


def add_task(engine, task=TASK):
    with engine.begin() as connection:
        connection.execute(tables.task.insert().values(id=task, name="test", canonical=b"{}", signature=b""))


def read_open(engine, log, bucket):
    with engine.begin() as connection:
        return log.read_open(connection, bucket)


def read_sealed(engine, log, bucket):
    with engine.begin() as connection:
        return log.read_sealed(connection, bucket)


@contextmanager
def sealing(engine, log, bucket):
    """A seal's transaction; it is committed when the block is left."""
    where = (tables.bucket.c.task == bucket.task, tables.bucket.c.number == bucket.number)
    with log.closing(bucket), engine.begin() as connection:
        assert connection.execute(sql.select(tables.bucket.c.state).where(*where).with_for_update()).scalar_one() == "open"
        yield connection
        connection.execute(tables.bucket.update().where(*where).values(state="sealed"))


def seal(engine, log, bucket):
    with sealing(engine, log, bucket) as connection:
        log.write_sealed(connection, bucket, sort_once(log.read_open(connection, bucket)))


def partitions(engine):
    with engine.begin() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM pg_inherits WHERE inhparent = 'report'::regclass").scalar_one()


@contextmanager
def opened(address):
    with closing(PostgresCatalog(address)) as catalog:
        yield catalog.engine, PostgresLog(catalog.engine)


@pytest.fixture
def collector(postgres_address):
    with opened(postgres_address) as (engine, log):
        add_task(engine)
        yield engine, log


@pytest.fixture
def two_collectors(postgres_address):
    with opened(postgres_address) as first, opened(postgres_address) as second:
        add_task(first[0])
        yield first, second


def test_what_is_appended_is_there_by_question_and_stratum(collector):
    engine, log = collector
    first, second = Bucket(TASK, 0), Bucket(TASK, 2**32 - 1)
    blocks = [block(report(1), report(2)), block(report(3, b"abc"), question=65535, stratum=65535), block(report(4), stratum=2)]
    assert log.append({first: blocks, second: [block(report(1, b"\7"))]}) == frozenset()
    assert plain(sort_once(read_open(engine, log, first))) == plain(sort_once(blocks))
    assert plain(read_open(engine, log, second)) == [((0, 0), [report(1, b"\7")])]
    assert read_open(engine, log, Bucket(TASK, 7)) == []


def test_of_equal_ids_the_first_to_come_is_kept(collector):
    engine, log = collector
    bucket = Bucket(TASK, 0)
    log.append({bucket: [block(report(1, b"a"), report(1, b"b")), block(report(1, b"c"), question=1), block(report(2, b"d"), question=1)]})
    log.append({bucket: [block(report(2, b"e")), block(report(1, b"f"), question=1)]})
    assert plain(read_open(engine, log, bucket)) == [((0, 0), [report(1, b"a")]), ((1, 0), [report(2, b"d")])]


def test_a_large_append_is_read_in_pieces_and_nothing_is_missing(collector):
    engine, log = collector
    bucket = Bucket(TASK, 0)
    rows = np.random.default_rng(5).integers(0, 256, (60_000, 28), dtype=np.uint8)
    log.append({bucket: [Block(0, 0, rows[:30_000]), Block(0, 1, rows[30_000:])]})
    with engine.begin() as connection:
        pages = connection.exec_driver_sql("SELECT pg_relation_size('report_1') / 8192").scalar_one()
    assert pages > 3 * 64
    assert plain(sort_once(read_open(engine, log, bucket))) == plain(sort_once([Block(0, 0, rows[:30_000]), Block(0, 1, rows[30_000:])]))


def test_one_id_from_sixteen_threads_is_stored_once(two_collectors):
    (engine, log), (_, other) = two_collectors
    bucket, start = Bucket(TASK, 0), Barrier(16, timeout=60)

    def send(number):
        payload = bytes([number])
        start.wait()
        return [(log, other)[number % 2].append({bucket: [block(report(i, payload), report(i + 50, payload))]}) for i in range(20)]

    with ThreadPoolExecutor(16) as pool:
        assert not any(refused for results in pool.map(send, range(16)) for refused in results)
    stored = [row[:16] for _, rows in plain(read_open(engine, log, bucket)) for row in rows]
    assert sorted(stored) == sorted(report(i)[:16] for i in [*range(20), *range(50, 70)])


def test_an_append_that_meets_a_seal_is_sealed_or_refused(two_collectors):
    """Six threads append until they are refused; what was acknowledged is sealed, and nothing else."""
    collectors = two_collectors
    for period in range(4):
        bucket, arrived = Bucket(TASK, period), Semaphore(0)

        def send(thread, bucket=bucket, arrived=arrived):
            accepted, log = [], collectors[thread % 2][1]
            while True:
                row = report(thread * 1_000_000 + len(accepted))
                if log.append({bucket: [block(row)]}):
                    return accepted, row
                accepted.append(row)
                arrived.release()

        with ThreadPoolExecutor(6) as pool:
            threads = [pool.submit(send, thread) for thread in range(6)]
            for _ in range(60):
                assert arrived.acquire(timeout=60)
            seal(*collectors[0], bucket)
            results = [thread.result() for thread in threads]
        sealed = [row for _, rows in plain(read_sealed(*collectors[1], bucket)) for row in rows]
        assert sorted(row for accepted, _ in results for row in accepted) == sealed
        assert not {row for _, row in results} & set(sealed)
        assert read_open(*collectors[0], bucket) == []


def test_while_a_bucket_is_being_closed_appends_wait_and_go_on_if_it_stays_open(collector):
    engine, log = collector
    bucket = Bucket(TASK, 0)
    log.append({bucket: [block(report(1))]})
    with ThreadPoolExecutor(1) as pool:
        with log.closing(bucket), engine.begin() as connection:
            waiting = pool.submit(log.append, {bucket: [block(report(2))], Bucket(TASK, 1): [block(report(3))]})
            while not connection.exec_driver_sql("SELECT count(*) FROM pg_locks WHERE NOT granted").scalar_one():
                assert not waiting.done()
            assert len(log.read_open(connection, bucket)[0].rows) == 1
        assert waiting.result() == frozenset()
    assert len(read_open(engine, log, bucket)[0].rows) == 2


def test_collectors_that_meet_a_new_bucket_at_once_make_it_once(two_collectors):
    start, (engine, log) = Barrier(8, timeout=60), two_collectors[0]
    with engine.begin() as connection:  # some have a row already, and no partition
        connection.execute(tables.bucket.insert(), [{"task": TASK, "number": period} for period in range(0, 10, 2)])

    def send(number):
        for period in range(10):
            start.wait()
            assert not two_collectors[number % 2][1].append({Bucket(TASK, period): [block(report(number))]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(send, range(8)))
    assert partitions(engine) == 10
    assert [len(read_open(engine, log, Bucket(TASK, period))[0].rows) for period in range(10)] == [8] * 10


def test_collectors_that_start_at_once_make_the_tables_once(postgres_address):
    start = Barrier(4, timeout=60)

    def connect(_):
        start.wait()
        with opened(postgres_address) as (engine, _), engine.begin() as connection:
            return connection.execute(sql.select(tables.schema.c.number)).scalars().all()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(connect, range(4))) == [[schema.SCHEMA]] * 4


def test_seals_of_two_buckets_at_once_do_not_wait_for_each_other(two_collectors):
    both = Barrier(2, timeout=60)
    for period in range(2):
        two_collectors[0][1].append({Bucket(TASK, period): [block(report(1), report(2))]})

    def run(period):
        engine, log = two_collectors[period]
        bucket = Bucket(TASK, period)
        with sealing(engine, log, bucket) as connection:
            connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")  # which the server may come to by itself
            for _ in range(8):  # often enough for the driver to prepare the statement
                blocks = sort_once(log.read_open(connection, bucket))
            both.wait()
            log.write_sealed(connection, bucket, blocks)
            both.wait()
        return len(read_sealed(engine, log, bucket)[0].rows)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == [2, 2]


def test_a_seal_that_fails_leaves_the_bucket_as_it_was(collector):
    engine, log = collector
    bucket = Bucket(TASK, 0)
    log.append({bucket: [block(report(1))]})

    def fail():
        with sealing(engine, log, bucket) as connection:
            log.write_sealed(connection, bucket, sort_once(log.read_open(connection, bucket)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert read_sealed(engine, log, bucket) == []
    assert log.append({bucket: [block(report(2))]}) == frozenset()
    assert len(read_open(engine, log, bucket)[0].rows) == 2


def test_sealed_reports_are_those_that_came_sorted_whatever_the_parts(collector, monkeypatch):
    engine, log = collector
    bucket = Bucket(TASK, 3)
    monkeypatch.setattr(postgres_sealed, "MOST_BYTES", 100)
    came = [
        block(*(report(i) for i in range(40))),
        block(*(report(i, b"xyz") for i in range(40, 47)), question=1, stratum=9),
        block(*(report(i) for i in range(30, 60))),
    ]
    for blocks in ([came[0], came[1]], [came[2]]):
        log.append({bucket: blocks})
    seal(engine, log, bucket)
    assert plain(read_sealed(engine, log, bucket)) == plain(sort_once(came))
    assert log.append({bucket: [block(report(99))], Bucket(TASK, 4): [block(report(99))]}) == {bucket}
    with engine.begin() as connection:
        parts = connection.exec_driver_sql("SELECT count(*) FROM sealed_report").scalar_one()
        wanted = [report(i)[:16] for i in range(0, 80, 3)] + [bytes(16), b"\xff" * 16]
        assert log.sealed_ids(connection, bucket, wanted) == {report(i)[:16] for i in range(0, 60, 3)}
        assert log.sealed_ids(connection, bucket, [report(i)[:16] for i in range(60)]) == {report(i)[:16] for i in range(60)}
        assert log.sealed_ids(connection, Bucket(TASK, 4), wanted) == log.sealed_ids(connection, bucket, []) == frozenset()
        everywhere = [report(i)[:16] for i in (5, 6, 41, 42, 99)]
        assert log.sealed_ids(connection, bucket, everywhere, [(0, 0), (1, 9), (1, 9), (0, 0), (0, 0)]) == {everywhere[0], everywhere[2]}
        assert log.sealed_ids(connection, bucket, everywhere, [(0, 9)] * 5) == log.sealed_ids(connection, bucket, [], []) == frozenset()
        log.drop_sealed(connection, bucket)
        log.drop_sealed(connection, bucket)
    assert parts == 11 + 2
    assert read_sealed(engine, log, bucket) == []


def test_the_order_of_arrival_is_gone_with_the_seals_commit(collector):
    engine, log = collector
    bucket = Bucket(TASK, 0)
    log.append({bucket: [block(report(1))], Bucket(TASK, 1): [block(report(2))]})
    seal(engine, log, bucket)
    with engine.begin() as connection:  # as after a crash before drop_open: an empty table is all that is left
        sizes = connection.exec_driver_sql("SELECT pg_relation_size('report_1'), pg_indexes_size('report_1')").one()
    assert tuple(sizes) == (0, 8192)  # the header of an empty index
    log.drop_open(bucket)
    log.drop_open(bucket)
    assert partitions(engine) == 1
    assert len(read_open(engine, log, Bucket(TASK, 1))[0].rows) == 1


def test_whatever_a_deleted_task_left_is_swept_up(collector):
    engine, log = collector
    other = bytes(32)
    add_task(engine, other)
    log.append({Bucket(TASK, 0): [block(report(1))], Bucket(other, 0): [block(report(2))], Bucket(other, 1): [block(report(2))]})
    seal(engine, log, Bucket(other, 1))
    with engine.begin() as connection:
        connection.execute(tables.task.delete().where(tables.task.c.id == other))
        assert connection.exec_driver_sql("SELECT count(*) FROM sealed_report").scalar_one() == 0
    assert log.append({Bucket(other, 0): [block(report(3))], Bucket(TASK, 0): [block(report(3))]}) == {Bucket(other, 0)}
    log.drop_open(Bucket(other, 1))
    assert partitions(engine) == 1
    assert len(read_open(engine, log, Bucket(TASK, 0))[0].rows) == 2
