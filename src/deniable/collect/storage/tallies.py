"""The tallies of sealed buckets: written in the transaction of a seal, read one at a time, for there may be one for each of many strata."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

import sqlalchemy as sql
from sqlalchemy import Connection

from deniable.collect.storage import tables as db
from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.log import StorageError
from deniable.core.tally import Tally
from deniable.errors import WireError

Address = tuple[int, int, int]
"""Period, question and stratum."""
Place = tuple[int, int]
"""Question and stratum."""
MOST_NAMED = 1000
"""Periods that a statement names one by one; a database takes some ten thousand values."""
AT_ONCE = 100
"""Tallies that one statement writes."""


def insert_tallies(connection: Connection, row_id: int, images: Iterable[tuple[Place, bytes]]) -> None:
    """Write the tallies of the bucket in a row, in the order in which they come."""
    rows = ({"bucket": row_id, "question": q, "stratum": s, "image": image} for (q, s), image in images)
    while part := list(islice(rows, AT_ONCE)):
        connection.execute(db.tally.insert(), part)


def replace_tallies(connection: Connection, row_id: int, images: Iterable[tuple[Place, bytes]]) -> None:
    """Write other tallies in place of those of a bucket."""
    connection.execute(db.tally.delete().where(db.tally.c.bucket == row_id))
    insert_tallies(connection, row_id, images)


def read_tallies(connection: Connection, row_id: int) -> dict[Place, bytes]:
    """The tallies of the bucket in a row, as they were written."""
    query = sql.select(db.tally.c.question, db.tally.c.stratum, db.tally.c.image).where(db.tally.c.bucket == row_id)
    return {(row[0], row[1]): bytes(row[2]) for row in connection.execute(query)}


def sealed_tallies(catalog: Catalog, task: bytes, periods: Collection[int] | None) -> Iterator[tuple[Address, Tally]]:
    """The tallies of a task's sealed periods, of some or of all, each read when it is asked for; StorageError if one is damaged."""
    query = (
        sql.select(db.bucket.c.number, db.tally.c.question, db.tally.c.stratum, db.tally.c.image)
        .join_from(db.tally, db.bucket)
        .where(db.bucket.c.task == task)
    )
    wanted = None if periods is None else frozenset(periods)
    if wanted is not None:
        few = db.bucket.c.number.in_(wanted) if len(wanted) <= MOST_NAMED else db.bucket.c.number.between(min(wanted), max(wanted))
        query = query.where(few)
    with catalog.reading() as connection:
        for period, question, stratum, image in connection.execute(query, execution_options={"yield_per": 1}):
            if wanted is None or period in wanted:
                yield (period, question, stratum), _read(task, bytes(image))


def _read(task: bytes, image: bytes) -> Tally:
    try:
        return Tally.from_bytes(image)
    except WireError as error:
        place, fix = f"tallies of {task.hex()[:12]}", "deniable rebuild --repair"
        raise StorageError(place, str(error), allowed="those that were sealed", fix=fix) from error
