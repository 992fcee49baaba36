"""The processes that open seals: they judge one by one, and one that is killed is replaced."""

from __future__ import annotations

import asyncio
import time

import pytest

from deniable.collect.shuffler.judge import Station, station_of
from deniable.collect.shuffler.openers import Openers
from deniable.collect.shuffler.worker import Worker, WorkerDiedError
from deniable.contract.notice import ANALYST, SHUFFLER
from deniable.contract.sealed import pack_seals, seal_id
from deniable.errors import WireError
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import open_outer, seal_report
from tests.collect.crowd import envelope
from tests.collect.mixing import shuffle_task


@pytest.fixture
def task():
    return shuffle_task(b"k" * 32)


@pytest.fixture
def worker(task):
    running = Worker([Station(task, 0)])
    yield running
    running.stop()


def test_what_is_opened_and_what_is_told(task, worker):
    pair, other = KeyPair.make(time.time()), KeyPair.make(time.time())
    analyst = KeyPair.make(time.time()).notice(ANALYST)
    good, strange = (seal_report(task, envelope(task, 1), analyst, [key.notice(SHUFFLER)]) for key in (pair, other))
    short, damaged = good[:-1], good[:-1] + bytes([good[-1] ^ 1])
    found, malformed, crowded = worker.ask([pack_seals([good, strange, short, damaged]), b"no seals", pack_seals([good] * 5)], [pair], 4)
    outer = open_outer(pair, good)
    (rows,) = found.rows.values()
    assert list(found.rows) == [(task.id, 0, outer.route)]
    assert [(row[0], row[3]) for row in rows] == [(seal_id(good), outer.next)]
    assert sorted(found.refused) == sorted(
        (task.id, seal_id(seal), code) for seal, code in ((strange, "unknown_key"), (short, "bad_seal"), (damaged, "bad_seal"))
    )
    assert isinstance(malformed, WireError)
    assert isinstance(crowded, WireError)  # five, where four are allowed


def test_a_process_that_is_killed_is_replaced(task, worker):
    pair = KeyPair.make(time.time())
    assert worker.ask([b""], [pair], 10)[0].seals == 0
    worker._process.kill()
    with pytest.raises(WorkerDiedError):
        worker.ask([b""], [pair], 10)
    assert worker.ask([b""], [pair], 10)[0].seals == 0


def test_who_waits_hears_that_keys_could_not_be_read_and_the_next_is_served(task):
    pair = KeyPair.make(time.time())
    answers = iter([OSError("the disk is gone"), [pair]])

    def pairs():
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    async def ask():
        openers = Openers([Station(task, 0)], pairs, workers=1, most=10)
        try:
            with pytest.raises(OSError, match="the disk is gone"):
                await asyncio.wait_for(openers.open(b""), 60)
            return await asyncio.wait_for(openers.open(b""), 60)
        finally:
            openers.stop()

    assert asyncio.run(ask()).seals == 0


def test_a_place_in_the_task(task):
    assert station_of(task, task.mixing.shufflers[0].key) == Station(task, 0)
    assert Station(task, 0).last
    assert Station(task, 0).closes(0) == task.period_span(0)[1] + task.late / 2
    with pytest.raises(WireError, match="keys show"):
        station_of(task, b"x" * 32)
