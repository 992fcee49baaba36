"""News: what another collector of the same database has published or opened since this one last looked.

A refusal is final for a device: it has paid for the report, and will not send it again. So before a report is refused because its task or
its round is not known here, the database is asked once more. Those who wait share one look, and there are at most ten in a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from deniable.collect.kit.answers import Refusal

UNHEARD = frozenset({"unknown_task", "wrong_round"})
"""Codes that another collector may have made obsolete."""
LEAST_SECONDS = 0.1
MOST_WAITING = 64


class News:
    """Asks the database again, for many requests together. Lives in one event loop."""

    def __init__(self, refresh: Callable[[], None]) -> None:
        self._refresh = refresh
        self._next: asyncio.Task[None] | None = None
        self._last = -LEAST_SECONDS
        self._waiting = 0

    async def look(self) -> None:
        """Return when the database was asked after this call; Refusal if too many wait for that already."""
        if self._waiting >= MOST_WAITING:  # each keeps its body in memory
            raise Refusal(503, "busy", "too many requests at once", retry=1, close=True)
        if self._next is None:
            self._next = asyncio.create_task(self._look())
        self._waiting += 1
        try:
            await asyncio.shield(self._next)  # one request that is given up must not cancel the others
        finally:
            self._waiting -= 1

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._last + LEAST_SECONDS - loop.time()))
        self._next, self._last = None, loop.time()  # later requests need another look
        await asyncio.to_thread(self._refresh)
