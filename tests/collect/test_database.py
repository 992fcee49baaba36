"""The tables behind a collector: a schema with a number, durable writes, readers that never wait."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import sqlalchemy as sql

from deniable.collect.collector import Collector
from deniable.collect.storage import schema, tables
from deniable.collect.storage.folder import SqliteCatalog
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.postgres_catalog import PostgresCatalog
from deniable.collect.storage.store import Store
from deniable.contract.public_log import verify_chain
from tests.collect.crowd import NOON
from tests.collect.mixing import MINIMUM, hand_in, published, reports
from tests.conftest import ROOT


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    return tmp_path / "a ?b#.sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_address")


def connect(address):
    return PostgresCatalog(address) if isinstance(address, str) else SqliteCatalog(address)


def use(address, action):
    with closing(connect(address)) as catalog, catalog.changing() as connection:
        return action(connection)


def number(connection):
    return connection.execute(sql.select(tables.schema.c.number)).scalars().all()


def test_tables_are_made_once_and_kept(address):
    use(address, lambda connection: connection.execute(tables.secret.insert().values(name="a", value=b"\0\xff")))
    assert use(address, lambda connection: connection.execute(sql.select(tables.secret.c.value)).scalar_one()) == b"\0\xff"
    assert use(address, number) == [schema.SCHEMA]


def test_the_tables_of_reports_are_in_postgresql_only(address):
    names = set(use(address, lambda connection: sql.inspect(connection).get_table_names()))
    assert names - set(tables.metadata.tables) == (set() if not isinstance(address, str) else {"report", "sealed_report"})


def test_a_newer_schema_is_refused_and_left_alone(address):
    use(address, lambda connection: connection.execute(tables.schema.update().values(number=schema.SCHEMA + 1)))
    with pytest.raises(StorageError, match=r"schema: got 8; allowed: at most 7; .*upgrade"):
        connect(address)
    with pytest.raises(StorageError):  # the refusal changed nothing
        connect(address)


def test_an_older_schema_is_migrated_step_by_step_and_once(address, monkeypatch):
    use(address, lambda connection: None)
    steps = []

    def step(name):
        def run(connection):
            steps.append((name, number(connection)))
            connection.exec_driver_sql(f"CREATE TABLE {name} (x INTEGER)")

        return run

    monkeypatch.setattr(schema, "MIGRATIONS", {schema.SCHEMA + 1: step("second"), schema.SCHEMA: step("first")})
    monkeypatch.setattr(schema, "SCHEMA", schema.SCHEMA + 2)
    assert use(address, number) == [schema.SCHEMA]
    assert use(address, lambda connection: sql.inspect(connection).has_table("second"))
    assert [name for name, _ in steps] == ["first", "second"]


def shape(connection):
    """The names of all columns and indexes."""
    inspector = sql.inspect(connection)
    names = inspector.get_table_names()
    columns = {(name, column["name"]) for name in names for column in inspector.get_columns(name)}
    return columns | {(name, index["name"]) for name in names for index in inspector.get_indexes(name)}


def rename(connection, old, new):
    connection.exec_driver_sql(f"ALTER TABLE bucket RENAME COLUMN {old} TO {new}")


@pytest.mark.parametrize("old", [1, 2, 3, 4, 6])
def test_an_old_database_gets_the_tables_of_a_new_one(address, old):
    def go_back(connection):
        rename(connection, "number", "period")
        if old < 6:
            tables.closing.drop(connection)
        if old < 4:
            tables.batch.drop(connection)
        if old < 3:
            for index in (tables.unfinished, tables.kept):
                index.drop(connection)
            tables.deleted_task.drop(connection)
        if old < 2:
            tables.enrolment.drop(connection)
        connection.execute(tables.schema.update().values(number=old))
        return shape(connection)

    new = use(address, shape)
    assert new - use(address, go_back) >= {("bucket", "number")}
    assert use(address, shape) == new
    assert use(address, number) == [schema.SCHEMA]


def test_what_was_parked_under_the_fifth_schema_stays_parked(address):
    before = {"number": 3, "tries": 1, "owner": b"", "begun": 0, "why": "MemoryError"}

    def go_back(connection):
        connection.execute(tables.task.insert().values(id=b"t", name="t", canonical=b"", signature=b"", closed=False))
        tables.closing.drop(connection)
        keyed = "CREATE TABLE closing (task %s PRIMARY KEY, number INTEGER, tries INTEGER, owner %s, begun BIGINT, why VARCHAR)"
        connection.exec_driver_sql(keyed.replace("%s", "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"))
        connection.execute(tables.closing.insert().values(task=b"t", **before))
        rename(connection, "number", "period")
        connection.execute(tables.schema.update().values(number=5))

    def park_another(connection):
        connection.execute(tables.closing.insert().values(task=b"t", **before | {"number": 4}))
        return [row.number for row in connection.execute(sql.select(tables.closing).order_by(tables.closing.c.number))]

    use(address, go_back)
    assert use(address, park_another) == [3, 4]


def test_a_golden_database_of_the_second_schema_is_opened_with_all_that_it_holds(tmp_path):
    """A task with five sealed reports, and the traces of a task that was deleted: nobody kept its text then."""
    shutil.copy(ROOT / "tests" / "data" / "collect" / "collector-2.sqlite", tmp_path / "collector.sqlite")
    store = Store.open(tmp_path)
    try:
        collector = Collector(store, clock=lambda: NOON + 60)
        (live,) = collector.admission.tasks.values()
        assert (live.sealed, live.dropped, live.closed) == ({0}, set(), False)
        assert collector.tallies(live.task.id)[0, 0, 0].n == 5
        entries = collector.registry.entries()
        verify_chain(entries, live.task.key)
        texts = {name.hex(): store.text(name) for name in (entry.content.task for entry in entries)}
        assert [text is not None for text in texts.values()] == [True, False]
        collector.delete_task(live.task.id)
        assert store.text(live.task.id)[0] == live.task.canonical
    finally:
        store.close()


def test_a_golden_database_of_the_third_schema_takes_shuffled_batches(tmp_path):
    """Seven sealed reports, a task with a secret, the text of a deleted task: all of it is there, and batches are taken beside it."""
    shutil.copy(ROOT / "tests" / "data" / "collect" / "collector-3.sqlite", tmp_path / "collector.sqlite")
    store = Store.open(tmp_path)
    try:
        collector = Collector(store, clock=lambda: NOON + 60)
        lives = {live.task.name: live for live in collector.admission.tasks.values()}
        assert sorted(lives) == ["kept", "secret"]
        assert collector.tallies(lives["kept"].task.id)[0, 0, 0].n == 7
        assert len(lives["secret"].secret) == 32
        entries = collector.registry.entries()
        verify_chain(entries, lives["kept"].task.key)
        assert all(store.text(entry.content.task) is not None for entry in entries)
        task = published(collector)
        assert hand_in(collector, task, reports(task, MINIMUM)) == "taken"
        assert [batch.reports for batch in collector.batches.listed(task.id)] == [MINIMUM]
    finally:
        store.close()


def test_a_migration_that_fails_changes_nothing(address, monkeypatch):
    use(address, lambda connection: None)

    def fail(connection):
        connection.exec_driver_sql("CREATE TABLE half (x INTEGER)")
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", {schema.SCHEMA: fail})
        patch.setattr(schema, "SCHEMA", schema.SCHEMA + 1)
        with pytest.raises(ZeroDivisionError):
            connect(address)
    assert use(address, number) == [schema.SCHEMA]
    assert not use(address, lambda connection: sql.inspect(connection).has_table("half"))


def test_a_bucket_has_one_row_and_goes_with_its_task(address):
    def fill(connection):
        connection.execute(tables.task.insert().values(id=b"t", name="n", canonical=b"", signature=b""))
        connection.execute(tables.bucket.insert().values(task=b"t", number=2**32 - 1))
        assert connection.execute(sql.select(tables.bucket.c.state)).scalar_one() == "open"

    use(address, fill)
    with pytest.raises(StorageError, match="IntegrityError"):
        use(address, lambda connection: connection.execute(tables.bucket.insert().values(task=b"t", number=2**32 - 1)))
    with pytest.raises(StorageError, match="IntegrityError"):
        use(address, lambda connection: connection.execute(tables.bucket.insert().values(task=b"unknown", number=0)))
    use(address, lambda connection: connection.execute(tables.task.delete()))
    assert use(address, lambda connection: connection.execute(sql.select(tables.bucket)).all()) == []


def test_sqlite_writes_ahead_and_waits_for_the_disk(tmp_path):
    def settings(connection):
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in ("journal_mode", "synchronous", "foreign_keys")]

    assert use(tmp_path / "store.sqlite", settings) == ["wal", 2, 1]  # 2 is FULL


def test_a_reader_does_not_wait_for_a_writer_and_a_writer_waits_for_its_turn(tmp_path):
    catalog = connect(tmp_path / "store.sqlite")

    def write(name):
        with catalog.changing() as connection:
            seen = len(connection.execute(sql.select(tables.secret)).all())
            connection.execute(tables.secret.insert().values(name=name, value=b""))
            return seen

    with ThreadPoolExecutor(1) as pool:
        with catalog.changing() as writer:
            writer.execute(tables.secret.insert().values(name="first", value=b""))
            second = pool.submit(write, "second")
            with catalog.reading() as connection:  # waiting, this would fail: the writer goes on only after it
                assert connection.execute(sql.select(tables.secret)).all() == []
            assert not second.done()
        assert second.result() == 1
    with catalog.reading() as connection:
        assert len(connection.execute(sql.select(tables.secret)).all()) == 2
    catalog.close()


def test_an_error_of_the_database_shows_no_values(address):
    def twice(connection):
        for _ in range(2):
            connection.execute(tables.secret.insert().values(name="name", value=b"a secret value"))

    with pytest.raises(StorageError, match="IntegrityError") as caught:
        use(address, twice)
    assert "secret value" not in f"{caught.value} {caught.value.__cause__}"


def test_a_database_that_cannot_be_opened_is_named_without_its_password(tmp_path):
    with pytest.raises(StorageError, match=r"database: got .*No such file or directory"):
        connect(tmp_path / "nowhere" / "store.sqlite")
    with pytest.raises(StorageError, match=r"database: got 'postgresql.*No such file") as caught:
        connect(f"postgresql://somebody:hidden@/x?host={tmp_path}")
    assert "hidden" not in str(caught.value)
