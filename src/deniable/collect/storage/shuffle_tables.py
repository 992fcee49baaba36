"""The tables of a shuffler's store, and how what waits is laid out in one of them. There is no row number, no sender and no time in any
of them, but for the day.

==========  =====================================================================================================
``task``    the tasks that are served, as they were published
``seen``    the ids of seals that were taken: against replays, until their task is over
``spent``   the ids of one-time tokens, for as long
``pile``    the groups that something was held of
``held``    the digests of what waits
``run``     what waits: digest, crowd and next seal of many together (below)
``closed``  periods that were let go at their end
``batch``   batches that were let go and not acknowledged yet, as the messages that they are
``clock``   the last day that was believed, in days since 1970
==========  =====================================================================================================

**Waiting seals** are in sorted runs: first a row for each append, then merged rows that grow. With a row for each seal under its random
digest, each append would rewrite pages all over the file, and the more seals are held, the slower. A run is written at once. Its level
follows from its size, to the base of eight, and eight runs of one level are merged into one of a higher level. So a seal is rewritten about
as often as the number of seals has digits, a single seal is never merged with the thousands before it, and there are at most some dozens
of runs. A run's key is its smallest digest, and its seals are sorted by digest: neither shows when they came. Anyone who takes the disk
sees which seals came together while they are held: exactly for the latest few appends, as in the write-ahead log; for older ones, that
they are among the same eight or sixty-four. The release overwrites all of it.

"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from deniable.contract.journal import Schema
from deniable.shuffle.mixer import Held

_TABLES = """
CREATE TABLE task (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, text BLOB NOT NULL);
CREATE TABLE seen (task INTEGER, id BLOB, PRIMARY KEY (task, id)) WITHOUT ROWID;
CREATE TABLE spent (task INTEGER, id BLOB, PRIMARY KEY (task, id)) WITHOUT ROWID;
CREATE TABLE pile (number INTEGER PRIMARY KEY, task INTEGER, period INTEGER, route BLOB, UNIQUE (task, period, route));
CREATE TABLE held (pile INTEGER, id BLOB, PRIMARY KEY (pile, id)) WITHOUT ROWID;
CREATE TABLE run (pile INTEGER, level INTEGER, first BLOB, content BLOB NOT NULL, PRIMARY KEY (pile, level, first)) WITHOUT ROWID;
CREATE TABLE closed (task INTEGER, period INTEGER, PRIMARY KEY (task, period)) WITHOUT ROWID;
CREATE TABLE batch (id BLOB PRIMARY KEY, task INTEGER NOT NULL, count INTEGER NOT NULL, message BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE clock (only INTEGER PRIMARY KEY, day INTEGER NOT NULL) WITHOUT ROWID;
"""
SCHEMA = Schema((_TABLES,))
PRAGMAS = (
    "cache_size = -65536",
    "wal_autocheckpoint = 16384",  # pages: digests are everywhere, so each group rewrites many of them
)
TOGETHER = 8
LARGEST = 1 << 27
"""The bytes that a run is not merged beyond."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Held]).decode


def add_run(database: sqlite3.Connection, pile: int, held: Sequence[Held]) -> None:
    """Keep some seals of a pile, in the order of their digests; inside a transaction."""
    if not held:
        return
    level = (len(held).bit_length() - 1) // 3
    of_level = "FROM run WHERE pile = ? AND level = ?"
    count, size = database.execute(f"SELECT count(*), total(length(content)) {of_level}", (pile, level)).fetchone()
    if count < TOGETHER - 1 or size > LARGEST:
        database.execute("INSERT INTO run VALUES (?, ?, ?, ?)", (pile, level, held[0].digest, _encode(held)))
        return
    runs = database.execute(f"SELECT content {of_level}", (pile, level)).fetchall()
    database.execute(f"DELETE {of_level}", (pile, level))
    add_run(database, pile, sorted([*held, *(item for (content,) in runs for item in _decode(content))]))


def read_runs(database: sqlite3.Connection, pile: int) -> list[Held]:
    """All that a pile holds, in the order of digests."""
    runs = database.execute("SELECT content FROM run WHERE pile = ?", (pile,))
    return sorted(item for (content,) in runs for item in _decode(content))
