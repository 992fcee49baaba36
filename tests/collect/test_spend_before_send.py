"""Spend, then send: whoever keeps what was spent keeps the bytes to send with it, wherever its process dies. One law for all three.

A device's ledger and a shuffler's store are journals (``contract.journal``); a party of a sum replaces a file whole. In a child process
each takes its step and dies before one of its calls to SQLite or to the system, before every one of them in turn.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from deniable.client import FileLedger
from deniable.collect.storage.shuffle_store import Group, ShuffleStore
from deniable.collect.sums.party_folder import RUNNING, PartyFolder, Standing
from deniable.shuffle.mixer import Held, Taken
from tests.client.fake import START, drink_task

TASK = drink_task()
MESSAGE = b"the very bytes to send"
CALLS = {"execute", "executemany", "fsync", "fdatasync", "replace", "rename", "open", "write", "pwrite", "unlink", "flush"}
STATUS = 9


class LedgerOfADevice:
    """It spends epsilon, and keeps the report."""

    def __init__(self, folder: Path) -> None:
        self.ledger = FileLedger(folder / "ledger", lifetime_epsilon=8.0)
        self.ledger.consent(TASK.id)

    def step(self) -> None:
        self.ledger.spend(TASK, period=0, epsilon=1.0, when=START, make=lambda _: MESSAGE)

    def kept(self) -> tuple[bool, list[bytes]]:
        return self.ledger.spent() > 0, [entry.report for entry in self.ledger.pending(TASK.id)]


class FolderOfAParty:
    """It gives its numbers away, and keeps the message."""

    sum = b"s" * 32
    begun = Standing("sum", RUNNING, 1.0, 1e-6, spent=False, engine="{}")

    def __init__(self, folder: Path) -> None:
        self.folder = PartyFolder(folder)
        if self.folder.standing(self.sum) is None:
            self.folder.keep(self.sum, self.begun)

    def step(self) -> None:
        self.folder.keep(self.sum, Standing("sum", RUNNING, 1.0, 1e-6, spent=True, engine="{}", outgoing=MESSAGE.hex()))

    def kept(self) -> tuple[bool, list[bytes]]:
        standing = self.folder.standing(self.sum)
        return standing.spent, [bytes.fromhex(standing.outgoing)] if standing.outgoing else []


class StoreOfAShuffler:
    """It takes a seal and its token for good, and keeps what is in it."""

    group = Group(TASK.id, 0, b"route")

    def __init__(self, folder: Path) -> None:
        self.path = folder / "own"
        with closing(ShuffleStore(self.path)) as store:
            store.add_task(TASK.id, b"text")

    def step(self) -> None:
        store = ShuffleStore(self.path)
        store.take({self.group: [Taken(b"i" * 16, Held(b"h" * 16, b"", MESSAGE), b"token")]}, {})
        store.close()

    def kept(self) -> tuple[bool, list[bytes]]:
        with closing(ShuffleStore(self.path)) as store:
            return bool(store.known(TASK.id, [b"i" * 16])), [item.seal for item in store.held(self.group)]


class Release(StoreOfAShuffler):
    """It lets what it holds go, and keeps the batch."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        super().step()

    def step(self) -> None:
        store = ShuffleStore(self.path)
        store.release(self.group, [item.digest for item in store.held(self.group)], [(b"b" * 16, 1, MESSAGE)])
        store.close()

    def kept(self) -> tuple[bool, list[bytes]]:
        with closing(ShuffleStore(self.path)) as store:
            return not store.held(self.group), [store.message(batch.id) for batch in store.batches()]


def die_before(call: int, step) -> bool:
    """Take a step in a child that dies before its n-th call; False if it took fewer."""
    child = os.fork()
    if not child:
        left = [call]

        def count(_frame, event, function) -> None:
            if event == "c_call" and function.__name__ in CALLS:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(STATUS)

        sys.setprofile(count)
        try:
            step()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, STATUS)
    return status == STATUS


@pytest.mark.parametrize("keeper", [LedgerOfADevice, FolderOfAParty, StoreOfAShuffler, Release])
def test_a_crash_leaves_the_expense_with_what_is_to_be_sent_or_neither(keeper, tmp_path):
    seen, call, died = set(), 0, True
    while died:
        (folder := tmp_path / str(call)).mkdir(mode=0o700)
        own = keeper(folder)
        assert own.kept() == (False, [])
        died = die_before(call, own.step)
        kept = own.kept()
        assert kept in ((False, []), (True, [MESSAGE])), call
        seen.add((died, kept[0]))
        call += 1
    assert call > 5
    assert seen >= {(True, False), (False, True)}


def test_the_law_finds_a_keeper_that_sends_first(tmp_path):
    """An evil twin: it writes the message down, and what was spent after it."""

    class Careless(FolderOfAParty):
        def step(self) -> None:
            self.folder.keep(self.sum, Standing("sum", RUNNING, 1.0, 1e-6, spent=False, engine="{}", outgoing=MESSAGE.hex()))
            super().step()

    with pytest.raises(AssertionError):
        test_a_crash_leaves_the_expense_with_what_is_to_be_sent_or_neither(Careless, tmp_path)
