"""Two collectors of one PostgreSQL: what one has acknowledged is a success at the other, whatever that one has seen of it."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable.collect.collector import Collector
from deniable.collect.kit.committer import Committer
from deniable.collect.storage.store import Store
from deniable.collect.web.ingest import Ingest
from deniable.collect.web.news import News
from deniable.contract.envelope import MEDIA_TYPE
from tests.collect.asgi import pieces
from tests.collect.crowd import HOUR, envelope, survey_task
from tests.collect.test_rounds import answers, search_task


@pytest.fixture
def two(identity, postgres_address, clock):
    stores = [Store.open(postgres_address) for _ in range(2)]
    yield [Collector(store, clock=clock) for store in stores]
    for store in stores:
        store.close()


def hand_in(collector, *envelopes):
    """The answer's status, and the codes of what was refused."""

    async def request():
        ingest = Ingest(collector, Committer(collector.append), news=News(collector.refresh))
        body, told = b"".join(sent.pack() for sent in envelopes), []

        async def send(message):
            told.append(message)

        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", b"%d" % len(body))]
        await ingest({"type": "http", "method": "POST", "path": "/v1/reports", "headers": headers}, pieces([body]), send)
        await ingest.stop()
        status, content = told[0]["status"], told[1].get("body")
        return status, [one["code"] for one in json.loads(content)["rejected"]] if status == 200 else []

    return asyncio.run(request())


def test_a_task_that_the_other_closes_before_this_one_looks_again(two):
    first, second = two
    task = survey_task(first.registry.key)
    first.publish(task)
    second.refresh()
    sent = envelope(task, 1)
    assert hand_in(second, sent) == (201, [])
    first.close_task(task.id)
    second.tend()
    assert hand_in(second, sent) == hand_in(first, sent) == (201, [])
    assert hand_in(second, envelope(task, 2)) == (200, ["sealed"])


def test_a_period_that_the_other_began_and_counted_between_two_looks(two, clock):
    first, second = two
    task = survey_task(first.registry.key)
    first.publish(task)
    second.refresh()
    sent = envelope(task, 1)
    assert hand_in(first, sent) == (201, [])
    clock.now += HOUR + 600
    first.tend()
    second.tend()
    assert hand_in(second, sent) == (201, [])
    clock.now += HOUR
    assert hand_in(second, envelope(task, 3, period=1)) == (200, ["too_late"])  # nobody ever began it


def test_a_round_that_the_other_closed_between_two_looks(two):
    first, second = two
    task = search_task(first)
    second.refresh()
    sent = answers(first, task, 5)
    assert hand_in(first, *sent) == (201, [])
    assert first.advance(task.id)
    second.tend()
    assert hand_in(second, *sent) == (201, [])
    assert hand_in(second, sent[0]._replace(id=bytes(16))) == (200, ["sealed"])


def test_more_seals_at_once_than_there_are_connections(two):
    first, _ = two
    task = survey_task(first.registry.key)
    first.publish(task)
    sent = envelope(task, 1)
    assert hand_in(first, sent) == (201, [])
    with ThreadPoolExecutor(24) as pool:  # a pool of connections that has none for half a minute raises an error
        list(pool.map(lambda _: first.seal(task.id, 0), range(24)))
    assert hand_in(first, sent) == (201, [])
