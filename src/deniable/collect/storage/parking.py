"""Rounds that are being closed, and rounds that could not be: those are parked until somebody asks for another try.

Whoever begins to close a round says so first. If the process then dies, the next one finds that out, and tries once more in a process of
its own; a round that ended two processes, or failed with an error, is parked.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sql

from deniable.collect.storage import tables as db
from deniable.collect.storage.catalog import Catalog

LEASE = 1800
"""For so many seconds a collector that shares its database leaves a round to another one that began to close it."""
TRIES = 2
"""So often the end of a process in the middle of a round may have been somebody else's fault."""


class Attempt(NamedTuple):
    """One try at closing a round: how many there were, and why the round is parked, if it is."""

    number: int
    tries: int
    owner: bytes
    begun: int
    why: str | None


class Parking:
    """The tries at closing rounds, in the database: after a restart, and for all collectors that share it."""

    def __init__(self, catalog: Catalog, owner: bytes) -> None:
        self._catalog = catalog
        self._owner = owner

    def parked(self) -> dict[bytes, tuple[int, str]]:
        """The round that is parked, and why, by task."""
        query = sql.select(db.closing.c.task, db.closing.c.number, db.closing.c.why).where(db.closing.c.why.is_not(None))
        with self._catalog.reading() as connection:
            return {bytes(row[0]): (row[1], row[2]) for row in connection.execute(query)}

    def begin(self, task: bytes, number: int, now: float, *, again: bool) -> Attempt | None:
        """Begin to close a round; None if it is parked and not asked for ``again``, or if another collector is at it."""
        where = (db.closing.c.task == task, db.closing.c.number == number)
        with self._catalog.writing() as connection:
            columns = (db.closing.c.number, db.closing.c.tries, db.closing.c.owner, db.closing.c.begun, db.closing.c.why)
            row = connection.execute(sql.select(*columns).where(*where)).one_or_none()
            before = None if row is None else Attempt(row[0], row[1], bytes(row[2]), row[3], row[4])
            if before is not None and not again:
                if before.why is not None:
                    return None
                if self._catalog.shared and before.owner != self._owner and now < before.begun + LEASE:
                    return None
            tries = 1 if before is None or again else before.tries + 1
            connection.execute(db.closing.delete().where(db.closing.c.task == task))
            attempt = Attempt(number, tries, self._owner, int(now), None)
            connection.execute(db.closing.insert().values(task=task, **attempt._asdict()))
        return attempt

    def park(self, task: bytes, number: int, now: float, why: str) -> None:
        """Leave a round as it is until somebody asks for another try."""
        with self._catalog.writing() as connection:
            connection.execute(db.closing.delete().where(db.closing.c.task == task))
            parked = Attempt(number, 1, self._owner, int(now), why)
            connection.execute(db.closing.insert().values(task=task, **parked._asdict()))

    def done(self, task: bytes) -> None:
        """Forget the tries at a round that is closed."""
        with self._catalog.writing() as connection:
            connection.execute(db.closing.delete().where(db.closing.c.task == task))
