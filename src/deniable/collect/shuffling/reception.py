"""POST /v1/seals: the one way in for seals, from devices and from shufflers before this one, as a bare ASGI application.

As with reports at a collector: limits first; then the body is opened elsewhere, made durable, and only then answered. Nothing about the
sender is looked at: of the headers only length, type and encoding of the body. Any web page may send seals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from starlette.types import Receive, Scope, Send

from deniable.collect.shuffling.figures import Figures
from deniable.collect.shuffling.judging import UNKNOWN_KEY, Address, Opened, Row
from deniable.collect.shuffling.opening import Openers
from deniable.collect.shuffling.worker import WorkerDiedError
from deniable.collect.storage.log import StorageError
from deniable.collect.web.body import BodyReader, Refusal
from deniable.collect.web.committer import Committer, QueueFullError
from deniable.collect.web.ingest import PREFLIGHT, Limits
from deniable.collect.web.journal import note_error
from deniable.collect.web.policy import DATA
from deniable.contract.sealed import MEDIA_TYPE
from deniable.errors import WireError

JSON = (b"content-type", b"application/json")
ORIGIN = (b"access-control-allow-origin", b"*")
_KIND = MEDIA_TYPE.encode()
Known = Callable[[bytes, Sequence[bytes]], set[bytes]]
"""The ids of seals among these that were taken for a task."""


class Reception:
    """The ASGI application behind POST /v1/seals."""

    def __init__(
        self,
        openers: Openers,
        committer: Committer[Address, Row, tuple[bytes, str]],
        known: Known,
        *,
        limits: Limits,
        figures: Figures,
    ) -> None:
        self._openers = openers
        self._committer = committer
        self._known = known
        self._limits = limits
        self._figures = figures
        self._bodies = BodyReader(most=limits.max_body, most_together=limits.most_waiting, seconds=limits.body_seconds)
        self._at_once = 0
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "OPTIONS":
            await self._send(send, 204, b"", PREFLIGHT)
            return
        self._at_once += 1
        try:
            if scope["method"] != "POST":
                raise Refusal(405, "method", "seals are sent by POST")
            rejected = await self._take(scope["headers"], receive)
        except Refusal as refusal:
            await self.refuse(refusal, send)
        except asyncio.CancelledError:  # by the server that is being stopped; what is durable by now may safely come again
            await self.refuse(_stopping(), send)
        except StorageError:
            await self.refuse(Refusal(507, "storage", "the seals could not be stored; send them again", retry=5), send)
        except WorkerDiedError:
            await self.refuse(Refusal(503, "interrupted", "the seals could not be opened; send them again", retry=1), send)
        except Exception as error:  # a bug: logged without what was sent
            note_error("a request failed", error)
            await self.refuse(Refusal(500, "bug", "this is a bug in the shuffler; its log says where", retry=5), send)
        else:
            if rejected:
                content = {"rejected": [{"id": seal.hex(), "code": code} for seal, code in rejected]}
                await self._send(send, 200, msgspec.json.encode(content), (ORIGIN, DATA, JSON))
            elif rejected is not None:
                await self._send(send, 201, b"", (ORIGIN, DATA))
        finally:
            self._at_once -= 1

    async def stop(self) -> None:
        """Take nothing more, and return when everything that was taken is durable."""
        self._stopping = True
        await self._committer.drain()

    async def _take(self, headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> list[tuple[bytes, str]] | None:
        """What was not taken, by id and code; None if the sender is gone."""
        if self._stopping:
            raise _stopping()
        if self._at_once > self._limits.requests_at_once:
            raise Refusal(503, "busy", "too many requests at once", retry=1, close=True)
        if self._bodies.check_headers(headers) != _KIND:
            raise Refusal(415, "wrong_type", f"a body is of type {MEDIA_TYPE}", close=True)
        body = await self._bodies.read(receive)
        if body is None:
            return None
        if self._committer.full or self._openers.waiting > self._limits.most_waiting:
            raise self._no_room()
        try:
            opened = await self._openers.open(body)
        except WireError as error:
            raise Refusal(400, "malformed", str(error)) from error
        if not opened.seals:
            raise Refusal(400, "malformed", "a body has at least one seal")
        try:
            told = await self._committer.commit(opened.rows, len(body)) if opened.rows else frozenset[tuple[bytes, str]]()
        except QueueFullError as error:
            raise self._no_room() from error
        return await self._sort_out(opened, dict(told))

    async def _sort_out(self, opened: Opened, told: dict[bytes, str]) -> list[tuple[bytes, str]]:
        """What was not taken: what could not be opened, unless it was taken while its key was there, and what the store refused."""
        refused = opened.refused
        late = [(task, seal) for task, seal, code in refused if code == UNKNOWN_KEY]
        if late:
            known = await asyncio.to_thread(self._look_up, late)
            refused = [item for item in refused if item[1] not in known]
        rejected = [(seal, code) for _, seal, code in refused]
        if told:  # about all requests of one append
            rejected += [(row[0], told[row[0]]) for rows in opened.rows.values() for row in rows if row[0] in told]
        self._figures.seals["accepted"].inc(opened.seals - len(rejected))
        for _, code in rejected:
            self._figures.seals[code].inc()
        return rejected

    def _look_up(self, late: list[tuple[bytes, bytes]]) -> set[bytes]:
        return {seal for task in {task for task, _ in late} for seal in self._known(task, [seal for own, seal in late if own == task])}

    def _no_room(self) -> Refusal:
        return _stopping() if self._stopping else Refusal(429, "queue_full", "too much waits to be opened or stored", retry=1)

    async def refuse(self, refusal: Refusal, send: Send) -> None:
        """Answer a request that is not served."""
        headers = [ORIGIN, DATA, JSON]
        if refusal.retry is not None:
            headers += [(b"retry-after", b"%d" % refusal.retry), (b"access-control-expose-headers", b"retry-after")]
        if refusal.close:
            headers.append((b"connection", b"close"))
        if refusal.status == 405:
            headers.append((b"allow", b"POST, OPTIONS"))
        content = msgspec.json.encode({"error": {"code": refusal.code, "message": refusal.message}})
        await self._send(send, refusal.status, content, headers)

    async def _send(self, send: Send, status: int, content: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._figures.requests[status].inc()
        length = () if status == 204 else ((b"content-length", b"%d" % len(content)),)
        await send({"type": "http.response.start", "status": status, "headers": (*headers, *length)})
        await send({"type": "http.response.body", "body": content})


def _stopping() -> Refusal:
    return Refusal(503, "stopping", "the shuffler is being stopped", retry=5, close=True)
