"""The collector's tables, in SQLite or PostgreSQL: tasks, rounds, keys, tokens, codes, the public log, batches, and what was sealed.

The schema has a number. A database of an older number is migrated when it is opened, one of a newer number is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from deniable.collect.storage.log import StorageError

SCHEMA = 4
READING = "deniable_reading"
"""The execution option of connections that never write."""
tables = MetaData()

schema = Table("schema", tables, Column("number", Integer, nullable=False))
secret = Table("secret", tables, Column("name", String, primary_key=True), Column("value", LargeBinary, nullable=False))
token = Table(
    "token",
    tables,
    Column("digest", LargeBinary, primary_key=True),
    Column("role", String, nullable=False),
    Column("label", String, nullable=False, unique=True),
)
task = Table(
    "task",
    tables,
    Column("id", LargeBinary, primary_key=True),
    Column("name", String, nullable=False),
    Column("canonical", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("closed", Integer, nullable=False, default=0),
)
deleted_task = Table(  # its text alone, so that what the public log says about it can still be checked
    "deleted_task",
    tables,
    Column("id", LargeBinary, primary_key=True),
    Column("canonical", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
)
round_ = Table(
    "round",
    tables,
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("opened", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("canonical", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
)
log = Table(
    "log",
    tables,
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("task", LargeBinary, nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)
bucket = Table(
    "bucket",
    tables,
    Column("id", Integer, primary_key=True),
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), nullable=False),
    Column("period", BigInteger, nullable=False),
    Column("state", String, nullable=False, default="open"),  # open, sealed, dropping, dropped (its reports are deleted)
    Column("sealed", BigInteger),
    Column("reports", BigInteger, nullable=False, default=0),
    Column("repeated", BigInteger, nullable=False, default=0),
    Column("digest", LargeBinary),
    UniqueConstraint("task", "period"),
)
# What is to be done is found without walking past all that is done; a query must say the very same words to be answered from these.
UNFINISHED, KEPT = "state IN ('open', 'dropping')", "state = 'sealed'"
unfinished = Index(
    "bucket_unfinished", bucket.c.task, bucket.c.period, sqlite_where=sql.text(UNFINISHED), postgresql_where=sql.text(UNFINISHED)
)
kept = Index("bucket_kept", bucket.c.task, bucket.c.sealed, sqlite_where=sql.text(KEPT), postgresql_where=sql.text(KEPT))
tally = Table(
    "tally",
    tables,
    Column("bucket", Integer, ForeignKey("bucket.id", ondelete="CASCADE"), primary_key=True),
    Column("question", Integer, primary_key=True),
    Column("stratum", Integer, primary_key=True),
    Column("image", LargeBinary, nullable=False),
)
enrolment = Table(
    "enrolment",
    tables,
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("code", LargeBinary, primary_key=True),  # SHA-256, as is the request that it was redeemed with
    Column("request", LargeBinary),
    sqlite_with_rowid=False,  # in the order of the digests, not in that of arrival
)

batch = Table(
    "batch",
    tables,
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("id", LargeBinary, primary_key=True),
    Column("period", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of its seals, as the shuffler signed it
    Column("reports", BigInteger, nullable=False),
    Column("epsilon", Double, nullable=False),
    Column("rows", LargeBinary),  # begun: ids and payloads by id, until they are in the log of reports
    sqlite_with_rowid=False,  # in the order of ids that were drawn, not in that of arrival
)

# --- only in PostgreSQL: what the embedded log keeps in files ---

report_tables = MetaData()
report = Table(
    "report",
    report_tables,
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column("question", Integer, nullable=False),
    Column("stratum", Integer, nullable=False),
    Column("id", LargeBinary, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
    postgresql_partition_by="LIST (bucket)",
)
sealed_report = Table(
    "sealed_report",
    report_tables,
    Column("bucket", Integer, ForeignKey(bucket.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("stratum", Integer, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("width", Integer, nullable=False),
    Column("rows", LargeBinary, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
)


@sql.event.listens_for(sealed_report, "after_create")
def _leave_rows_as_they_are(_: Table, connection: Connection, **__: Any) -> None:
    # Noise does not compress, and an id is found in rows that lie as they are without reading all of them.
    connection.exec_driver_sql("ALTER TABLE sealed_report ALTER COLUMN rows SET STORAGE EXTERNAL")


def _to_third(connection: Connection) -> None:
    deleted_task.create(connection)
    unfinished.create(connection)
    kept.create(connection)


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: enrolment.create, 2: _to_third, 3: batch.create}
"""What turns a schema of this number into the next."""


def connect(address: str | Path) -> Engine:
    """An engine on a SQLite file (a path) or on PostgreSQL (an address), with tables of the present schema."""
    if isinstance(address, str) and address.startswith("postgresql:"):
        url = sql.make_url(address).set(drivername="postgresql+psycopg")
        engine = sql.create_engine(url, pool_pre_ping=True, hide_parameters=True)
        sql.event.listen(engine, "connect", _prepare_postgres)
    else:
        _keep_private(Path(address))
        url = sql.URL.create("sqlite", database=str(address))
        engine = sql.create_engine(url, connect_args={"timeout": 30}, hide_parameters=True)
        sql.event.listen(engine, "connect", _prepare_sqlite)
        sql.event.listen(engine, "begin", _begin_immediately)
    try:
        with engine.begin() as connection:
            _migrate(connection)
    except OperationalError as error:
        engine.dispose()
        shown = url.render_as_string(hide_password=True)
        raise StorageError("database", shown, allowed="a database that can be opened", fix=" ".join(str(error.orig).split())) from error
    except BaseException:
        engine.dispose()
        raise
    return engine


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
        tables.create_all(connection)
        if postgres:
            report_tables.create_all(connection)
        connection.execute(schema.insert().values(number=SCHEMA))
        return
    number = connection.execute(sql.select(schema.c.number)).scalar_one()
    if number > SCHEMA:
        raise StorageError("schema", number, allowed=f"at most {SCHEMA}", fix="the store was written by a newer deniable: upgrade this one")
    for step in range(number, SCHEMA):
        MIGRATIONS[step](connection)
    if number < SCHEMA:
        connection.execute(schema.update().values(number=SCHEMA))


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
