"""The inventory of a store: tasks, rounds and buckets, found without reading those that are not asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sql

from deniable.collect.storage import tables as db
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.records import StoredBucket, StoredRound, StoredTask

AT_ONCE = 100
"""Tasks that one statement asks about."""
_BUCKET = (
    db.bucket.c.task,
    db.bucket.c.number,
    db.bucket.c.state,
    db.bucket.c.reports,
    db.bucket.c.repeated,
    db.bucket.c.sealed,
)
_TASK = (db.task.c.id, db.task.c.canonical, db.task.c.signature, db.task.c.closed)
_ROUND = (db.round_.c.number, db.round_.c.opened, db.round_.c.state, db.round_.c.canonical, db.round_.c.signature)


class Inventory:
    """What is read from a store's database line by line."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    # --- tasks ---

    def tasks(self) -> list[StoredTask]:
        """Every task that was published and not deleted."""
        with self.catalog.reading() as connection:
            return [StoredTask(*row[:3], bool(row[3])) for row in connection.execute(sql.select(*_TASK).order_by(db.task.c.name))]

    def task(self, task: bytes) -> StoredTask | None:
        """One of them; None if it is not there."""
        with self.catalog.reading() as connection:
            row = connection.execute(sql.select(*_TASK).where(db.task.c.id == task)).one_or_none()
        return None if row is None else StoredTask(*row[:3], bool(row[3]))

    def closed(self) -> dict[bytes, bool]:
        """The ids of all tasks in the order of their names, and whether each is closed."""
        with self.catalog.reading() as connection:
            rows = connection.execute(sql.select(db.task.c.id, db.task.c.closed).order_by(db.task.c.name))
            return {bytes(row[0]): bool(row[1]) for row in rows}

    def text(self, task: bytes) -> tuple[bytes, bytes] | None:
        """Canonical form and signature of a task that was ever published, deleted or not."""
        with self.catalog.reading() as connection:
            for table in (db.task, db.deleted_task):
                row = connection.execute(sql.select(table.c.canonical, table.c.signature).where(table.c.id == task)).one_or_none()
                if row is not None:
                    return bytes(row[0]), bytes(row[1])
        return None

    # --- rounds ---

    def rounds(self, task: bytes) -> list[StoredRound]:
        """The rounds of a task that were opened, in order."""
        with self.catalog.reading() as connection:
            rows = connection.execute(sql.select(*_ROUND).where(db.round_.c.task == task).order_by(db.round_.c.number))
            return [StoredRound(*row) for row in rows]

    def round(self, task: bytes, number: int) -> StoredRound | None:
        """One of them; None if it was not opened."""
        with self.catalog.reading() as connection:
            row = connection.execute(sql.select(*_ROUND).where(db.round_.c.task == task, db.round_.c.number == number)).one_or_none()
        return None if row is None else StoredRound(*row)

    def last_round(self, task: bytes) -> tuple[int, int] | None:
        """The number of the last round that was opened, and when; None if there is none."""
        query = sql.select(db.round_.c.number, db.round_.c.opened).where(db.round_.c.task == task)
        with self.catalog.reading() as connection:
            row = connection.execute(query.order_by(db.round_.c.number.desc()).limit(1)).one_or_none()
        return None if row is None else (row[0], row[1])

    # --- buckets ---

    def buckets(self, task: bytes | None = None, states: Collection[str] | None = None) -> list[StoredBucket]:
        """The buckets that have received a report: of one task or of all, in some states or in any."""
        query = sql.select(*_BUCKET)
        if task is not None:
            query = query.where(db.bucket.c.task == task)
        if states is not None:
            query = query.where(db.bucket.c.state.in_(states))
        with self.catalog.reading() as connection:
            return [_stored(row) for row in connection.execute(query.order_by(db.bucket.c.task, db.bucket.c.number))]

    def unfinished(self) -> list[StoredBucket]:
        """The buckets of all tasks that are open, or whose reports are being dropped."""
        with self.catalog.reading() as connection:
            return sorted(_stored(row) for row in connection.execute(sql.select(*_BUCKET).where(sql.text(db.UNFINISHED))))

    def find(self, buckets: Collection[Bucket]) -> list[StoredBucket]:
        """Those of a few buckets that there are."""
        found = []
        with self.catalog.reading() as connection:
            for bucket in sorted(buckets):
                where = (db.bucket.c.task == bucket.task, db.bucket.c.number == bucket.number)
                found += [_stored(row) for row in connection.execute(sql.select(*_BUCKET).where(*where))]
        return found

    def sealed_until(self, times: Mapping[bytes, float]) -> list[StoredBucket]:
        """The buckets that were sealed no later than a time, which is given for each task, and whose reports are still kept."""
        found, waiting = [], iter(times.items())
        with self.catalog.reading() as connection:
            while part := list(islice(waiting, AT_ONCE)):
                each = (sql.and_(sql.text(db.KEPT), db.bucket.c.task == task, db.bucket.c.sealed <= int(until)) for task, until in part)
                found += [_stored(row) for row in connection.execute(sql.select(*_BUCKET).where(sql.or_(*each)))]
        return found


def _stored(row: Sequence[Any]) -> StoredBucket:
    return StoredBucket(Bucket(bytes(row[0]), row[1]), *row[2:])
