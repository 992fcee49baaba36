"""One SQLite file in a folder that one process has: transactions durable at their end, deleted rows overwritten, no log left behind.

What a shuffler holds and what an aggregator keeps of a sum are both of this kind. SQLite's write-ahead log keeps copies of pages until it
is emptied. SQLite would only truncate it, and the pages would stay in free blocks of the disk. So it is overwritten first, and nothing
else truncates it in between. A disk that writes elsewhere (an SSD, a file system that copies on write) keeps old blocks all the same.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from deniable.collect.storage.files import DISK, WIPE_BYTES, lacks_room, opened, storage_errors, write_whole
from deniable.collect.storage.log import StorageError
from deniable.contract.journal import step

PRAGMAS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "temp_store = MEMORY",  # a savepoint keeps copies of pages, too
)
_HEADER_BYTES = 32
"""The header of SQLite's write-ahead log; without it nothing behind it counts."""


class PrivateDatabase:
    """A connection that threads share. ``handle`` is the folder's lock, which was taken before and is let go by ``close``."""

    def __init__(self, path: Path, handle: int, *, pragmas: Sequence[str] = ()) -> None:
        path.touch(0o600)
        self._folder = path.parent
        self._log = path.with_name(path.name + "-wal")
        self._handle = handle
        self._lock = threading.RLock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in (*PRAGMAS, *pragmas):
            self._database.execute(f"PRAGMA {pragma}")

    def close(self) -> None:
        """Let go of the folder."""
        with self._lock:
            with suppress(StorageError):  # a disk that fails cannot be overwritten either
                self._empty_log()
            self._database.close()
            DISK.close(self._handle)

    def lacks_room(self) -> bool:
        """True if its disk is as good as full."""
        return lacks_room(DISK, self._folder)

    def _ended(self, done: bool) -> None:
        """A transaction is over, and nobody else has begun one."""

    def _empty_log(self) -> None:
        """Overwrite the write-ahead log and empty it. If another program is reading the database, leave it for the next time."""
        with self._reading() as database:
            (busy, *_) = database.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
            if not busy:  # everything is in the database, durable, and readers no longer need the log
                self._overwrite_log()
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _overwrite_log(self) -> None:
        """Write zeros: the header first, lest a loss of power leave it with a part of the log, which would bring old pages back."""
        with storage_errors("overwriting", self._log), opened(DISK, self._log) as handle:
            size = DISK.size(handle)
            if size:
                write_whole(DISK, handle, bytes(_HEADER_BYTES), 0)
                DISK.sync(handle)
                for start in range(_HEADER_BYTES, size, WIPE_BYTES):
                    write_whole(DISK, handle, bytes(min(WIPE_BYTES, size - start)), start)
                DISK.sync(handle)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._database
        except sqlite3.Error as error:
            raise StorageError("store", type(error).__name__, allowed="a disk that works and has room", fix=str(error)) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One step of the journal: durable at its end, or undone."""
        with self._reading() as database:
            try:
                with step(database):
                    yield database
            except BaseException:
                self._ended(False)
                raise
            self._ended(True)
