"""What goes from a private database is overwritten, in its write-ahead log as well, and no crash in between damages the rest."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deniable.collect.storage import private
from deniable.collect.storage.files import DISK, Files, hold
from deniable.collect.storage.private import PrivateDatabase

NAME = "store.sqlite"
ROWS = 200


def opened(folder, *pragmas: str) -> PrivateDatabase:
    return PrivateDatabase(folder / NAME, hold(DISK, folder / "lock"), pragmas=pragmas)


def filled(folder, *pragmas: str) -> PrivateDatabase:
    """A database in which one of many rows is left, and whose write-ahead log still has all of them."""
    store = opened(folder, *pragmas)
    with store._writing() as database:
        database.execute("CREATE TABLE held (number INTEGER PRIMARY KEY, content BLOB)")
    for number in range(ROWS):
        with store._writing() as database:
            database.execute("INSERT INTO held VALUES (?, ?)", (number, b"MARKER%04d" % number * 50))
    with store._writing() as database:
        database.execute("DELETE FROM held WHERE number != 7")
    return store


def log_of(folder) -> bytes:
    return (folder / f"{NAME}-wal").read_bytes()


@pytest.mark.parametrize("how", ["_empty_log", "close"])
def test_the_log_is_overwritten_before_it_is_cut(tmp_path, how):
    """Its bytes would otherwise stay in free blocks of the disk."""
    store = filled(tmp_path)
    before, found = log_of(tmp_path), []
    assert before.count(b"MARKER0009") > 50
    store._database.set_trace_callback(lambda statement: found.append(log_of(tmp_path)) if "TRUNCATE" in statement else None)
    getattr(store, how)()
    assert found == [bytes(len(before))]
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (b"MARKER0007" in left, b"MARKER0009" in left) == (True, False)
    if how == "close":
        store = opened(tmp_path)
    else:
        assert log_of(tmp_path) == b""
    with store._writing() as database:
        database.execute("INSERT INTO held VALUES (8, x'')")
    assert store._database.execute("SELECT number FROM held").fetchall() == [(7,), (8,)]
    store.close()


def test_the_log_is_never_cut_in_between(tmp_path):
    """SQLite moves pages from the log to the file when it likes; what the log had before stays in it until it is overwritten."""
    store = opened(tmp_path, "wal_autocheckpoint = 8")
    with store._writing() as database:
        database.execute("CREATE TABLE held (number INTEGER PRIMARY KEY, content BLOB)")
    longest = 0
    for number in range(ROWS):
        with store._writing() as database:
            database.execute("INSERT INTO held VALUES (?, ?)", (number, bytes(20_000 if number == 30 else 500)))
        size = len(log_of(tmp_path))
        assert size >= longest
        longest = size
    store.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's list of open files")
def test_a_savepoint_writes_no_file_elsewhere(tmp_path):
    """SQLite would put copies of changed pages into a file in /var/tmp."""
    store = opened(tmp_path)
    with store._writing() as database:
        database.execute("CREATE TABLE held (number INTEGER PRIMARY KEY, content BLOB)")
        database.executemany("INSERT INTO held VALUES (?, ?)", [(number, bytes(500)) for number in range(2000)])
    with store._writing() as database:
        database.execute("SAVEPOINT new")
        database.execute("UPDATE held SET content = x'01'")
        held = {os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()}
        database.execute("ROLLBACK TO new")
    assert str(tmp_path / NAME) in held
    assert not [name for name in held if "etilqs" in name]
    store.close()


class Copying(Files):
    """Copies the folder of a file whenever that is to be made durable: what a machine finds that lost power then, or before."""

    def __init__(self, folder) -> None:
        self.folder, self.copies = folder, []

    def sync(self, handle):
        copy = self.folder.with_name(f"copy{len(self.copies)}")
        shutil.copytree(self.folder, copy)
        self.copies.append(copy)
        super().sync(handle)


def test_a_loss_of_power_while_the_log_is_overwritten_damages_nothing(tmp_path, monkeypatch):
    """The first sync is that of the log's header alone: half a log behind a sound header would bring old pages back."""
    folder = tmp_path / "store"
    folder.mkdir()
    store, disk = filled(folder), Copying(folder)
    whole = log_of(folder)
    monkeypatch.setattr(private, "DISK", disk)
    store._empty_log()
    monkeypatch.undo()
    first, last = map(log_of, disk.copies)
    assert first == bytes(32) + whole[32:]
    assert last == bytes(len(whole))
    left = [first, first[:100_000], first[:100_000] + last[100_000:], first[:50_000] + last[50_000:100_000] + first[100_000:], last, b""]
    assert [numbers(disk.copies[0], log) for log in left] == [[7]] * len(left)
    assert numbers(disk.copies[1], whole[:100_000]) != [7], "what another order could leave"
    store.close()


def numbers(folder, log: bytes) -> list[int] | None:
    """The rows that a database has with this log; None if it is damaged."""
    (folder / f"{NAME}-wal").write_bytes(log)
    with closing(sqlite3.connect(folder / NAME)) as database:
        sound = database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [number for (number,) in database.execute("SELECT number FROM held")] if sound else None


def test_a_log_that_somebody_else_reads_is_left_for_later(tmp_path):
    store = filled(tmp_path, "busy_timeout = 1")
    size = len(log_of(tmp_path))
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM held").fetchone()
        store._empty_log()
        assert len(log_of(tmp_path)) == size
        assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store._empty_log()
    assert log_of(tmp_path) == b""
    store.close()
