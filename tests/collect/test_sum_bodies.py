"""The bodies of parties' messages at an aggregator: one of each party in memory, and the newest is read."""

from __future__ import annotations

import asyncio

import pytest

from deniable.collect.kit.answers import Refusal
from deniable.collect.sums.bodies import PartyBodies

PART = bytes(1000)


def stalled():
    """A sender whose line goes dead after the first two parts."""
    parts = iter([PART, PART])

    async def receive():
        for part in parts:
            return {"type": "http.request", "body": part, "more_body": True}
        return await asyncio.Event().wait()

    return receive


def whole(body):
    async def receive():
        return {"type": "http.request", "body": body}

    return receive


async def taken(bodies, party, receive):
    async with bodies.newest(party, receive) as body:
        return body


def begin(bodies, party):
    return asyncio.create_task(taken(bodies, party, stalled()))


async def settle():
    for _ in range(3):
        await asyncio.sleep(0)


def test_many_messages_of_a_party_fill_the_memory_of_one():
    async def main():
        bodies = PartyBodies(1 << 20)
        other, *mine = begin(bodies, 1), *(begin(bodies, 0) for _ in range(20))
        await settle()
        assert bodies._held == 2 * 2 * len(PART)
        assert await taken(bodies, 0, whole(b"newest")) == b"newest"
        ended = await asyncio.gather(*mine, return_exceptions=True)
        assert {(error.status, error.code) for error in ended} == {(408, "superseded")}
        assert bodies._held == 2 * len(PART)  # the other party's
        assert not other.done()
        other.cancel()

    asyncio.run(main())


def test_nothing_is_read_while_a_message_is_being_stored():
    async def main():
        bodies = PartyBodies(1 << 20)
        async with bodies.newest(0, whole(b"first")):
            with pytest.raises(Refusal) as refused:
                await taken(bodies, 0, whole(b"second"))
            assert await taken(bodies, 1, whole(b"another party's")) == b"another party's"
        assert (refused.value.status, refused.value.retry) == (429, 1)
        assert await taken(bodies, 0, whole(b"second")) == b"second"

    asyncio.run(main())


def test_a_server_that_is_stopped_ends_reads_as_itself():
    async def main():
        bodies = PartyBodies(1 << 20)
        task = begin(bodies, 0)
        await settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await taken(bodies, 0, whole(b"again")) == b"again"

    asyncio.run(main())
