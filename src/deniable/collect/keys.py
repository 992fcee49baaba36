"""The analyst's keys: what reports of shuffle trust are sealed for, kept in the database, announced, replaced and deleted on time.

A private key is needed for as long as something may come that was sealed while it was announced: to the end of a period that had begun by
then, and the time that late reports have. So long it is announced. After that it is deleted, and nobody can open what was sealed for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from contextlib import closing

import sqlalchemy as sql
from sqlalchemy import Connection, Engine

from deniable.collect.storage import tables as db
from deniable.collect.storage.database import database_errors
from deniable.collect.storage.store import Store
from deniable.contract.notice import ANALYST
from deniable.contract.task import Task
from deniable.sealing.keys import GRACE, LIFETIME, KeyPair, announce, least_lifetime

_NAME = "hpke "
_KEPT = struct.Struct("<qq32s")
_PATIENCE_MS = 1000


class AnalystKeys:
    """The pairs of one collector, or of several that share a database, which have one identity."""

    def __init__(self, store: Store, seed: bytes) -> None:
        self._store = store
        self._seed = seed
        self._cleared = False  # a crash may have come between the deletion of a key and this

    def pairs(self) -> Mapping[bytes, KeyPair]:
        """Every pair that is kept, by id."""
        with self._store.reading() as connection:
            return self._read(connection)

    def announcement(self) -> bytes:
        """What GET /v1/keys answers: every key that is kept, the newest first, each signed with the collector's key.

        One that ended is among them: reports of a period that had begun before are sealed for it.
        """
        return announce(self._seed, [pair.notice(ANALYST) for pair in self.pairs().values()])

    def tend(self, tasks: Iterable[Task], now: float, lifetime: int = LIFETIME) -> str | None:
        """Make a new key if the newest has less than half of its time left, delete those that nothing can come for; says what was done.

        Without a task of shuffle trust no key is made.
        """
        spans = [task.period + task.late for task in tasks if task.mixing is not None]
        pairs = self.pairs()
        grace = max(spans, default=0) + GRACE
        lifetime = max(lifetime, least_lifetime(grace))
        over = [pair for pair in pairs.values() if now >= pair.end + grace]
        due = bool(spans) and not _lasts(pairs, now, lifetime)
        if not over and not due:
            self._cleared = self._cleared or _clear_log(self._store.engine)
            return None
        with self._store.writing() as connection:
            for pair in over:
                connection.execute(db.secret.delete().where(db.secret.c.name == _NAME + pair.id.hex()))
            if due and not _lasts(self._read(connection), now, lifetime):  # another collector may have been faster
                pair = KeyPair.make(now, lifetime)
                value = _KEPT.pack(pair.start, pair.end, pair.private)
                connection.execute(db.secret.insert().values(name=_NAME + pair.id.hex(), value=value))
        self._cleared = (self._cleared and not over) or _clear_log(self._store.engine)
        return " and ".join([*(["made a key for sealed reports"] if due else []), *([f"deleted {len(over)} of them"] if over else [])])

    def _read(self, connection: Connection) -> dict[bytes, KeyPair]:
        rows = connection.execute(sql.select(db.secret.c.value).where(db.secret.c.name.startswith(_NAME)))
        kept = (_KEPT.unpack(bytes(row[0])) for row in rows)
        return {pair.id: pair for pair in (KeyPair(private, start, end) for start, end, private in kept)}


def _clear_log(engine: Engine) -> bool:
    """Leave nothing that was deleted in SQLite's log of changes; False if somebody was reading from it. Elsewhere a server does that."""
    if engine.dialect.name != "sqlite":
        return True
    with database_errors(), closing(engine.raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")  # writers wait meanwhile
        (busy, *_) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        cursor.execute("PRAGMA busy_timeout = 30000")
    return not busy


def _lasts(pairs: Mapping[bytes, KeyPair], now: float, lifetime: int) -> bool:
    return any(now + lifetime / 2 < pair.end for pair in pairs.values())
