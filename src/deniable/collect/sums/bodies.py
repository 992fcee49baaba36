"""The bodies of parties' messages: one of each party at a time, and the newest wins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import Receive

from deniable.collect.kit.answers import Refusal
from deniable.collect.kit.bodies import BodyReader
from deniable.collect.kit.limits import KNOWN_SECONDS


class PartyBodies(BodyReader):
    """Reads messages of at most ``most`` bytes. A party fills the memory of one message, however many it begins."""

    def __init__(self, most: int) -> None:
        super().__init__(most=most, most_together=max(64 * most, 1 << 26), seconds=KNOWN_SECONDS)
        self._reading: dict[int, asyncio.Task[Any]] = {}
        self._holding: set[int] = set()

    @asynccontextmanager
    async def newest(self, party: int, receive: Receive) -> AsyncIterator[bytes]:
        """Yield the body of a party's request. It ends the read of an older one, whose line may be dead.

        Refusal if a newer request has come, if the sender is gone, or while an older body is still held.
        """
        if party in self._holding:
            raise Refusal(429, "queue_full", "a message of this party is being stored; send it again", retry=1, close=True)
        body = await self._read_newest(party, receive)
        if body is None:
            raise Refusal(400, "malformed", "the sender is gone", close=True)
        self._holding.add(party)
        try:
            yield body
        finally:
            self._holding.discard(party)

    async def _read_newest(self, party: int, receive: Receive) -> bytes | None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a body is read by a task")
        older, self._reading[party] = self._reading.get(party), task
        if older is not None:
            older.cancel()
        try:
            return await self.read(receive)
        except asyncio.CancelledError:
            if self._reading.get(party) is task:
                raise  # the server is being stopped
            task.uncancel()
            raise Refusal(408, "superseded", "a newer request of this party has come", retry=1, close=True) from None
        finally:
            if self._reading.get(party) is task:
                del self._reading[party]
