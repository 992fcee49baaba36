"""The collector's tables: tasks, rounds, keys, tokens, codes, the public log, batches, and what was sealed."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

metadata = MetaData()

schema = Table("schema", metadata, Column("number", Integer, nullable=False))
secret = Table("secret", metadata, Column("name", String, primary_key=True), Column("value", LargeBinary, nullable=False))
token = Table(
    "token",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("role", String, nullable=False),
    Column("label", String, nullable=False, unique=True),
)
task = Table(
    "task",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("name", String, nullable=False),
    Column("canonical", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("closed", Integer, nullable=False, default=0),
)
deleted_task = Table(  # its text alone, so that what the public log says about it can still be checked
    "deleted_task",
    metadata,
    Column("id", LargeBinary, primary_key=True),
    Column("canonical", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
)
round_ = Table(
    "round",
    metadata,
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("opened", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("canonical", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
)
closing = Table(  # of a round or a period that is being closed, or could not be
    "closing",
    metadata,
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("tries", Integer, nullable=False),
    Column("owner", LargeBinary, nullable=False),  # drawn by each process
    Column("begun", BigInteger, nullable=False),
    Column("why", String),  # it is parked
)
log = Table(
    "log",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("task", LargeBinary, nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)
bucket = Table(
    "bucket",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), nullable=False),
    Column("number", BigInteger, nullable=False),  # of a period, or of a round
    Column("state", String, nullable=False, default="open"),  # open, sealed, dropping, dropped (its reports are deleted)
    Column("sealed", BigInteger),
    Column("reports", BigInteger, nullable=False, default=0),
    Column("repeated", BigInteger, nullable=False, default=0),
    Column("digest", LargeBinary),
    UniqueConstraint("task", "number"),
)
# What is to be done is found without walking past all that is done; a query must say the very same words to be answered from these.
UNFINISHED, KEPT = "state IN ('open', 'dropping')", "state = 'sealed'"
unfinished = Index(
    "bucket_unfinished", bucket.c.task, bucket.c.number, sqlite_where=sql.text(UNFINISHED), postgresql_where=sql.text(UNFINISHED)
)
kept = Index("bucket_kept", bucket.c.task, bucket.c.sealed, sqlite_where=sql.text(KEPT), postgresql_where=sql.text(KEPT))
tally = Table(
    "tally",
    metadata,
    Column("bucket", Integer, ForeignKey("bucket.id", ondelete="CASCADE"), primary_key=True),
    Column("question", Integer, primary_key=True),
    Column("stratum", Integer, primary_key=True),
    Column("image", LargeBinary, nullable=False),
)
enrolment = Table(
    "enrolment",
    metadata,
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("code", LargeBinary, primary_key=True),  # SHA-256, as is the request that it was redeemed with
    Column("request", LargeBinary),
    sqlite_with_rowid=False,  # in the order of the digests, not in that of arrival
)

batch = Table(
    "batch",
    metadata,
    Column("task", LargeBinary, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("id", LargeBinary, primary_key=True),
    Column("period", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of its seals, as the shuffler signed it
    Column("reports", BigInteger, nullable=False),
    Column("epsilon", Double, nullable=False),
    Column("rows", LargeBinary),  # begun: ids and payloads by id, until they are in the log of reports
    sqlite_with_rowid=False,  # in the order of ids that were drawn, not in that of arrival
)

# --- only in PostgreSQL: what the embedded log keeps in files ---

report_metadata = MetaData()
report = Table(
    "report",
    report_metadata,
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column("question", Integer, nullable=False),
    Column("stratum", Integer, nullable=False),
    Column("id", LargeBinary, primary_key=True),
    Column("payload", LargeBinary, nullable=False),
    postgresql_partition_by="LIST (bucket)",
)
sealed_report = Table(
    "sealed_report",
    report_metadata,
    Column("bucket", Integer, ForeignKey(bucket.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("stratum", Integer, primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("width", Integer, nullable=False),
    Column("rows", LargeBinary, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
)


@sql.event.listens_for(sealed_report, "after_create")
def _leave_rows_as_they_are(_: Table, connection: Connection, **__: Any) -> None:
    # Noise does not compress, and an id is found in rows that lie as they are without reading all of them.
    connection.exec_driver_sql("ALTER TABLE sealed_report ALTER COLUMN rows SET STORAGE EXTERNAL")
