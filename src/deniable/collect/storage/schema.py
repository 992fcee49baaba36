"""The schema of a collector's database: it has a number. An older one is migrated when it is opened, a newer one is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sql
from sqlalchemy import Connection, MetaData

from deniable.collect.storage import tables
from deniable.collect.storage.log import StorageError

SCHEMA = 7


def _to_third(connection: Connection) -> None:
    tables.deleted_task.create(connection)
    connection.exec_driver_sql(
        "CREATE INDEX bucket_unfinished ON bucket (task, period) WHERE state IN ('open', 'dropping')"
    )  # as it was then
    tables.kept.create(connection)


def _to_sixth(connection: Connection) -> None:
    """Several periods of a task may be parked: before, a task had one row."""
    rows = [row._asdict() for row in connection.execute(sql.select(tables.closing))]
    tables.closing.drop(connection)
    tables.closing.create(connection)
    if rows:
        connection.execute(tables.closing.insert(), rows)


def _to_seventh(connection: Connection) -> None:
    """The column holds numbers of rounds, too."""
    connection.exec_driver_sql("ALTER TABLE bucket RENAME COLUMN period TO number")


MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: tables.enrolment.create,
    2: _to_third,
    3: tables.batch.create,
    4: tables.closing.create,
    5: _to_sixth,
    6: _to_seventh,
}
"""What turns a schema of this number into the next."""


def migrate(connection: Connection, metadata: Sequence[MetaData]) -> None:
    """Make the tables of a new database, or bring those of an old one to the present schema; StorageError if it is newer."""
    if not has_tables(connection):
        for each in metadata:
            each.create_all(connection)
        connection.execute(tables.schema.insert().values(number=SCHEMA))
        return
    number = connection.execute(sql.select(tables.schema.c.number)).scalar_one()
    if number > SCHEMA:
        raise StorageError("schema", number, allowed=f"at most {SCHEMA}", fix="the store was written by a newer deniable: upgrade this one")
    for step in range(number, SCHEMA):
        MIGRATIONS[step](connection)
    if number < SCHEMA:
        connection.execute(tables.schema.update().values(number=SCHEMA))


def has_tables(connection: Connection) -> bool:
    """True if a database holds a collector's tables, of whatever schema."""
    return sql.inspect(connection).has_table("schema")
