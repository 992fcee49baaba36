"""The port to a collector's database: what one database does otherwise than another.

The statements of this room are written once, in SQLAlchemy's language. A database is told apart by four things, and a class for it says
them: who else may have it open, how collectors queue, how a row is inserted once, and what is left of what was deleted. The other port is
``log``; ``backends`` finds both for an address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import ClassVar

import sqlalchemy as sql
from sqlalchemy import Connection, Engine, MetaData, Table
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from deniable.collect.storage import tables
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.schema import migrate

READING = "deniable_reading"
"""The execution option of connections that never write."""


class Queue(IntEnum):
    """What collectors of one database do one after the other."""

    SCHEMA = 7067031
    WRITING = 7067032
    BATCH = 7067033


class Catalog(ABC):
    """A database with the ``tables`` of the present schema: they are made or migrated when it is opened."""

    shared: ClassVar[bool]
    """Whether other collectors may have it open, too."""
    metadata: ClassVar[Sequence[MetaData]] = (tables.metadata,)

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._reader = engine.execution_options(**{READING: True})
        try:
            with opening(engine), engine.begin() as connection:
                self.wait(connection, Queue.SCHEMA)  # collectors that start together make the tables once
                migrate(connection, self.metadata)
        except BaseException:
            engine.dispose()
            raise

    # --- what databases differ in ---

    @abstractmethod
    def wait(self, connection: Connection, queue: Queue) -> None:
        """Return when no other collector is at the head of a queue; this one stays there until the transaction ends."""

    @abstractmethod
    def insert_once(self, table: Table, **values: object) -> sql.Executable:
        """An insert that does nothing if the row is there already."""

    def wipe(self) -> bool:
        """Leave nothing that was deleted in a log of changes; False if that has to be tried again. Here there is no such log."""
        return True

    # --- transactions ---

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reading; it never waits for a seal. StorageError if the database fails."""
        with database_errors(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """One transaction, next to those of other collectors: it locks the rows that it needs. StorageError if the database fails."""
        with database_errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, alone with the database: those of other collectors wait for it."""
        with self.changing() as connection:
            self.wait(connection, Queue.WRITING)
            yield connection

    def check(self) -> None:
        """Raise StorageError unless the database answers."""
        with self.reading() as connection:
            connection.execute(sql.select(1))

    def close(self) -> None:
        """Let go of connections."""
        self.engine.dispose()


@contextmanager
def opening(engine: Engine) -> Iterator[None]:
    """A database that cannot be opened is named without its password."""
    try:
        yield
    except OperationalError as error:
        shown = engine.url.render_as_string(hide_password=True)
        raise StorageError("database", shown, allowed="a database that can be opened", fix=" ".join(str(error.orig).split())) from error


@contextmanager
def database_errors() -> Iterator[None]:
    """A database that fails is a storage that fails: its errors become a StorageError, without what they quote."""
    try:
        yield
    except SQLAlchemyError as error:
        fix = "nothing was stored; see to the database and its disk"
        raise StorageError("database", type(error).__name__, allowed="a database that reads and writes", fix=fix) from error
