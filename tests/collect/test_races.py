"""What the threads of a collector, and collectors of one database, must not do to each other."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

import deniable as dn
from deniable.collect.collector import Collector
from deniable.collect.kit.answers import Refusal
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.store import Store
from deniable.collect.web.news import MOST_WAITING, News
from deniable.contract.spec import MECHANISMS
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task

PATIENCE = 300


@pytest.fixture
def collector(tmp_path, clock, monkeypatch):
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
    store = Store.open(tmp_path / "store")
    yield Collector(store, clock=clock)
    store.close()


def search_task(collector):
    search = dn.PEM(bits=8, k=3, epsilon=3.0, groups=2, people=400)
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0), end=NOON + HOUR)
    return replace(base, name="search", protocol=search.canonical, rounds=True, period=0, answers=1)


def test_who_began_to_read_earlier_does_not_have_the_last_word(collector, monkeypatch):
    """A refresh that has read the tasks and not yet told anyone, while another thread publishes one."""
    reading, published = threading.Event(), threading.Event()
    unfinished = collector.store.unfinished

    def slow():
        if threading.current_thread().name == "slow":
            reading.set()
            published.wait(1)  # it cannot come: publishing waits for this thread
        return unfinished()

    monkeypatch.setattr(collector.store, "unfinished", slow)
    thread = threading.Thread(target=collector.refresh, name="slow")
    thread.start()
    assert reading.wait(PATIENCE)
    task = survey_task(collector.registry.key)
    collector.publish(task)
    published.set()
    thread.join()
    assert send(collector, envelope(task, 1)) == {}


def test_a_round_that_someone_else_closes_is_not_closed_twice(collector, monkeypatch):
    """An admin closes it between the moment when the tending looks at it and the one when it acts."""
    task = search_task(collector)
    collector.publish(task)
    collector.seal(task.id, 0)  # as by a collector that stopped here: so the tending will go on
    close = collector.close_round

    def meanwhile(live):
        monkeypatch.undo()
        assert collector.advance(task.id)
        return close(live)

    monkeypatch.setattr(collector, "close_round", meanwhile)
    collector.tend()
    assert collector.task(task.id).round == 1
    assert 1 not in collector.task(task.id).sealed


def test_a_round_is_opened_by_a_process_that_has_signed_nothing_before(tmp_path):
    """Its key is not read while the transaction that needs it is open: it would wait for itself."""
    for step in range(2):
        store = Store.open(tmp_path / "store")
        try:
            collector = Collector(store, clock=lambda: NOON)
            task = search_task(collector)
            if step == 0:
                collector.publish(task)
            else:
                assert collector.advance(task.id, force=True)
        finally:
            store.close()


def test_one_damaged_period_does_not_keep_the_others_from_being_counted(collector, clock, tmp_path):
    task = survey_task(collector.registry.key)
    collector.publish(task)
    for period in range(3):
        clock.now = NOON + period * HOUR
        assert send(collector, *(envelope(task, value, period=period) for value in range(9))) == {}
    path = tmp_path / "store" / "reports" / "open" / task.id.hex() / "1-0-0.log"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    clock.now = NOON + 24 * HOUR
    said = []
    with pytest.raises(StorageError, match=r"1-0-0\.log at byte"):
        collector.tend(said.append)
    assert said == [f"sealed {Bucket(task.id, period)}" for period in (0, 2)]  # told, although it failed
    assert [stored.state for stored in collector.store.buckets(task.id)] == ["sealed", "open", "sealed"]
    assert "1-0-0.log" in collector.ready()


def test_reports_that_cannot_be_dropped_are_not_added_to(collector):
    """The seal is committed, and the disk fails right after: what comes next is refused, not taken for a bucket that was counted."""
    task = survey_task(collector.registry.key)
    collector.publish(task)
    first = envelope(task, 1)
    assert send(collector, first) == {}

    def fail(_):
        raise StorageError("disk", "broken", allowed="a disk", fix="replace it")

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(collector.store.log, "drop_open", fail)
        with pytest.raises(StorageError):
            collector.seal(task.id, 0)
    assert list(send(collector, envelope(task, 2)).values()) == ["sealed"]
    assert send(collector, first) == {}  # a resend
    collector.seal(task.id, 0)
    assert collector.tallies(task.id)[0, 0, 0].n == 1


# --- news ---


def test_requests_share_a_look_and_each_look_begins_after_its_requests():
    looks = []

    async def ask():
        news = News(lambda: looks.append(len(looks)))
        for _ in range(3):
            await asyncio.gather(*(news.look() for _ in range(MOST_WAITING)))

    asyncio.run(ask())
    assert looks == [0, 1, 2]


def test_who_comes_while_it_is_read_waits_for_the_next_look():
    """The reading may have passed over what this one asks for."""
    started, go_on, looks = threading.Event(), threading.Event(), []

    def refresh():
        looks.append(1)
        started.set()
        assert go_on.wait(PATIENCE)

    async def ask():
        news = News(refresh)
        first = asyncio.create_task(news.look())
        await asyncio.to_thread(started.wait, PATIENCE)
        second = asyncio.create_task(news.look())
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(first, second)

    asyncio.run(ask())
    assert len(looks) == 2


def test_not_too_many_wait_for_news_and_a_database_that_is_gone_is_told():
    def refresh():
        raise StorageError("database", "gone", allowed="one that answers", fix="wait")

    async def ask():
        news = News(refresh)
        return await asyncio.gather(*(news.look() for _ in range(MOST_WAITING + 1)), return_exceptions=True)

    found = asyncio.run(ask())
    assert [type(error) for error in found] == [StorageError] * MOST_WAITING + [Refusal]
    assert found[-1].status == 503
