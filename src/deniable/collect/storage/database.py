"""The collector's database, in SQLite or PostgreSQL, with the ``tables`` of the present schema.

The schema has a number. A database of an older number is migrated when it is opened, one of a newer number is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import Connection, Engine, Table
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from deniable.collect.storage import tables
from deniable.collect.storage.log import StorageError

SCHEMA = 6
READING = "deniable_reading"
"""The execution option of connections that never write."""


def _to_third(connection: Connection) -> None:
    tables.deleted_task.create(connection)
    tables.unfinished.create(connection)
    tables.kept.create(connection)


def _to_sixth(connection: Connection) -> None:
    """Several periods of a task may be parked: before, a task had one row."""
    rows = [row._asdict() for row in connection.execute(sql.select(tables.closing))]
    tables.closing.drop(connection)
    tables.closing.create(connection)
    if rows:
        connection.execute(tables.closing.insert(), rows)


CONNECT_SECONDS = 20
"""How long a database server may take to answer; a connection that it drops is tried once more."""
MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: tables.enrolment.create,
    2: _to_third,
    3: tables.batch.create,
    4: tables.closing.create,
    5: _to_sixth,
}
"""What turns a schema of this number into the next."""


def has_store(address: str) -> bool:
    """True if the PostgreSQL database at an address holds a collector's tables; StorageError if it cannot be opened."""
    engine = sql.create_engine(_postgres_url(address), hide_parameters=True, connect_args={"connect_timeout": CONNECT_SECONDS})
    try:
        with _opening(engine):
            return sql.inspect(engine).has_table("schema")
    finally:
        engine.dispose()


def connect(address: str | Path) -> Engine:
    """An engine on a SQLite file (a path) or on PostgreSQL (an address), with tables of the present schema."""
    if isinstance(address, str) and address.startswith("postgresql:"):
        patient = {"connect_timeout": CONNECT_SECONDS}
        engine = sql.create_engine(_postgres_url(address), pool_pre_ping=True, hide_parameters=True, connect_args=patient)
        sql.event.listen(engine, "connect", _prepare_postgres)
    else:
        _keep_private(Path(address))
        url = sql.URL.create("sqlite", database=str(address))
        engine = sql.create_engine(url, connect_args={"timeout": 30}, hide_parameters=True)
        sql.event.listen(engine, "connect", _prepare_sqlite)
        sql.event.listen(engine, "begin", _begin_immediately)
    try:
        with _opening(engine), engine.begin() as connection:
            _migrate(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _postgres_url(address: str) -> sql.URL:
    return sql.make_url(address).set(drivername="postgresql+psycopg")


@contextmanager
def _opening(engine: Engine) -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        shown = engine.url.render_as_string(hide_password=True)
        raise StorageError("database", shown, allowed="a database that can be opened", fix=" ".join(str(error.orig).split())) from error


def insert_once(connection: Connection, table: Table, **values: object) -> sql.Executable:
    """An insert that does nothing if the row is there already."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert
    else:
        from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]  # the same interface
    return insert(table).values(**values).on_conflict_do_nothing()


@contextmanager
def database_errors() -> Iterator[None]:
    """A database that fails is a storage that fails: its errors become a StorageError, without what they quote."""
    try:
        yield
    except SQLAlchemyError as error:
        fix = "nothing was stored; see to the database and its disk"
        raise StorageError("database", type(error).__name__, allowed="a database that reads and writes", fix=fix) from error


def _migrate(connection: Connection) -> None:
    postgres = connection.dialect.name == "postgresql"
    if postgres:
        connection.execute(sql.text("SELECT pg_advisory_xact_lock(7067031)"))  # collectors that start together make the tables once
    if not sql.inspect(connection).has_table("schema"):
        tables.metadata.create_all(connection)
        if postgres:
            tables.report_metadata.create_all(connection)
        connection.execute(tables.schema.insert().values(number=SCHEMA))
        return
    number = connection.execute(sql.select(tables.schema.c.number)).scalar_one()
    if number > SCHEMA:
        raise StorageError("schema", number, allowed=f"at most {SCHEMA}", fix="the store was written by a newer deniable: upgrade this one")
    for step in range(number, SCHEMA):
        MIGRATIONS[step](connection)
    if number < SCHEMA:
        connection.execute(tables.schema.update().values(number=SCHEMA))


def _prepare_postgres(connection: Any, _: Any) -> None:
    # A server may be told to answer before it has written; an acknowledgement of ours means more. Stronger settings stay.
    connection.execute("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
    connection.commit()


def _keep_private(file: Path) -> None:
    """Nobody else reads it: the signing key is in it. SQLite's other files take after it."""
    try:
        file.touch(mode=0o600)
        file.chmod(0o600)
    except OSError as error:
        fix = f"{error.strerror}: check the folder and who owns it"
        raise StorageError("database", str(file), allowed="a file that can be written", fix=fix) from error


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's "begin" below decides
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):  # a deleted key is overwritten
        connection.execute(f"PRAGMA {setting}")


def _begin_immediately(connection: Connection) -> None:
    # A reader that turns writer later could fail; waiting first cannot. Who only reads need not wait for a seal.
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get(READING) else "BEGIN IMMEDIATE")
