"""Sealed reports in PostgreSQL: the rows of each question and stratum in the order of their ids, in parts that the server can hold."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

import numpy as np
import sqlalchemy as sql
from sqlalchemy import Connection

from deniable.collect.storage.block import ID_BYTES, Block, Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.tables import sealed_report as table

MOST_BYTES = 1 << 24
"""The longest part."""

# A binary search in every part that can hold the id: the rows lie uncompressed, so the server reads only the pieces it compares.
_SEARCH = """
WITH RECURSIVE search (id, question, stratum, part, low, high) AS (
  SELECT wanted.id, question, stratum, part, 0, octet_length(rows) / width
  FROM {wanted}
  WHERE bucket = %(row_id)s AND wanted.id BETWEEN substr(rows, 1, 16) AND substr(rows, octet_length(rows) - width + 1, 16)
UNION ALL
  SELECT id, question, stratum, part, CASE WHEN less THEN middle + 1 ELSE low END, CASE WHEN less THEN high ELSE middle END
  FROM search JOIN sealed_report USING (question, stratum, part),
       LATERAL (SELECT (low + high) / 2) AS half (middle),
       LATERAL (SELECT substr(rows, 1 + width * middle, 16) < id) AS compared (less)
  WHERE bucket = %(row_id)s AND low < high)
SELECT id FROM search JOIN sealed_report USING (question, stratum, part)
WHERE bucket = %(row_id)s AND low = high AND substr(rows, 1 + width * low, 16) = id"""
_ANYWHERE = _SEARCH.format(wanted="unnest(%(ids)b::bytea[]) AS wanted (id), sealed_report")
_AT_ADDRESSES = _SEARCH.format(
    wanted="unnest(%(ids)b::bytea[], %(questions)b::int[], %(strata)b::int[]) AS wanted (id, question, stratum)"
    " JOIN sealed_report USING (question, stratum)"
)


def write(connection: Connection, row_id: int, blocks: Sequence[Block]) -> None:
    """Keep sorted blocks under the id of a bucket's row."""
    for block in blocks:
        width = block.rows.shape[1]
        step = max(1, MOST_BYTES // width)
        for part, start in enumerate(range(0, len(block.rows), step)):
            key = (row_id, block.question, block.stratum, part, width)
            rows = block.rows[start : start + step].tobytes()
            connection.execute(table.insert().values((*key, rows, _digest(key, rows))))


def read(connection: Connection, row_id: int, bucket: Bucket) -> list[Block]:
    """The blocks as they were written; StorageError naming the part that is not."""
    keys = sql.select(*table.c["bucket", "question", "stratum", "part", "width"]).where(table.c.bucket == row_id)
    parts: dict[tuple[int, int, int], list[bytes]] = {}
    for key in connection.execute(keys.order_by(table.c.question, table.c.stratum, table.c.part)).all():  # one part at a time in memory
        where = [table.c[name] == value for name, value in zip(("bucket", "question", "stratum", "part"), key, strict=False)]
        rows, digest = connection.execute(sql.select(table.c.rows, table.c.sha256).where(*where)).one()
        before = parts.setdefault((key.question, key.stratum, key.width), [])
        if key.part != len(before) or digest != _digest(key, rows) or not _ascending(before[-1:], key.width, rows):
            part = f"question {key.question}, stratum {key.stratum}, part {key.part}"
            fix = "they are damaged: restore this bucket from a backup"
            raise StorageError(f"sealed reports of {bucket}", part, allowed="the rows as they were sealed", fix=fix)
        before.append(rows)
    return [Block.of(question, stratum, width - ID_BYTES, b"".join(rows)) for (question, stratum, width), rows in parts.items()]


def search(
    connection: Connection, row_id: int, ids: Sequence[bytes], addresses: Sequence[tuple[int, int]] | None = None
) -> frozenset[bytes]:
    """Which of these ids a bucket's blocks hold: each the block at its address, or without addresses any block."""
    values: dict[str, object] = {"ids": list(ids), "row_id": row_id}
    if addresses is None:
        return frozenset(connection.exec_driver_sql(_ANYWHERE, values).scalars())
    values |= {"questions": [question for question, _ in addresses], "strata": [stratum for _, stratum in addresses]}
    return frozenset(connection.exec_driver_sql(_AT_ADDRESSES, values).scalars())


def _digest(key: Sequence[int], rows: bytes) -> bytes:
    # With the key, so that a part in another's place is noticed too.
    return hashlib.sha256(struct.pack("<5I", *key) + rows).digest()


def _ascending(before: Sequence[bytes], width: int, rows: bytes) -> bool:
    last = b"".join(before)[-width:]
    ids = np.ascontiguousarray(np.frombuffer(last + rows, np.uint8).reshape(-1, width)[:, :ID_BYTES]).view(">u8")
    high, low = ids[:, 0], ids[:, 1]
    return bool(np.all((high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))))
