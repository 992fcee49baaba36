"""What an aggregator keeps of its sum, on disk: durable before it is acknowledged, and gone once the sum is there.

One SQLite file in a folder of its own. Nothing in it is secret from the aggregator: masked vectors, sealed shares, public keys. Together
with what a party later loses it could still say something, so that with the end of the sum everything but the result is overwritten.

===========  ====================================================================================================
``sum``      one row: the agreement, the state, the engine as it was when the step began, and in the end the result
``message``  what parties sent in this step
``taken``    the digests of all that they sent: a party that repeats a message whose answer was lost gets the same answer
``due``      what goes to whom in this step
===========  ====================================================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deniable.collect.faults import fault_point
from deniable.collect.storage.files import DISK, hold
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.private import PrivateDatabase
from deniable.contract.journal import Schema
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

RUNNING, OPENED, ABORTED = "running", "opened", "aborted"
_TABLES = """
CREATE TABLE sum (agreement BLOB NOT NULL, state TEXT NOT NULL, engine BLOB, survivors INTEGER NOT NULL, result TEXT NOT NULL);
CREATE TABLE message (party INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE taken (kind INTEGER, party INTEGER, digest BLOB NOT NULL, PRIMARY KEY (kind, party)) WITHOUT ROWID;
CREATE TABLE due (party INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""
SCHEMA = Schema((_TABLES,))


class Kept(NamedTuple):
    """The row of a sum. ``survivors`` are those whose vectors are in it; ``result`` is the sum or the reason why there is none."""

    agreement: bytes
    state: str
    engine: bytes | None
    survivors: int
    result: str

    @property
    def total(self) -> Array:
        """The sum, if it was opened."""
        return np.array(json.loads(self.result), dtype=np.int64)


class SumStore(PrivateDatabase):
    """An aggregator's folder. Safe to share between threads; one process has it at a time. ``agreement`` makes a new one."""

    def __init__(self, folder: Path, agreement: bytes | None = None) -> None:
        path = folder / "sum.sqlite"
        if agreement is None and not path.exists():
            raise ParameterError("--folder", str(folder), allowed="an aggregator's folder", fix="run: deniable aggregate create")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = hold(DISK, folder / "lock")
        if agreement is not None and path.exists():
            DISK.close(handle)
            raise ParameterError("--folder", str(folder), allowed="a folder without a sum", fix="each sum has a folder of its own")
        super().__init__(path, handle)
        with self._writing() as database:
            known = SCHEMA.prepare(database, new=agreement is not None)
            if known and agreement is not None:
                database.execute("INSERT INTO sum VALUES (?, ?, NULL, 0, '')", (agreement, RUNNING))
        if not known:
            self.close()
            raise StorageError("schema", "another one", allowed=f"schema {SCHEMA.version}", fix="upgrade deniable, or create the sum again")
        DISK.sync_folder(folder)

    # --- what is there ---

    def kept(self) -> Kept:
        """The sum as it stands."""
        with self._reading() as database:
            return Kept(*database.execute("SELECT agreement, state, engine, survivors, result FROM sum").fetchone())

    def messages(self) -> dict[int, bytes]:
        """What parties sent in this step."""
        with self._reading() as database:
            return dict(database.execute("SELECT party, data FROM message").fetchall())

    def due(self) -> dict[int, bytes]:
        """The messages for each party; after the end, empty ones for those that still need to hear of it."""
        with self._reading() as database:
            return dict(database.execute("SELECT party, data FROM due").fetchall())

    def repeated(self, kind: int, party: int, data: bytes) -> bool:
        """Whether this very message was taken before."""
        with self._reading() as database:
            row = database.execute("SELECT digest FROM taken WHERE kind = ? AND party = ?", (kind, party)).fetchone()
            return row is not None and row[0] == hashlib.sha256(data).digest()

    def senders(self, kind: int) -> set[int]:
        """Who sent a message of a kind."""
        with self._reading() as database:
            return {party for (party,) in database.execute("SELECT party FROM taken WHERE kind = ?", (kind,))}

    # --- what happens ---

    def take(self, kind: int, party: int, data: bytes) -> None:
        """Keep a message: it is durable when this returns."""
        with self._writing() as database:
            database.execute("INSERT INTO message VALUES (?, ?)", (party, data))
            database.execute("INSERT INTO taken VALUES (?, ?, ?)", (kind, party, hashlib.sha256(data).digest()))
        fault_point("message kept")

    def advance(self, engine: bytes, due: Mapping[int, bytes], survivors: int) -> None:
        """Begin the next step, in one transaction: a crash leaves this step or the next."""
        with self._writing() as database:
            database.execute("UPDATE sum SET engine = ?, survivors = ?", (engine, survivors))
            database.execute("DELETE FROM message")
            database.execute("DELETE FROM due")
            database.executemany("INSERT INTO due VALUES (?, ?)", list(due.items()))
            fault_point("step ending")
        fault_point("step ended")

    def end(self, state: str, result: str, survivors: int, present: Iterable[int]) -> None:
        """End the sum: keep the result, the parties that still need to hear of it, and of the rest only that it existed."""
        with self._writing() as database:
            database.execute("UPDATE sum SET state = ?, engine = NULL, survivors = ?, result = ?", (state, survivors, result))
            database.execute("DELETE FROM message")
            database.execute("DELETE FROM due")
            began = {party for (party,) in database.execute("SELECT party FROM taken")}
            database.executemany("INSERT INTO due VALUES (?, x'')", [(party,) for party in began.intersection(present)])
        fault_point("sum ended")
        self._empty_log()
