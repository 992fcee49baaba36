"""A step of a journal: whole or not at all, alone, and on the disk when it ends."""

from __future__ import annotations

import os
import sqlite3
import threading
from fractions import Fraction

import pytest

from deniable.client.file_ledger import FileLedger
from deniable.collect.storage.private import PrivateDatabase
from deniable.contract.journal import step


def connection(path):
    return sqlite3.connect(path, isolation_level=None, timeout=10.0, check_same_thread=False)


@pytest.fixture
def path(tmp_path):
    with connection(tmp_path / "journal") as database:
        database.execute("CREATE TABLE spent (epsilon INTEGER)")
    return tmp_path / "journal"


def spend_and_fail(database, error):
    with step(database):
        database.execute("INSERT INTO spent VALUES (1)")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, sqlite3.IntegrityError])
def test_any_error_undoes_a_step_and_the_next_one_works(path, error):
    database = connection(path)
    with pytest.raises(error):
        spend_and_fail(database, error)
    with step(database):
        database.execute("INSERT INTO spent VALUES (2)")
    assert connection(path).execute("SELECT epsilon FROM spent").fetchall() == [(2,)]


def test_a_step_waits_for_another_before_it_looks(path):
    """Two that look first and write later would both see the last of a budget."""
    first, second, seen = connection(path), connection(path), []
    began = threading.Event()

    def other() -> None:
        began.set()
        with step(second):
            seen.append(second.execute("SELECT COUNT(*) FROM spent").fetchone()[0])

    thread = threading.Thread(target=other)
    with step(first):
        assert first.execute("SELECT COUNT(*) FROM spent").fetchone() == (0,)
        thread.start()
        began.wait()
        thread.join(0.3)
        assert seen == []
        first.execute("INSERT INTO spent VALUES (1)")
    thread.join()
    assert seen == [1]


def test_a_device_asks_the_disk_for_what_survives_a_loss_of_power(tmp_path):
    ledger = FileLedger(tmp_path / "ledger", lifetime_epsilon=Fraction(1))
    with ledger._step() as database:
        assert database.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_servers_ask_the_disk_for_what_survives_a_loss_of_power(tmp_path):
    database = PrivateDatabase(tmp_path / "database", os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR))
    assert database._database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    assert database._database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()
