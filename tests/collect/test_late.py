"""Reports that come again when their period is over, and what may be asked about periods that are counted."""

from __future__ import annotations

import asyncio
import threading

from deniable.collect.web.ingest import MOST_SEALED
from tests.collect.asgi import PATIENCE, play
from tests.collect.crowd import HOUR, envelope


def test_what_is_over_and_not_counted_is_asked_for_again():
    """A resend of what was stored in time is a success; until the period is sealed nobody can tell, and "too late" would be final."""

    async def scenario(site):
        sent, late = envelope(site.task, 1), envelope(site.task, 2)
        assert (await site.hand_in(sent)).status == 201
        site.collector.now += HOUR + 600
        for one in (sent, late):
            answer = await site.hand_in(one)
            assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "counting", "1")
        other = envelope(site.task, 3, period=0)._replace(task=bytes(32))
        assert (await site.hand_in(other)).rejected == [(other.id, "unknown_task")]
        site.collector.seal(0)
        assert (await site.hand_in(sent)).status == 201
        assert (await site.hand_in(late)).rejected == [(late.id, "sealed")]
        site.collector.now += HOUR
        nobody = envelope(site.task, 4, period=1)
        assert (await site.hand_in(nobody)).rejected == [(nobody.id, "too_late")]  # there is nothing that could hold it

    play(scenario)


def test_a_request_names_only_so_many_sealed_periods():
    async def scenario(site):
        asked, known = [], site.collector.known
        site.collector.known = lambda again: asked.append(len({sent.period for sent in again})) or known(again)
        for period in range(MOST_SEALED + 1):
            site.collector.seal(period)
        many = [envelope(site.task, period, period=period) for period in range(MOST_SEALED + 1)]
        answer = await site.hand_in(*many)
        assert (answer.status, answer.code, asked) == (413, "too_large", [])
        assert len((await site.hand_in(*many[1:])).rejected) == MOST_SEALED
        assert (await site.hand_in(*(many[0]._replace(id=bytes([i]) * 16) for i in range(200)))).status == 200  # one period, many reports
        assert asked == [MOST_SEALED, 1]

    play(scenario)


def test_a_request_that_the_server_gives_up_is_told_to_come_again(caplog):
    async def scenario(site):
        sent = envelope(site.task, 1)
        assert (await site.hand_in(sent)).status == 201
        site.collector.seal(0)
        looking, free = threading.Event(), threading.Event()
        site.collector.known = lambda again: looking.set() or free.wait(PATIENCE) or frozenset()
        request = asyncio.ensure_future(site.hand_in(sent))
        assert await asyncio.to_thread(looking.wait, PATIENCE)
        request.cancel()
        answer = await request
        free.set()
        assert (answer.status, answer.code, answer.headers["connection"]) == (503, "stopping", "close")

    play(scenario)
    assert caplog.records == []
