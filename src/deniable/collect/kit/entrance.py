"""One way in for what devices send, open to everyone, as a bare ASGI application: alike at collectors and at shufflers.

Limits come first; then a body is opened and made durable, and only then answered. Nothing about the sender is looked at: of the headers
only length, type and encoding of the body. Any web page may send, so CORS allows every origin, here and nowhere else.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from prometheus_client import Counter
from starlette.types import Receive, Scope, Send

from deniable.collect.kit.answers import DATA, Refusal, stopping
from deniable.collect.kit.committer import Committer
from deniable.collect.storage.log import StorageError

ORIGIN = (b"access-control-allow-origin", b"*")
JSON = (b"content-type", b"application/json")
_CREATED = ((b"content-length", b"0"), ORIGIN, DATA)
PREFLIGHT = (
    ORIGIN,
    DATA,
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
)


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
                raise Refusal(405, "method", f"{self.what} are sent by POST")
            if self._stopping:
                raise stopping(self.where)
            if self._at_once > self._most_at_once:
                raise Refusal(503, "busy", "too many requests at once", retry=1, close=True)
            rejected = await self.take(scope["headers"], receive)
        except Refusal as refusal:
            await self.refuse(refusal, send)
        except asyncio.CancelledError:
            # By the server that is being stopped, and would log it: what is durable by now may safely come again.
            await self.refuse(stopping(self.where), send)
        except Exception as error:
            await self.refuse(self.failed(error), send)
        else:
            if rejected:
                content = msgspec.json.encode({"rejected": [{"id": name.hex(), "code": code} for name, code in rejected]})
                await self._answer(send, 200, content)
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
        return Refusal(429, "queue_full", f"too much waits to be {self.waits}", retry=1)

    def failed(self, error: Exception) -> Refusal:
        """The answer to a request that an error ended; the error itself if nobody thought of it."""
        if isinstance(error, StorageError):
            return Refusal(507, "storage", f"the {self.what} could not be stored; send them again", retry=5)
        raise error

    async def refuse(self, refusal: Refusal, send: Send) -> None:
        """Answer a request that is not served."""
        headers = []
        if refusal.retry is not None:
            headers += [(b"retry-after", b"%d" % refusal.retry), (b"access-control-expose-headers", b"retry-after")]
        if refusal.close:
            headers.append((b"connection", b"close"))
        if refusal.status == 405:
            headers.append((b"allow", refusal.allow))
        content = msgspec.json.encode({"error": {"code": refusal.code, "message": refusal.message}})
        await self._answer(send, refusal.status, content, *headers)

    async def _answer(self, send: Send, status: int, content: bytes, *headers: tuple[bytes, bytes]) -> None:
        self._requests[status].inc()
        always = ORIGIN, DATA, JSON, (b"content-length", b"%d" % len(content))
        await send({"type": "http.response.start", "status": status, "headers": (*always, *headers)})
        await send({"type": "http.response.body", "body": content})

    async def _send_head(self, send: Send, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """An answer that has nothing more to say."""
        self._requests[status].inc()
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
