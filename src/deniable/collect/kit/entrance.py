"""One way in for what devices send, open to everyone, as a bare ASGI application: alike at collectors and at shufflers.

Limits come first; then a body is opened and made durable, and only then answered. Nothing about the sender is looked at: of the headers
only length, type and encoding of the body. Any web page may send, so CORS allows every origin, here and nowhere else.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from prometheus_client import Counter
from starlette.types import Receive, Scope, Send

from deniable.collect.kit.answers import ANY_ORIGIN, DATA, RETRY_SHOWN, Failures, HTTPAnswer, Refusal, stopping
from deniable.collect.kit.committer import Committer
from deniable.collect.storage.log import StorageError

_CREATED = ((b"content-length", b"0"), ANY_ORIGIN, DATA)
PREFLIGHT = (
    ANY_ORIGIN,
    DATA,
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
)


STATUSES = (200, 201, 204, 400, 405, 408, 413, 415, 429, 500, 503, 507)
"""What a request to hand something in is answered."""


class Entrance(ABC):
    """Takes what is posted as long as there is room, and says what was not taken. ``requests`` counts answers by status."""

    what: ClassVar[str]
    """What is sent."""
    where: ClassVar[str]
    """Who takes it."""
    waits: ClassVar[str]
    """What is done to a body before it is answered."""

    def __init__(self, committer: Committer[Any, Any, Any], requests: Mapping[int, Counter], *, at_once: int) -> None:
        self._committer = committer
        self._requests = requests
        self._most_at_once = at_once
        self._at_once = 0
        self._stopping = False
        self._failures = Failures(self.where, self.failures())

    def failures(self) -> dict[type[BaseException], Callable[[Any], Refusal]]:
        """How errors of its own are told."""
        return {StorageError: lambda _: Refusal(507, "storage", f"the {self.what} could not be stored; send them again", retry=5)}

    @abstractmethod
    async def take(self, headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> list[tuple[bytes, str]] | None:
        """What was not taken, by id and code, once the rest is durable; None if the sender is gone. Refusal if nothing was."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "OPTIONS":
            await self._send_head(send, 204, PREFLIGHT)
            return
        self._at_once += 1
        try:
            if scope["method"] != "POST":
                raise Refusal(405, "method", f"send {self.what} by POST", allow=b"POST, OPTIONS")
            if self._stopping:
                raise stopping(self.where)
            if self._at_once > self._most_at_once:
                raise Refusal(503, "busy", "too many requests at once", retry=1, close=True)
            rejected = await self.take(scope["headers"], receive)
        except (Exception, asyncio.CancelledError) as error:
            await self._answer(self._failures.refusal(error).answer, send)
        else:
            if rejected:
                content = msgspec.json.encode({"rejected": [{"id": name.hex(), "code": code} for name, code in rejected]})
                await self._answer(HTTPAnswer(200, content), send)
            elif rejected is not None:
                await self._send_head(send, 201, _CREATED)
        finally:
            self._at_once -= 1

    async def stop(self) -> None:
        """Take nothing more, and return when everything that was taken is durable."""
        self._stopping = True
        await self._committer.drain()

    def no_room(self) -> Refusal:
        """The answer to whoever would have to wait for too many others."""
        if self._stopping:
            return stopping(self.where)
        return Refusal(429, "queue_full", f"too much is waiting to be {self.waits}", retry=1)

    async def _answer(self, answer: HTTPAnswer, send: Send) -> None:
        self._requests[answer.status].inc()
        shown = (RETRY_SHOWN,) if any(name == b"retry-after" for name, _ in answer.headers) else ()
        await answer._replace(headers=(ANY_ORIGIN, *answer.headers, *shown)).send(send)

    async def _send_head(self, send: Send, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """An answer that has nothing more to say."""
        self._requests[status].inc()
        whole = getattr(send, "whole", None)  # behind our own connections: see ``connection.Sender``
        if whole is not None and whole(status, headers):
            return
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
