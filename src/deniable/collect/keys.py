"""The analyst's keys: what reports of shuffle trust are sealed for, kept in the database, announced, replaced and deleted on time.

A private key is needed for as long as something may come that was sealed while it was announced: to the end of a period that had begun by
then, and the time that late reports have. After that it is deleted, and nobody can open what was sealed for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

import sqlalchemy as sql
from sqlalchemy import Connection

from deniable.collect.storage import database as db
from deniable.collect.storage.store import Store
from deniable.contract.notice import ANALYST
from deniable.contract.task import Task
from deniable.sealing.keys import GRACE, LIFETIME, KeyPair, announce

_NAME = "hpke "
_KEPT = struct.Struct("<qq32s")


class AnalystKeys:
    """The pairs of one collector, or of several that share a database, which have one identity."""

    def __init__(self, store: Store, seed: bytes) -> None:
        self._store = store
        self._seed = seed

    def pairs(self) -> Mapping[bytes, KeyPair]:
        """Every pair that is kept, by id."""
        with self._store.reading() as connection:
            return self._read(connection)

    def announcement(self, now: float) -> bytes:
        """What GET /v1/keys answers: the keys that did not end, the newest first, each signed with the collector's key."""
        good = sorted((pair for pair in self.pairs().values() if now < pair.end), key=lambda pair: (pair.start, pair.end), reverse=True)
        return announce(self._seed, [pair.notice(ANALYST) for pair in good])

    def tend(self, tasks: Iterable[Task], now: float, lifetime: int = LIFETIME) -> str | None:
        """Make a new key if the newest has less than half of its time left, delete those that nothing can come for; says what was done.

        Without a task of shuffle trust no key is made.
        """
        spans = [task.period + task.late for task in tasks if task.mixing is not None]
        pairs = self.pairs()
        grace = max(spans, default=0) + GRACE
        over = [pair for pair in pairs.values() if now >= pair.end + grace]
        due = bool(spans) and not _lasts(pairs, now, lifetime)
        if not over and not due:
            return None
        with self._store.writing() as connection:
            for pair in over:
                connection.execute(db.secret.delete().where(db.secret.c.name == _NAME + pair.id.hex()))
            if due and not _lasts(self._read(connection), now, lifetime):  # another collector may have been faster
                pair = KeyPair.make(now, lifetime)
                value = _KEPT.pack(pair.start, pair.end, pair.private)
                connection.execute(db.secret.insert().values(name=_NAME + pair.id.hex(), value=value))
        return " and ".join([*(["made a key for sealed reports"] if due else []), *([f"deleted {len(over)} of them"] if over else [])])

    def _read(self, connection: Connection) -> dict[bytes, KeyPair]:
        rows = connection.execute(sql.select(db.secret.c.value).where(db.secret.c.name.startswith(_NAME)))
        kept = (_KEPT.unpack(bytes(row[0])) for row in rows)
        return {pair.id: pair for pair in (KeyPair(private, start, end) for start, end, private in kept)}


def _lasts(pairs: Mapping[bytes, KeyPair], now: float, lifetime: int) -> bool:
    return any(now + lifetime / 2 < pair.end for pair in pairs.values())
