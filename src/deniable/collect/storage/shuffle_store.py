"""What a shuffler holds, on disk: durable before it is acknowledged, without order, and gone once it was passed on.

One SQLite file. Everything is stored under a digest and read in the order of digests: there are no row numbers and no times, and opened
reports are not stored next to the seals that they came in. The positions of rows in the file, and the write-ahead log, still show the order
of writing to anyone who takes the disk. So with every release, deleted rows are overwritten and the log is emptied: only ids remain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from deniable.collect.faults import fault_point
from deniable.collect.storage.files import DISK, hold
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.private import PrivateDatabase
from deniable.collect.storage.shuffle_tables import PRAGMAS, SCHEMA, add_run, read_runs
from deniable.contract.journal import step
from deniable.shuffle.mixer import CLOSED, USED, Held, Taken

_OF_A_TASK = ("seen", "spent", "pile", "closed", "batch")
_OF_A_PILE = ("held", "run")
_AT_ONCE = 500
"""How many digests are asked for in one query."""


class Group(NamedTuple):
    """What is shuffled together."""

    task: bytes
    period: int
    route: bytes


class Waiting(NamedTuple):
    """A batch on its way, without its content."""

    id: bytes
    task: bytes
    seals: int


class ShuffleStore(PrivateDatabase):
    """A shuffler's folder. Safe to share between threads; one process has it at a time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().__init__(folder / "shuffler.sqlite", hold(DISK, folder / "lock"), pragmas=PRAGMAS)
        with step(self._database):
            known = SCHEMA.prepare(self._database)
        if not known:
            self.close()
            raise StorageError("schema", "another one", allowed=f"schema {SCHEMA.version}", fix="upgrade deniable to open it")
        self._numbers: dict[bytes, int] = dict(self._database.execute("SELECT id, number FROM task").fetchall())
        self._changes: Counter[Group] = Counter()
        query = """SELECT task.id, period, route, count(*) FROM held JOIN pile ON pile = pile.number JOIN task ON task = task.number
            GROUP BY pile"""
        self._counts = Counter({Group(task, period, route): count for task, period, route, count in self._database.execute(query)})

    def _ended(self, done: bool) -> None:
        if done:
            self._counts.update(self._changes)
        self._changes.clear()

    # --- tasks ---

    def tasks(self) -> dict[bytes, bytes]:
        """The text of every task that was served here, by id."""
        with self._reading() as database:
            return dict(database.execute("SELECT id, text FROM task").fetchall())

    def add_task(self, task: bytes, text: bytes) -> None:
        """Keep a task's text."""
        with self._writing() as database:
            database.execute("INSERT OR IGNORE INTO task (id, text) VALUES (?, ?)", (task, text))
            self._numbers = dict(database.execute("SELECT id, number FROM task").fetchall())

    def forget(self, task: bytes) -> int:
        """Delete everything about a task that is over; how many seals and batches were still there."""
        with self._writing() as database:
            number = self._numbers[task]
            here = {group: count for group, count in self._counts.items() if group.task == task}
            self._changes.subtract(here)
            (waiting,) = database.execute("SELECT count(*) FROM batch WHERE task = ?", (number,)).fetchone()
            for (pile,) in database.execute("SELECT number FROM pile WHERE task = ?", (number,)).fetchall():
                self._clear(pile)
            for table in _OF_A_TASK:
                database.execute(f"DELETE FROM {table} WHERE task = ?", (number,))  # noqa: S608  # names from above
        self._empty_log()
        return int(sum(here.values()) + waiting)

    def day(self) -> int | None:
        """The last day that was believed to be today; None in a new store."""
        with self._reading() as database:
            row = database.execute("SELECT day FROM clock").fetchone()
            return None if row is None else int(row[0])

    def set_day(self, day: int) -> None:
        """Keep what day it is: a day, and no time, since a time could be that of a seal."""
        with self._writing() as database:
            database.execute("INSERT INTO clock VALUES (0, ?) ON CONFLICT (only) DO UPDATE SET day = excluded.day", (day,))

    # --- seals ---

    def take(self, rows: Mapping[Group, Sequence[Taken]], refused: Mapping[Group, str]) -> frozenset[tuple[bytes, str]]:
        """Hold seals, all of them or, on StorageError, none; ids and codes of those that are not taken.

        ``refused`` has the groups that take nothing new, with the code; what they took before is a success there, too.
        """
        told: set[tuple[bytes, str]] = set()
        with self._writing():
            for group, came in rows.items():
                number = self._numbers[group.task]
                code = refused.get(group) or self._closed(number, group.period)
                if not code and self._add_new(number, group, came):
                    continue  # nearly always
                known = self._present("seen", number, [item.id for item in came])
                new = {item.id: item for item in came if item.id not in known}
                told |= {(item, code) for item in new} if code else self._add(number, group, new.values())
        return frozenset(told)

    def known(self, task: bytes, ids: Sequence[bytes]) -> set[bytes]:
        """The ids among these of seals that were taken."""
        with self._reading():
            return self._present("seen", self._numbers[task], ids)

    def _add(self, number: int, group: Group, new: Collection[Taken]) -> set[tuple[bytes, str]]:
        """Add seals that are new, one by one: a token may be spent, and what is held may come again in another box."""
        spent = self._present("spent", number, [item.token for item in new if item.token])
        told: set[tuple[bytes, str]] = set()
        kept = []
        for item in new:
            if item.token and item.token in spent:
                told.add((item.id, USED))
            else:
                spent.add(item.token)
                kept.append(item)
        held = self._present("held", self._pile(number, group), [item.held.digest for item in kept])
        self._insert(number, group, kept, held)
        return told

    def _add_new(self, number: int, group: Group, came: Sequence[Taken]) -> bool:
        """Add seals; or nothing, and False, if one of them, its token or its content was here before. Asking first would take longer."""
        self._database.execute("SAVEPOINT new")
        added = self._insert(number, group, came)
        if not added:
            self._database.execute("ROLLBACK TO new")
        self._database.execute("RELEASE new")
        return added

    def _insert(self, number: int, group: Group, came: Sequence[Taken], present: Container[bytes] = ()) -> bool:
        """Insert in the order that rows have on disk: it is faster, and says less. False if something was there but what is ``present``."""
        which = (number, group.period, group.route)
        self._database.execute("INSERT OR IGNORE INTO pile (task, period, route) VALUES (?, ?, ?)", which)
        pile = self._pile(number, group)
        new = sorted({item.held.digest: item.held for item in came if item.held.digest not in present}.values())
        added = (
            self._insert_ids("seen", number, sorted(item.id for item in came))
            and self._insert_ids("spent", number, sorted(item.token for item in came if item.token))
            and self._insert_ids("held", pile, [held.digest for held in new])
        )
        if added:
            add_run(self._database, pile, new)
            self._changes[group] += len(new)
        return added

    def _insert_ids(self, table: str, number: int, ids: Sequence[bytes]) -> bool:
        query = f"INSERT OR IGNORE INTO {table} VALUES (?, ?)"  # noqa: S608  # names from above
        return not ids or self._database.executemany(query, [(number, each) for each in ids]).rowcount == len(ids)

    def _pile(self, number: int, group: Group) -> int:
        """The number of a group's pile; 0 if nothing was ever held of it."""
        query = "SELECT number FROM pile WHERE (task, period, route) = (?, ?, ?)"
        row = self._database.execute(query, (number, group.period, group.route)).fetchone()
        return int(row[0]) if row else 0

    def _clear(self, pile: int) -> None:
        for table in _OF_A_PILE:
            self._database.execute(f"DELETE FROM {table} WHERE pile = ?", (pile,))  # noqa: S608  # names from above

    def groups(self) -> dict[Group, int]:
        """How many seals are held, by group; counted along, since it is asked for all the time."""
        with self._reading():
            return {group: count for group, count in self._counts.items() if count}

    def held(self, group: Group) -> list[Held]:
        """What a group holds, in the order of digests."""
        with self._reading() as database:
            return read_runs(database, self._pile(self._numbers[group.task], group))

    # --- batches ---

    def close_period(self, task: bytes, period: int) -> None:
        """Take nothing more for a period. Once this returns, what is held is all that there will be."""
        with self._writing() as database:
            database.execute("INSERT OR IGNORE INTO closed VALUES (?, ?)", (self._numbers[task], period))

    def release(self, group: Group, gone: Sequence[bytes], batches: Sequence[tuple[bytes, int, bytes]]) -> None:
        """Turn what was held into batches (id, count, message), in one step: a crash leaves the one or the other."""
        with self._writing() as database:
            number = self._numbers[group.task]
            pile, leaving = self._pile(number, group), frozenset(gone)
            held = read_runs(database, pile)
            staying = [item for item in held if item.digest not in leaving]
            self._clear(pile)
            self._insert_ids("held", pile, [item.digest for item in staying])
            add_run(database, pile, staying)
            self._changes[group] -= len(held) - len(staying)
            added = [(batch, number, count, message) for batch, count, message in batches]
            database.executemany("INSERT INTO batch VALUES (?, ?, ?, ?)", added)
            fault_point("batch mixed")
        fault_point("batch released")
        self._empty_log()

    def batches(self) -> list[Waiting]:
        """The batches that were not acknowledged yet."""
        with self._reading() as database:
            query = "SELECT batch.id, task.id, count FROM batch JOIN task ON task = number"
            return [Waiting(*row) for row in database.execute(query)]

    def message(self, batch: bytes) -> bytes:
        """A batch as it is sent."""
        with self._reading() as database:
            (message,) = database.execute("SELECT message FROM batch WHERE id = ?", (batch,)).fetchone()
            return bytes(message)

    def replace(self, batch: bytes, count: int, message: bytes) -> None:
        """Keep of a batch what is still to be sent."""
        with self._writing() as database:
            database.execute("UPDATE batch SET count = ?, message = ? WHERE id = ?", (count, message, batch))
        self._empty_log()

    def acknowledged(self, batch: bytes) -> None:
        """Delete a batch: its receiver has it."""
        with self._writing() as database:
            database.execute("DELETE FROM batch WHERE id = ?", (batch,))
        self._empty_log()

    # --- the database ---

    def _present(self, table: str, number: int, ids: Sequence[bytes]) -> set[bytes]:
        found: set[bytes] = set()
        for start in range(0, len(ids), _AT_ONCE):
            asked = ids[start : start + _AT_ONCE]
            query = f"SELECT id FROM {table} WHERE {'pile' if table in _OF_A_PILE else 'task'} = ? AND id IN ({','.join('?' * len(asked))})"  # noqa: S608  # names from above
            found.update(row[0] for row in self._database.execute(query, (number, *asked)))
        return found

    def _closed(self, number: int, period: int) -> str:
        row = self._database.execute("SELECT 1 FROM closed WHERE task = ? AND period = ?", (number, period)).fetchone()
        return CLOSED if row else ""
