"""The public log in the database, and the tasks and rounds that it lists: what is written together is written in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sql
from sqlalchemy import Connection

from deniable.collect.storage import tables as db
from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.records import StoredRound, StoredTask
from deniable.contract.public_log import LogEntry


class PublicLog:
    """The log in a catalog: it grows and never changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def entries(self, after: int, most: int) -> list[LogEntry]:
        """The entries after one, oldest first."""
        query = sql.select(db.log.c.record, db.log.c.signature).where(db.log.c.sequence > after).order_by(db.log.c.sequence)
        with self._catalog.reading() as connection:
            return [LogEntry(bytes(row[0]), bytes(row[1])) for row in connection.execute(query.limit(most))]

    @contextmanager
    def extension(self) -> Iterator[Extension]:
        """One transaction, alone with the database: all that is added in it is there after it, or nothing."""
        with self._catalog.writing() as connection:
            yield Extension(connection)


class Extension:
    """What one transaction adds to the log, and looks up before."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def has_task(self, task: bytes) -> bool:
        """True if a task was published and not deleted."""
        return self._connection.execute(sql.select(db.task.c.id).where(db.task.c.id == task)).first() is not None

    def was_published(self, task: bytes) -> bool:
        """True if a task was ever published."""
        return self._connection.execute(sql.select(db.log.c.sequence).where(db.log.c.task == task)).first() is not None

    def last_of(self, name: str) -> tuple[bytes, bytes] | None:
        """Id and canonical form of the task of a name that was published last."""
        query = sql.select(db.task.c.id, db.task.c.canonical).join_from(db.task, db.log, db.task.c.id == db.log.c.task)
        row = self._connection.execute(query.where(db.task.c.name == name).order_by(db.log.c.sequence.desc()).limit(1)).first()
        return None if row is None else (bytes(row[0]), bytes(row[1]))

    def has_round(self, task: bytes, number: int) -> bool:
        """True if a round was opened."""
        where = (db.round_.c.task == task, db.round_.c.number == number)
        return self._connection.execute(sql.select(db.round_.c.number).where(*where)).first() is not None

    def last_entry(self) -> tuple[int, bytes] | None:
        """Sequence and hash of the last entry; None if there is none."""
        query = sql.select(db.log.c.sequence, db.log.c.hash).order_by(db.log.c.sequence.desc()).limit(1)
        row = self._connection.execute(query).first()
        return None if row is None else (row[0], bytes(row[1]))

    def add_task(self, task: StoredTask, name: str) -> None:
        """Keep a task."""
        self._connection.execute(db.task.insert().values(**task._asdict() | {"name": name, "closed": int(task.closed)}))

    def add_round(self, task: bytes, opened: StoredRound) -> None:
        """Keep a round of a task."""
        self._connection.execute(db.round_.insert().values(task=task, **opened._asdict()))

    def close_task(self, task: bytes) -> bool:
        """Note that a task takes no more; False if that is known."""
        return bool(self._connection.execute(db.task.update().where(db.task.c.id == task, db.task.c.closed == 0).values(closed=1)).rowcount)

    def add_entry(self, sequence: int, task: bytes, entry: LogEntry, digest: bytes) -> None:
        """Append an entry; ``digest`` is the one that the next entry continues."""
        values = {"sequence": sequence, "task": task, "record": entry.record, "signature": entry.signature, "hash": digest}
        self._connection.execute(db.log.insert().values(**values))
