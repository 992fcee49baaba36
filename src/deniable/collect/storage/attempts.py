"""Attempts at closing rounds and periods. Those that cannot be closed are parked until somebody asks for another attempt.

A collector records that it begins before it closes one. If its process dies, the next process finds the record and tries once more, and
computes what a round leads to in a process of its own. What ended two processes, or failed with an error, is parked.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sql

from deniable.collect.storage import tables as db
from deniable.collect.storage.catalog import Catalog

LEASE = 1800
"""For so many seconds a collector that shares its database leaves a round or a period to another one that began to close it."""
TRIES = 2
"""So often the end of a process in the middle of closing may have had another cause."""


class Attempt(NamedTuple):
    """One try at closing a round or a period: how many there were, and why it is parked, if it is."""

    number: int
    tries: int
    owner: bytes
    begun: int
    why: str | None


class Attempts:
    """The attempts at closing rounds and periods, in the database: after a restart, and for all collectors that share it."""

    def __init__(self, catalog: Catalog, owner: bytes) -> None:
        self._catalog = catalog
        self._owner = owner

    def parked(self) -> dict[bytes, dict[int, str]]:
        """Why rounds and periods are parked, by task and number."""
        found: dict[bytes, dict[int, str]] = {}
        query = sql.select(db.closing.c.task, db.closing.c.number, db.closing.c.why).where(db.closing.c.why.is_not(None))
        with self._catalog.reading() as connection:
            for task, number, why in connection.execute(query.order_by(db.closing.c.number)):
                found.setdefault(bytes(task), {})[number] = why
        return found

    def begin(self, task: bytes, number: int, now: float, *, again: bool) -> Attempt | None:
        """Begin to close a round or a period; None if it is parked and not asked for ``again``, or if another collector is at it."""
        with self._catalog.writing() as connection:
            columns = (db.closing.c.number, db.closing.c.tries, db.closing.c.owner, db.closing.c.begun, db.closing.c.why)
            row = connection.execute(sql.select(*columns).where(*_one(task, number))).one_or_none()
            before = None if row is None else Attempt(row[0], row[1], bytes(row[2]), row[3], row[4])
            if before is not None and not again:
                if before.why is not None:
                    return None
                if self._catalog.shared and before.owner != self._owner and now < before.begun + LEASE:
                    return None
            died = before is not None and before.owner != self._owner  # this process has failed before, perhaps, and is still here
            tries = 1 if before is None or again else before.tries + died
            attempt = Attempt(number, tries, self._owner, int(now), None)
            _replace(connection, task, attempt)
        return attempt

    def park(self, task: bytes, number: int, now: float, why: str) -> None:
        """Leave a round or a period as it is until somebody asks for another try."""
        with self._catalog.writing() as connection:
            _replace(connection, task, Attempt(number, 1, self._owner, int(now), why))

    def done(self, task: bytes, number: int) -> None:
        """Forget the tries at what is closed."""
        with self._catalog.writing() as connection:
            connection.execute(db.closing.delete().where(*_one(task, number)))


def _one(task: bytes, number: int) -> tuple[sql.ColumnElement[bool], ...]:
    return db.closing.c.task == task, db.closing.c.number == number


def _replace(connection: sql.Connection, task: bytes, attempt: Attempt) -> None:
    connection.execute(db.closing.delete().where(*_one(task, attempt.number)))
    connection.execute(db.closing.insert().values(task=task, **attempt._asdict()))
