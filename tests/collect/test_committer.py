from __future__ import annotations

import asyncio
import threading

import pytest

from deniable.collect.kit.committer import Committer, QueueFullError
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.log import StorageError

PATIENCE = 300
"""Seconds until a test that hangs fails."""
TASK = bytes(32)


def address(question=0, period=0):
    return TASK, period, question, 0


class Disk:
    """Appends to memory; each append waits for its gate, and may fail."""

    def __init__(self):
        self.gate = threading.Event()
        self.started = threading.Event()
        self.appended = []
        self.failures = []
        self.sealed = frozenset()

    def append(self, rows):
        self.started.set()
        assert self.gate.wait(PATIENCE)
        if self.failures:
            raise self.failures.pop(0)
        self.appended.append({address: list(parts) for address, parts in rows.items()})
        return self.sealed

    async def begun(self):
        """Returns once an append is under way; it will not end before the gate is opened."""
        assert await asyncio.to_thread(self.started.wait, PATIENCE)
        self.started.clear()


def run(scenario, **options):
    """Play a scenario against a disk behind a committer."""

    async def play():
        disk = Disk()
        committer = Committer(disk.append, **options)
        try:
            async with asyncio.timeout(PATIENCE):
                await scenario(disk, committer)
        finally:
            disk.gate.set()
            await committer.drain()

    asyncio.run(play())


def commit(committer, name, *, question=0, size=1):
    async def request():
        return await committer.commit({address(question): [name]}, size)

    return asyncio.ensure_future(request())


def test_nothing_is_answered_before_it_is_durable():
    async def scenario(disk, committer):
        request = commit(committer, b"a")
        await disk.begun()
        assert not request.done()
        assert not disk.appended
        disk.gate.set()
        assert await request == frozenset()
        assert disk.appended == [{address(): [b"a"]}]

    run(scenario)


def test_what_arrives_during_an_append_shares_the_next_in_the_order_of_arrival():
    async def scenario(disk, committer):
        first = commit(committer, b"first")
        await disk.begun()
        names = [b"%d" % i for i in range(64)]
        others = [commit(committer, name, question=i % 2) for i, name in enumerate(names)]
        await asyncio.sleep(0)
        disk.gate.set()
        await asyncio.gather(first, *others)
        assert disk.appended == [{address(): [b"first"]}, {address(0): names[::2], address(1): names[1::2]}]

    run(scenario)


def test_what_arrives_in_one_turn_of_the_loop_shares_one_append():
    async def scenario(disk, committer):
        disk.gate.set()
        await asyncio.gather(*(commit(committer, b"%d" % i) for i in range(64)))
        assert len(disk.appended) == 1

    run(scenario)


def test_a_failure_meets_exactly_the_requests_of_its_append():
    async def scenario(disk, committer):
        disk.failures = [StorageError("disk", "full", allowed="some room", fix="make some")]
        failing = [commit(committer, b"a"), commit(committer, b"b")]
        await disk.begun()
        others = [commit(committer, b"c"), commit(committer, b"d")]
        await asyncio.sleep(0)
        disk.gate.set()
        outcomes = await asyncio.gather(*failing, *others, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StorageError, StorageError, frozenset, frozenset]
        assert disk.appended == [{address(): [b"c", b"d"]}]
        assert committer.waiting == 0

    run(scenario)


def test_an_error_that_nobody_thought_of_leaves_no_request_waiting():
    async def scenario(disk, committer):
        disk.failures = [ZeroDivisionError()]
        disk.gate.set()
        with pytest.raises(ZeroDivisionError):
            await commit(committer, b"a")
        assert await commit(committer, b"b") == frozenset()

    run(scenario)


def test_failing_and_recovering_are_logged_once_each(caplog):
    async def scenario(disk, committer):
        disk.failures = [StorageError("disk", "full", allowed="some room", fix="make some") for _ in range(5)]
        disk.gate.set()
        outcomes = [await asyncio.gather(commit(committer, b"a"), return_exceptions=True) for _ in range(8)]
        assert sum(isinstance(outcome, StorageError) for (outcome,) in outcomes) == 5

    with caplog.at_level("INFO", logger="deniable"):
        run(scenario)
    assert [record.message for record in caplog.records] == ["reports cannot be stored", "reports are stored again"]


def test_everyone_in_the_group_learns_what_was_sealed():
    async def scenario(disk, committer):
        disk.sealed = frozenset({Bucket(TASK, 0)})
        disk.gate.set()
        assert await asyncio.gather(commit(committer, b"a"), commit(committer, b"b", question=1)) == [disk.sealed] * 2

    run(scenario)


def test_beyond_its_bound_it_refuses_and_keeps_nothing_until_there_is_room():
    async def scenario(disk, committer):
        taken = [commit(committer, b"a", size=60), commit(committer, b"b", size=40)]
        await disk.begun()
        assert committer.full
        refused = commit(committer, b"c", size=1)
        with pytest.raises(QueueFullError):
            await refused
        assert committer.waiting == 100
        disk.gate.set()
        await asyncio.gather(*taken)
        assert not committer.full
        await commit(committer, b"d", size=1000)
        assert [parts for rows in disk.appended for parts in rows.values()] == [[b"a", b"b"], [b"d"]]

    run(scenario, most_waiting=100)


def test_a_request_that_is_given_up_does_not_take_the_others_along():
    async def scenario(disk, committer):
        given_up, other = commit(committer, b"a"), commit(committer, b"b")
        await disk.begun()
        given_up.cancel()
        await asyncio.sleep(0)
        assert not given_up.done()  # what was taken is written: it ends when that is over
        disk.gate.set()
        assert await other == frozenset()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert disk.appended == [{address(): [b"a", b"b"]}]

    run(scenario)


def test_draining_writes_what_is_under_way_and_what_waits_and_ends_the_thread():
    async def scenario(disk, committer):
        written = commit(committer, b"a")
        await disk.begun()
        waiting = commit(committer, b"b")
        await asyncio.sleep(0)
        draining = asyncio.ensure_future(committer.drain())
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError):
            await commit(committer, b"c")
        assert not draining.done()
        disk.gate.set()
        await draining
        assert await asyncio.gather(written, waiting) == [frozenset()] * 2
        assert disk.appended == [{address(): [b"a"]}, {address(): [b"b"]}]
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("committer")]
        await committer.drain()  # a second time does no harm

    run(scenario)


def test_each_append_is_observed():
    seen = []

    async def scenario(disk, committer):
        disk.failures = [StorageError("disk", "full", allowed="some room", fix="make some")]
        disk.gate.set()
        await asyncio.gather(commit(committer, b"a"), commit(committer, b"b"), return_exceptions=True)
        await commit(committer, b"c")

    run(scenario, observe=lambda rows, seconds, failed: seen.append((dict(rows), seconds >= 0, type(failed))))
    assert seen == [({address(): [b"a", b"b"]}, True, StorageError), ({address(): [b"c"]}, True, type(None))]
