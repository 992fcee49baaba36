"""One SQLite file in a folder that one process has: transactions durable at their end, deleted rows overwritten, no log left behind.

What a shuffler holds and what an aggregator keeps of a sum are both of this kind.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deniable.collect.storage.files import DISK, lacks_room
from deniable.collect.storage.log import StorageError

PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "journal_size_limit = 0")


class PrivateDatabase:
    """A connection that threads share. ``handle`` is the folder's lock, which was taken before and is let go by ``close``."""

    def __init__(self, path: Path, handle: int, *, pragmas: Sequence[str] = ()) -> None:
        path.touch(0o600)
        self._folder = path.parent
        self._handle = handle
        self._lock = threading.RLock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in (*PRAGMAS, *pragmas):
            self._database.execute(f"PRAGMA {pragma}")

    def close(self) -> None:
        """Let go of the folder."""
        with self._lock:
            self._database.close()
            DISK.close(self._handle)

    def lacks_room(self) -> bool:
        """True if its disk is as good as full."""
        return lacks_room(DISK, self._folder)

    def _ended(self, done: bool) -> None:
        """A transaction is over, and nobody else has begun one."""

    def _empty_log(self) -> None:
        """What was deleted is then nowhere on disk."""
        with self._reading() as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._database
        except sqlite3.Error as error:
            raise StorageError("store", type(error).__name__, allowed="a disk that works and has room", fix=str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: durable at its end, or undone."""
        with self._reading() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                self._ended(False)
                raise
            self._ended(True)
