"""The report log in PostgreSQL: any number of collectors append to it and seal it together.

Open reports lie in the table ``report``, a partition for each bucket, under the key of bucket and id: who comes second is not stored.
Sealing moves them into ``sealed_report`` and empties the partition in the same transaction, so their order is gone with the commit.

Who appends holds a shared lock on the bucket, who seals it an exclusive one. That is said twice: by the bucket's row, which decides, and
before that by an advisory lock, which queues. (Row locks do not: under steady appends a seal could wait forever.)
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic

import sqlalchemy as sql
from sqlalchemy import Connection, Engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from deniable.collect.storage import postgres_sealed, tables
from deniable.collect.storage.block import Block, Bucket
from deniable.collect.storage.log import Log, StorageError

PAGES = 64
"""Pages of a partition read at a time."""
ATTEMPTS = 5
_AGAIN = {"40001", "40P01"}  # serialization failure, deadlock: the other one went through, so trying again helps

# Rows of one width laid end to end are cut on the server: nothing is done report by report on this side. All who append do so in the order
# of ids, and so cannot wait for each other in a circle; of equal ids the first to come is inserted.
_INSERT = """
INSERT INTO {partition} (bucket, question, stratum, id, payload)
SELECT {row_id}, question, stratum, substr(rows, 1 + width * i, 16), substr(rows, 17 + width * i, width - 16)
FROM unnest(%(question)b::int[], %(stratum)b::int[], %(width)b::int[], %(rows)b::bytea[])
     WITH ORDINALITY AS block (question, stratum, width, rows, place),
     generate_series(0, octet_length(rows) / width - 1) AS i
ORDER BY 4, place, i ON CONFLICT DO NOTHING"""
# In pieces of a few pages, since the server gathers each piece in memory. The row's id stands in the text: as a parameter it could
# lock the partitions of other buckets too, and two seals would wait for each other.
_SIZE = "SELECT coalesce(pg_relation_size(to_regclass(%(partition)s)) / current_setting('block_size')::int, 0)"
_BYTES = "SELECT pg_relation_size(to_regclass(%(partition)s))"
_READ = """
SELECT question, stratum, octet_length(payload), string_agg(id || payload, '') FROM report
WHERE bucket = {row_id} AND ctid >= %(start)s::tid AND ctid < %(stop)s::tid GROUP BY 1, 2, 3"""
PROBE_SECONDS = 1.0  # for so long after room was found nobody looks for it again
_PROBE = "CREATE TEMPORARY TABLE probe ON COMMIT DROP AS SELECT 1"  # makes a file with one page
# A sort of 1 MiB in less memory: its temporary file takes room on the database's disk, and nothing of it is in the write-ahead log.
_LOOK_FOR_ROOM = (
    "SET LOCAL work_mem = '64kB'",
    "SET LOCAL temp_tablespaces = ''",
    "SELECT repeat('0', 1024) || i AS line FROM generate_series(1, 1024) AS i ORDER BY line OFFSET 1023",
)
_LEFT_OVER = """
SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'report'::regclass AND NOT EXISTS (
  SELECT FROM bucket WHERE relname = 'report_' || id AND state = 'open' AND NOT (task = %(task)s AND number = %(number)s))"""


class PostgresLog(Log):
    """Reports in PostgreSQL; the engine of a ``PostgresCatalog`` has the tables."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._failing = True  # until it has taken something
        self._sound_until = 0.0
        self._sizes: dict[Bucket, int] = {}

    def append(self, reports: Mapping[Bucket, Sequence[Block]]) -> frozenset[Bucket]:
        try:
            closed = self._try(reports)
        except StorageError:
            self._failing = True
            raise
        self._failing = False
        return closed

    def _try(self, reports: Mapping[Bucket, Sequence[Block]]) -> frozenset[Bucket]:
        for attempt in range(ATTEMPTS):
            try:
                return self._append(reports, prepare=True)
            except DBAPIError as error:
                if _state(error) not in _AGAIN or attempt == ATTEMPTS - 1:
                    raise _failed(error) from None
            except SQLAlchemyError as error:
                raise _failed(error) from None
        raise AssertionError("unreachable")

    def _append(self, reports: Mapping[Bucket, Sequence[Block]], *, prepare: bool) -> frozenset[Bucket]:
        with self._engine.begin() as connection:
            _queue(connection, reports, "pg_advisory_xact_lock_shared")
            row_ids = _share(connection, reports)
            missing = reports.keys() - row_ids.keys()
            if not (missing and prepare):
                opened = {bucket: row_id for bucket, row_id in row_ids.items() if row_id is not None}
                for bucket, row_id in opened.items():
                    _insert(connection, row_id, reports[bucket])
                    self._sizes[bucket] = connection.exec_driver_sql(_BYTES, {"partition": _partition(row_id)}).scalar_one()
                return frozenset(reports.keys() - opened.keys())
        for bucket in sorted(missing):
            self._prepare(bucket)
        return self._append(reports, prepare=False)  # what is missing still belongs to no task

    def _prepare(self, bucket: Bucket) -> None:
        """Make a bucket's row and partition, unless another collector does so just now; one at a time, lest two wait for each other."""
        task = sql.select(tables.task.c.id, sql.literal(bucket.number, sql.BigInteger)).where(tables.task.c.id == bucket.task)
        row = postgresql.insert(tables.bucket).from_select(["task", "number"], task).on_conflict_do_nothing()
        with self._engine.begin() as connection:
            connection.execute(row)
            chosen = _choose(bucket).where(tables.bucket.c.state == "open").with_for_update(read=True)
            row_id = connection.execute(chosen).scalar_one_or_none()
            if row_id is None:
                return
            # ATTACH lets others go on appending, where CREATE ... PARTITION OF would wait for them all.
            connection.exec_driver_sql("LOCK TABLE report IN SHARE UPDATE EXCLUSIVE MODE")
            if not _exists(connection, row_id):
                connection.exec_driver_sql(f"CREATE TABLE {_partition(row_id)} (LIKE report INCLUDING ALL)")
                connection.exec_driver_sql(f"ALTER TABLE report ATTACH PARTITION {_partition(row_id)} FOR VALUES IN ({row_id:d})")

    @contextmanager
    def closing(self, bucket: Bucket) -> Iterator[None]:
        with self._connected() as connection:
            _queue(connection, [bucket], "pg_advisory_xact_lock")
            yield

    def read_open(self, connection: Connection, bucket: Bucket) -> list[Block]:
        """As every id is there once, nothing depends on the order. Who seals has locked the bucket; who only looks locks nobody out."""
        row_id = _row_id(connection, bucket)
        pages = connection.exec_driver_sql(_SIZE, {"partition": _partition(row_id)}).scalar_one()
        parts: dict[tuple[int, int, int], list[bytes]] = {}
        for page in range(0, pages, PAGES):
            span = {"start": f"({page},0)", "stop": f"({page + PAGES},0)"}
            for question, stratum, width, rows in connection.exec_driver_sql(_READ.format(row_id=row_id), span):
                parts.setdefault((question, stratum, width), []).append(rows)
        return [Block.of(*address, b"".join(rows)) for address, rows in sorted(parts.items())]

    def write_sealed(self, connection: Connection, bucket: Bucket, blocks: Sequence[Block]) -> None:
        row_id = _row_id(connection, bucket)
        postgres_sealed.write(connection, row_id, blocks)
        if _exists(connection, row_id):
            # Not DROP, which would lock the parent: seals of different buckets could then wait for each other.
            _be_impatient(connection)
            connection.exec_driver_sql(f"TRUNCATE {_partition(row_id)}")

    def read_sealed(self, connection: Connection, bucket: Bucket) -> list[Block]:
        return postgres_sealed.read(connection, _row_id(connection, bucket), bucket)

    def sealed_ids(
        self, connection: Connection, bucket: Bucket, ids: Sequence[bytes], addresses: Sequence[tuple[int, int]] | None = None
    ) -> frozenset[bytes]:
        return postgres_sealed.search(connection, _row_id(connection, bucket), ids, addresses)

    def drop_open(self, bucket: Bucket) -> None:
        """Sealing has emptied the partition already; here it goes, and whatever else was left behind by a collector that died."""
        self._sizes.pop(bucket, None)
        with self._connected() as connection:
            _be_impatient(connection)
            names = connection.exec_driver_sql(_LEFT_OVER, bucket._asdict()).scalars().all()
            if names:
                connection.exec_driver_sql("LOCK TABLE report")
            for name in names:
                connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")

    def size(self, bucket: Bucket) -> int:
        return self._sizes.get(bucket, 0)

    def clean_up(self, counted: Callable[[Bucket], bool]) -> None:
        self.drop_open(Bucket(b"", 0))  # which is none: whatever belongs to no open bucket goes

    def drop_sealed(self, connection: Connection, bucket: Bucket) -> None:
        table = tables.sealed_report
        connection.execute(table.delete().where(table.c.bucket == _row_id(connection, bucket)))

    def doubt(self) -> None:
        self._failing = True

    def trouble(self) -> str | None:
        """Why the database takes no reports: it is away, read-only, or has no room for 1 MiB. A separate disk for its log is not probed."""
        if not self._failing and monotonic() < self._sound_until:
            return None
        try:
            with self._connected() as connection:
                for statement in (*_LOOK_FOR_ROOM, *([_PROBE] if self._failing else [])):
                    connection.exec_driver_sql(statement)
        except StorageError as error:
            return str(error)
        self._failing, self._sound_until = False, monotonic() + PROBE_SECONDS
        return None

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _failed(error) from None


def _partition(row_id: int) -> str:
    return f"report_{row_id:d}"


def _choose(bucket: Bucket) -> sql.Select[int]:
    table = tables.bucket
    return sql.select(table.c.id).where(table.c.task == bucket.task, table.c.number == bucket.number)


def _row_id(connection: Connection, bucket: Bucket) -> int:
    """The id of a bucket's row; 0, under which there is nothing, if it has none."""
    return connection.execute(_choose(bucket)).scalar_one_or_none() or 0


def _exists(connection: Connection, row_id: int) -> bool:
    return connection.execute(sql.select(sql.func.to_regclass(_partition(row_id)))).scalar_one() is not None


def _queue(connection: Connection, buckets: Iterable[Bucket], lock: str) -> None:
    """Wait in line for the buckets' locks, which last as long as the transaction; all wait in one order."""
    names = [struct.pack(">32sq", *bucket) for bucket in buckets]
    keys = sorted(int.from_bytes(hashlib.sha256(name).digest()[:8], signed=True) for name in names)
    connection.execute(sql.select(getattr(sql.func, lock)(sql.func.unnest(sql.literal(keys, postgresql.ARRAY(sql.BigInteger))))))


def _share(connection: Connection, buckets: Iterable[Bucket]) -> dict[Bucket, int | None]:
    """The row ids of the buckets that have a partition, locked against sealing; None for those sealed."""
    table = tables.bucket
    ready = sql.func.to_regclass(sql.literal("report_") + sql.cast(table.c.id, sql.Text))
    chosen = sql.select(table.c.task, table.c.number, table.c.id, table.c.state, ready.is_not(None).label("ready"))
    where = sql.tuple_(table.c.task, table.c.number).in_([tuple(bucket) for bucket in buckets])
    rows = connection.execute(chosen.where(where).order_by(table.c.id).with_for_update(read=True))
    return {Bucket(row.task, row.number): row.id if row.state == "open" else None for row in rows if row.ready or row.state != "open"}


def _insert(connection: Connection, row_id: int, blocks: Sequence[Block]) -> None:
    values = {
        "question": [block.question for block in blocks],
        "stratum": [block.stratum for block in blocks],
        "width": [block.rows.shape[1] for block in blocks],
        "rows": [block.rows.tobytes() for block in blocks],
    }
    connection.exec_driver_sql(_INSERT.format(partition=_partition(row_id), row_id=row_id), values)


def _be_impatient(connection: Connection) -> None:
    """Fail rather than wait long for a table, as during a backup: others would wait behind us."""
    connection.exec_driver_sql("SET LOCAL lock_timeout = '5s'")


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _failed(error: SQLAlchemyError) -> StorageError:
    """What the server said, less its details, which may quote a report."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = getattr(getattr(cause, "diag", None), "message_primary", None) or " ".join(str(cause).split())
    received = f"{type(cause).__name__} {getattr(cause, 'sqlstate', None) or ''}".strip()
    return StorageError("database", received, allowed="a PostgreSQL that answers", fix=f"nothing was stored, try again later ({said})")
