"""The journal: one SQLite file that records an expense together with the message that it pays for, before that is sent.

The ledger of a device, the store of a shuffler and that of an aggregator are journals. A step takes the write lock before it looks, so two
processes never both see the last of a budget; it is durable when it ends, and undone by any error. So a crash leaves both, the expense and
the very bytes to send again, or neither. (A party of a sum keeps one small file for each sum, and replaces it whole: ``durable``.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple


class Schema(NamedTuple):
    """The tables of a kind of journal: a script for each version that adds to the one before, and SQLite's ``application_id``."""

    scripts: Sequence[str]
    mark: int = 0

    @property
    def version(self) -> int:
        """The number of the latest version."""
        return len(self.scripts)

    def prepare(self, database: sqlite3.Connection, *, new: bool = True) -> bool:
        """Create the missing tables, in a step; return False if the file is of a later version or of another program.

        An empty file becomes a journal only if it may be ``new``.
        """
        mark, version, tables = (
            database.execute(query).fetchone()[0]
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT COUNT(*) FROM sqlite_master")
        )
        begun = mark == self.mark and 1 <= version <= self.version
        if not begun and not (new and (mark, version, tables) == (0, 0, 0)):
            return False
        if version < self.version:
            for script in self.scripts[version:]:
                for statement in filter(None, map(str.strip, script.split(";"))):
                    database.execute(statement)
            database.execute(f"PRAGMA application_id = {self.mark}")
            database.execute(f"PRAGMA user_version = {self.version}")
        return True


@contextmanager
def step(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Run one transaction, alone and durable; any error undoes it. The connection must not begin transactions automatically."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
