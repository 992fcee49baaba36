"""The ledger in a file: what a device spent survives the process, a crash and a loss of power."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from errno import EISDIR
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.client.budget import Account, allow, decimal, read_id
from deniable.client.diary import PERSONAL, Diary
from deniable.client.ledger import PENDING, REFUSED, SENT, WITHDRAWN, Entry, Ledger, LedgerError
from deniable.contract.arguments import typed
from deniable.contract.journal import Schema, step
from deniable.contract.task import Task

_TABLES = """
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, task BLOB NOT NULL, name TEXT NOT NULL, question TEXT NOT NULL, period INTEGER NOT NULL,
    epsilon TEXT NOT NULL, moment INTEGER NOT NULL, report BLOB NOT NULL, state TEXT NOT NULL, code TEXT NOT NULL
);
CREATE INDEX entry_of_task ON entry (task, period);
CREATE TABLE consent (task BLOB PRIMARY KEY);
CREATE TABLE ticket (task BLOB PRIMARY KEY, ticket INTEGER NOT NULL);
"""
_KEPT = "CREATE TABLE kept (task BLOB NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (task, name))"
_DIARY = """CREATE TABLE diary (
    task BLOB NOT NULL, question TEXT NOT NULL, class TEXT NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (task, question, class)
)"""
SCHEMA = Schema((_TABLES, _KEPT, _DIARY), mark=int.from_bytes(b"DNLG", "big"))
_opening = threading.Lock()


@typed
class FileLedger(Ledger):
    """A ledger in one file at ``path``, for its owner's eyes only, shared safely by any number of threads and processes.

    Every step is one SQLite transaction that takes the write lock before it looks, so that two processes never both see the last of the
    budget. Each step opens the file and closes it: there is nothing to close, and nothing that a fork could damage. A file that cannot
    be read stops all spending. Only the person may start afresh, because that forgets what was spent.

    ``lifetime_epsilon`` is not kept in the file: it is the app's promise, and the same for everyone who opens the file. A step waits at
    most ``timeout`` seconds for another process.
    """

    def __init__(self, path: str | os.PathLike[str], *, lifetime_epsilon: float | str | Fraction, timeout: float = 30.0) -> None:
        super().__init__(lifetime_epsilon=lifetime_epsilon)
        self.path = Path(path).absolute()
        self._timeout = timeout
        self._create()
        with self._step() as database:
            if not SCHEMA.prepare(database):
                allowed = f"a ledger of version {SCHEMA.version}"
                raise LedgerError("ledger", str(self.path), allowed=allowed, fix="upgrade deniable, or name another file")

    def __repr__(self) -> str:  # without a look into the file: a repr must not fail
        return f"<FileLedger {str(self.path)!r}: epsilon {decimal(self.lifetime_epsilon)} over a lifetime>"

    # --- the file ---

    def _create(self) -> None:
        """Create the file if there is none, readable by its owner only."""
        try:
            with _opening, suppress(FileExistsError):
                # Only its creator opens the file other than through SQLite: closing a file gives up the locks that its process has on it.
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            if self.path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            self.path.chmod(0o600)
        except OSError as error:
            fix = f"create the folder first, or name a file that this app may write ({self.path}: {error.strerror})"
            raise LedgerError("ledger", self.path.name, allowed="a file in a folder that exists", fix=fix) from error

    @contextmanager
    def _step(self) -> Iterator[sqlite3.Connection]:
        """Take one step of the journal, in a connection of its own."""
        try:
            address = f"{self.path.as_uri()}?mode=rw"  # a file that has vanished is not silently created again
            with closing(sqlite3.connect(address, uri=True, timeout=self._timeout, isolation_level=None)) as database:
                database.execute("PRAGMA synchronous = EXTRA")  # FULL, and the journal's removal survives a loss of power as well
                database.execute("PRAGMA fullfsync = ON")  # macOS: past the disk's own cache
                database.execute("PRAGMA secure_delete = ON")  # what was dropped is overwritten
                with step(database):
                    yield database
        except sqlite3.Error as error:
            fix = f"check the disk and try again ({error}); nothing was sent. Do not delete it: an empty ledger would forget what was spent"
            raise LedgerError("ledger", str(self.path), allowed="a file that can be read and written", fix=fix) from error

    # --- the ledger ---

    def consent(self, task: bytes | str) -> None:
        with self._step() as database:
            database.execute("INSERT OR IGNORE INTO consent VALUES (?)", (read_id(task),))

    def withdraw(self, task: bytes | str) -> None:
        withdrawn = read_id(task)
        with self._step() as database:
            database.execute("DELETE FROM consent WHERE task = ?", (withdrawn,))
            database.execute(
                "UPDATE entry SET report = x'', state = ?, code = ? WHERE task = ? AND state = ?", (REFUSED, WITHDRAWN, withdrawn, PENDING)
            )

    def consented(self, task: bytes | str) -> bool:
        with self._step() as database:
            return _has_consent(database, read_id(task))

    def ticket(self, task: bytes | str, draw: Callable[[], int]) -> int:
        holder = read_id(task)
        with self._step() as database:
            row = database.execute("SELECT ticket FROM ticket WHERE task = ?", (holder,)).fetchone()
            ticket = int(row[0]) if row else draw()
            if not row:
                database.execute("INSERT INTO ticket VALUES (?, ?)", (holder, ticket))
        return ticket  # only after the commit: a ticket that was acted on must be the one that stays

    def remember(self, task: bytes | str, name: str, draw: Callable[[], bytes]) -> bytes:
        holder = read_id(task)
        with self._step() as database:
            kept = _kept(database, holder, name)
            value = draw() if kept is None else kept
            if kept is None:
                database.execute("INSERT INTO kept VALUES (?, ?, ?)", (holder, name, value))
        return value  # only after the commit, as with a ticket

    def recall(self, task: bytes | str, name: str) -> bytes | None:
        with self._step() as database:
            return _kept(database, read_id(task), name)

    def kept(self, task: bytes | str) -> dict[str, dict[str, bytes]]:
        found: dict[str, dict[str, bytes]] = {}
        with self._step() as database:
            for name, group, answer in database.execute("SELECT question, class, answer FROM diary WHERE task = ?", (read_id(task),)):
                found.setdefault(name, {})[group] = bytes(answer)
        return found

    def permanent_answers(self) -> int:
        with self._step() as database:
            return int(database.execute("SELECT COUNT(*) FROM diary WHERE class != ?", (PERSONAL,)).fetchone()[0])

    def spend(
        self, task: Task, *, period: int, epsilon: float, when: float, make: Callable[[int], bytes], diary: Diary | None = None
    ) -> Entry:
        with self._step() as database:
            if diary:
                rows = database.execute("SELECT class, answer FROM diary WHERE task = ? AND question = ?", (task.id, diary.name))
                diary.open({group: bytes(answer) for group, answer in rows})
            latest, in_task, in_period = database.execute(
                "SELECT MAX(period), COUNT(*), COUNT(CASE WHEN period = ? THEN 1 END) FROM entry WHERE task = ?", (period, task.id)
            ).fetchone()
            account = Account(_has_consent(database, task.id), latest, in_period, in_task, _spent(database))
            cost = allow(task, period, epsilon, account, self.lifetime_epsilon, paid=diary is not None and diary.known)
            (number,) = database.execute("SELECT COALESCE(MAX(number), 0) + 1 FROM entry").fetchone()
            entry = Entry(number, task.id, task.name, task.question, period, cost, int(when), make(in_task))
            database.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*entry[:5], str(cost), *entry[6:]))
            if diary:  # INSERT, not REPLACE: a permanent answer is never overwritten
                rows_to_keep = [(task.id, diary.name, group, answer) for group, answer in diary.drawn.items()]
                database.executemany("INSERT INTO diary VALUES (?, ?, ?, ?)", rows_to_keep)
        return entry  # only after the commit: spend, then send

    def settle(self, number: int, state: str, code: str = "") -> Entry:
        with self._step() as database:
            database.execute("UPDATE entry SET state = ?, code = ? WHERE number = ? AND state != ?", (state, code, number, SENT))
            return _entries(database, "WHERE number = ?", number)[0]

    def entries(self) -> list[Entry]:
        with self._step() as database:
            return _entries(database, "ORDER BY number")

    def pending(self, task: bytes | str) -> list[Entry]:
        with self._step() as database:
            return _entries(database, "WHERE task = ? AND state = ? ORDER BY number", read_id(task), PENDING)

    def spent(self) -> Fraction:
        with self._step() as database:
            return _spent(database)


def _kept(database: sqlite3.Connection, task: bytes, name: str) -> bytes | None:
    row = database.execute("SELECT value FROM kept WHERE task = ? AND name = ?", (task, name)).fetchone()
    return None if row is None else bytes(row[0])


def _has_consent(database: sqlite3.Connection, task: bytes) -> bool:
    return database.execute("SELECT 1 FROM consent WHERE task = ?", (task,)).fetchone() is not None


def _spent(database: sqlite3.Connection) -> Fraction:
    """Return the exact sum, added by equal epsilons: the file holds fractions, not floats."""
    return sum(
        (Fraction(epsilon) * count for epsilon, count in database.execute("SELECT epsilon, COUNT(*) FROM entry GROUP BY 1")), Fraction(0)
    )


def _entries(database: sqlite3.Connection, condition: str, *values: Any) -> list[Entry]:
    rows = database.execute(f"SELECT * FROM entry {condition}", values)  # noqa: S608  # the conditions are the ones above
    return [Entry._make((*row[:5], Fraction(row[5]), *row[6:])) for row in rows]
