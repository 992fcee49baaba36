"""The bodies of requests, read within limits of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.types import Receive

from deniable.collect.kit.answers import Refusal


class BodyReader:
    """Reads bodies of at most ``most`` bytes, and at most ``most_together`` bytes of all bodies that are not complete yet.

    A body that is not there after ``seconds`` is given up, after twice as long at the latest: one timer looks after all requests in two
    generations, since a timer for each would cost more than reading most bodies.
    """

    def __init__(self, *, most: int, most_together: int, seconds: float) -> None:
        self._most = most
        self._most_together = most_together
        self._seconds = seconds
        self._held = 0
        self._young: set[asyncio.Task[Any]] = set()
        self._old: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, receive: Receive) -> bytes | None:
        """The whole body; None if the sender is gone. Refusal if it is too large or too slow."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a body is read by a task")
        watched = self._young
        watched.add(task)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._grow_old)
        try:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body: bytes = message.get("body", b"")
            if message.get("more_body", False):
                return await self._read_on(body, receive)
        except asyncio.CancelledError:
            if task in watched:
                raise  # somebody else's wish
            task.uncancel()
            raise Refusal(408, "too_slow", f"the body took more than {self._seconds:g} s", retry=1, close=True) from None
        finally:
            watched.discard(task)
        if len(body) > self._most:
            raise self.too_large()
        return body

    async def _read_on(self, first: bytes, receive: Receive) -> bytes | None:
        chunks, size, more = [first], len(first), True
        self._held += size
        try:
            while more and size <= self._most:
                if self._held > self._most_together:
                    raise Refusal(429, "queue_full", "too much is being sent at once", retry=1, close=True)
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                chunks.append(message.get("body", b""))
                more = message.get("more_body", False)
                size += len(chunks[-1])
                self._held += len(chunks[-1])
        finally:
            self._held -= size
        if size > self._most:
            raise self.too_large()
        return b"".join(chunks)

    def check_length(self, declared: bytes) -> None:
        """Refusal if a Content-Length is no number or too large."""
        if not declared.isdigit():
            raise Refusal(400, "malformed", "Content-Length is not a number", close=True)
        if len(declared) > 18 or int(declared) > self._most:
            raise self.too_large()

    def check_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """The type of a body; Refusal if it is too long, or encoded."""
        kind = b""
        for name, value in headers:
            if name == b"content-type":
                kind = value.partition(b";")[0].strip().lower()
            elif name == b"content-length":
                self.check_length(value)
            elif name == b"content-encoding":
                raise Refusal(415, "encoded", "send the body without Content-Encoding", close=True)
        return kind

    def too_large(self) -> Refusal:
        """The answer to a body over the limit."""
        return Refusal(413, "too_large", f"send at most {self._most} bytes; make the batches smaller", close=True)

    def _grow_old(self) -> None:
        late = list(self._old)
        self._old.clear()  # before they wake up: requests outside their generation were given up

        for task in late:
            task.cancel()
        self._old, self._young = self._young, set()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._grow_old) if self._old else None
