"""Shuffled batches in the store: each is taken as a whole, once, or leaves no trace.

One transaction accepts a batch and writes its epsilon together with its rows. Only then are the rows appended to the log of reports and
removed from the batch. After an interruption in between, the rows are still in the batch and the work goes on: reports are counted by id,
so appending them twice is harmless. Rows are sorted by id, not in the order of the batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sqlalchemy as sql
from sqlalchemy import Connection

from deniable.collect.storage import tables as db
from deniable.collect.storage.block import ID_BYTES, Block, Bucket, ids_of, sort_once, without
from deniable.collect.storage.catalog import Queue
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.records import StoredBatch
from deniable.collect.storage.store import Store

_BATCH = (db.batch.c.id, db.batch.c.period, db.batch.c.digest, db.batch.c.reports, db.batch.c.epsilon)
Decide = Callable[[int], float]
"""From the number of reports that a batch would add to its epsilon; raises to refuse it."""


class Batches:
    """The batches of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._one = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One batch at a time, whichever collector takes it: what one of them adds, the next one finds."""
        with self._one:
            catalog = self._store.catalog
            if not catalog.shared:  # nobody else is there, and a transaction would only keep writers waiting
                yield
                return
            with catalog.changing() as connection:
                catalog.wait(connection, Queue.BATCH)
                yield

    def find(self, task: bytes, batch: bytes) -> StoredBatch | None:
        """A batch that was taken, or begun; None if it is not there."""
        query = sql.select(*_BATCH, db.batch.c.rows).where(db.batch.c.task == task, db.batch.c.id == batch)
        with self._store.catalog.reading() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else _stored(row, row[5])

    def listed(self, task: bytes, periods: Collection[int] | None = None) -> list[StoredBatch]:
        """The batches of a task, of some periods or of all, without their rows; by size, since nothing else about their order is kept."""
        query = sql.select(*_BATCH).where(db.batch.c.task == task).order_by(db.batch.c.period, db.batch.c.reports, db.batch.c.id)
        with self._store.catalog.reading() as connection:
            return [_stored(row) for row in connection.execute(query) if periods is None or row[1] in periods]

    def begun(self) -> list[tuple[bytes, bytes]]:
        """Task and id of the batches whose rows may not be in the log yet."""
        with self._store.catalog.reading() as connection:
            rows = connection.execute(sql.select(db.batch.c.task, db.batch.c.id).where(db.batch.c.rows.is_not(None)))
            return [(bytes(row[0]), bytes(row[1])) for row in rows]

    def begin(self, bucket: Bucket, batch: bytes, digest: bytes, block: Block, decide: Decide, *, once: bool = False) -> None:
        """Take a batch, if what it adds is worth it; nothing if it is there already.

        Only reports that are not stored yet are counted and kept. With ``once`` that is so for those of other periods, too. Call it in a
        turn. The log is read before the transaction, which a seal may be waiting for with the log in its hands.
        """
        with self._store.catalog.reading() as connection:
            rows = self._new_rows(connection, bucket, batch, block, once=once)
        values = {"period": bucket.number, "digest": digest, "reports": len(rows), "epsilon": decide(len(rows)), "rows": rows.tobytes()}
        with self._store.catalog.writing() as connection:
            connection.execute(self._store.catalog.insert_once(db.batch, task=bucket.task, id=batch, **values))

    def finish(self, task: bytes, batch: bytes, append: Callable[[Bucket, bytes, int], bool]) -> bool:
        """Append the rows of a batch that was begun, and take them out of it; False if its bucket was sealed without them: it is gone.

        ``append`` makes so many rows durable, and says False if the bucket takes nothing more.
        """
        found = self.find(task, batch)
        if found is None or found.rows is None:
            return found is not None
        bucket = Bucket(task, found.period)
        takes = all(stored.state == "open" for stored in self._store.find([bucket]))
        counted = (takes and append(bucket, found.rows, found.reports)) or self._is_sealed_in(bucket, found)
        where = (db.batch.c.task == task, db.batch.c.id == batch)
        with self._store.catalog.writing() as connection:
            connection.execute(db.batch.update().where(*where).values(rows=None) if counted else db.batch.delete().where(*where))
        return counted

    def _new_rows(self, connection: Connection, bucket: Bucket, batch: bytes, block: Block, *, once: bool) -> np.ndarray[Any, Any]:
        """The rows whose ids are neither in the log nor in a batch that is on its way there."""
        others = sql.select(db.batch.c.rows, db.batch.c.reports).where(db.batch.c.task == bucket.task, db.batch.c.rows.is_not(None))
        others = others.where(db.batch.c.id != batch)
        buckets = [bucket]
        if once:  # the period that is sealed first takes a token from all others: no batch may be priced with it but one
            buckets += [each.bucket for each in self._store.buckets(bucket.task, ["open"]) if each.bucket != bucket]
        else:
            others = others.where(db.batch.c.period == bucket.number)
        held = {at for rows, reports in connection.execute(others).all() for at in _ids(bytes(rows), reports)}
        for each in buckets:
            held.update(ids_of(self._store.log.read_open(connection, each)))
        kept = without([block], held)
        if once:
            kept = self._store.spent(connection, bucket, kept)
        sorted_once = sort_once(kept)
        return sorted_once[0].rows if sorted_once else np.zeros((0, block.rows.shape[1]), np.uint8)

    def _is_sealed_in(self, bucket: Bucket, batch: StoredBatch) -> bool:
        """Whether the bucket was sealed with the batch's rows: another collector may have done so after this one was stopped."""
        ids = _ids(batch.rows or b"", batch.reports)
        with self._store.catalog.reading() as connection:
            try:
                return len(self._store.log.sealed_ids(connection, bucket, ids)) == len(ids)
            except StorageError:  # the sealed file is deleted or damaged: reading it reports that
                return True


def _ids(rows: bytes, reports: int) -> list[bytes]:
    """The ids of so many rows that are laid end to end."""
    return [rows[at : at + ID_BYTES] for at in range(0, len(rows), len(rows) // reports)]


def _stored(row: Any, rows: Any = None) -> StoredBatch:
    return StoredBatch(bytes(row[0]), row[1], bytes(row[2]), row[3], row[4], None if rows is None else bytes(rows))
