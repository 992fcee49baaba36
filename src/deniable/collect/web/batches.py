"""POST /v1/tasks/{id}/batches: the only way in for shuffled batches, open to the holder of the key of the task's last shuffler.

The signature comes first in the message and is verified before the rest is read: nobody else can make a collector hold more than a few
kilobytes. One batch is opened at a time, and one more may wait; others have to try again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

import msgspec
from starlette.types import Receive, Scope, Send

from deniable.collect.batch_intake import BatchRefused, Received
from deniable.collect.collector import Collector
from deniable.collect.kit.answers import Failures, Headers, HTTPAnswer, Refusal, stopping, unknown_task
from deniable.collect.kit.limits import KNOWN_SECONDS
from deniable.collect.kit.log import note
from deniable.collect.kit.routes import HTTPRequest, Route, Routes
from deniable.collect.web.dispatch import ROWS
from deniable.collect.web.metrics import Metrics
from deniable.collect.web.news import News
from deniable.contract.batch import LARGEST_MANIFEST, MEDIA_TYPE, SIGNATURE_BYTES, Manifest, open_batch, open_manifest
from deniable.contract.task import Task
from deniable.errors import WireError

PATH = re.compile(r"/v1/tasks/(?P<task>[0-9a-f]{64})/batches")
LARGEST_BODY = 1 << 26
HEAD_BYTES = 4 + LARGEST_MANIFEST + SIGNATURE_BYTES
HEAD_SECONDS = 10.0
AT_ONCE = 2
"""The most batches in memory."""


class BatchIngest:
    """The ASGI application behind the path of batches; ``news`` is for a collector that shares its database with others."""

    def __init__(self, collector: Collector, metrics: Metrics, news: News | None = None) -> None:
        self._collector = collector
        self._metrics = metrics
        self._news = news
        self._held = 0
        self._stopping = False
        route = Route(PATH.pattern, {"POST": self._take}, "send batches by POST")
        self._routes = Routes([route], FAILURES, missing="no such address", observe=self._count)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a path that ``PATH`` matches."""
        await self._routes(scope, receive, send)

    def stop(self) -> None:
        """Take nothing more."""
        self._stopping = True

    async def _take(self, request: HTTPRequest) -> HTTPAnswer | None:
        """Return the outcome for the batch; None if the sender is gone."""
        if self._stopping:
            raise stopping("collector")
        _check_headers(request.headers)
        task = await self._task(bytes.fromhex(request.names["task"]))
        body = _Body(request.receive)
        if not await _in_time(body.read_head, HEAD_SECONDS):
            return None
        manifest, start = await asyncio.to_thread(open_manifest, bytes(body.data), _key(task))
        whole = _length(manifest, start, task)
        if self._held >= AT_ONCE:
            raise Refusal(503, "busy", "another batch is being opened", retry=2, close=True)
        self._held += 1
        try:
            if not await _in_time(lambda: body.read_all(whole), KNOWN_SECONDS):
                return None
            found = await asyncio.to_thread(self._receive, bytes(body.data), _key(task))
        finally:
            self._held -= 1
        self._metrics.batches[found.outcome].inc()
        # By its id: the sender deletes it then, and somebody else's page with status 200 must not be enough.
        return HTTPAnswer(201 if found.outcome == "taken" else 200, msgspec.json.encode({"batch": found.batch.hex()}))

    def _receive(self, data: bytes, key: bytes) -> Received:
        batch = open_batch(data, key)
        found = self._collector.receive(batch)
        for why, count in found.left_out.items():
            self._metrics.left_out[why].inc(count)
        note(f"{found.outcome} a batch", task=batch.manifest.task.hex()[:12], period=batch.manifest.period)
        return found

    async def _task(self, task: bytes) -> Task:
        if task not in self._collector.admission.tasks and self._news is not None:
            await self._news.look()
        if task not in self._collector.admission.tasks:
            raise unknown_task()
        return self._collector.admission.tasks[task].task

    def _count(self, refusal: Refusal) -> None:
        if refusal.code in self._metrics.batches:
            self._metrics.batches[refusal.code].inc()


class _Body:
    """A body that is read in two parts. Each returns False if the sender is gone."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._more = True
        self.data = bytearray()

    async def read_head(self) -> bool:
        while self._more and len(self.data) < HEAD_BYTES:
            if not await self._read():
                return False
        return True

    async def read_all(self, length: int) -> bool:
        while self._more and len(self.data) <= length:
            if not await self._read():
                return False
        if len(self.data) > length:
            raise Refusal(400, "malformed", "the body is longer than the manifest says", close=True)
        return True

    async def _read(self) -> bool:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            return False
        self.data += message.get("body", b"")
        self._more = message.get("more_body", False)
        return True


async def _in_time(read: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await read()
    except TimeoutError:
        raise Refusal(408, "too_slow", f"the body took more than {seconds:g} s", retry=1, close=True) from None


def _check_headers(listed: Headers) -> None:
    headers = dict(listed)
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != MEDIA_TYPE.encode() or b"content-encoding" in headers:
        raise Refusal(415, "wrong_type", f"send a body of type {MEDIA_TYPE}, without Content-Encoding", close=True)


def _key(task: Task) -> bytes:
    """Return the key of the last shuffler."""
    if task.mixing is None:
        raise BatchRefused("local_task")
    return task.mixing.shufflers[-1].key


def _length(manifest: Manifest, start: int, task: Task) -> int:
    """Return the length of a message; raise Refusal if it is for another task, or too long."""
    if manifest.task != task.id:
        raise Refusal(422, "wrong_task", "the manifest names another task")
    length = start + manifest.count * manifest.size
    if length > LARGEST_BODY:
        raise Refusal(413, "too_large", f"send at most {LARGEST_BODY} bytes in a batch; release smaller ones", close=True)
    return length


def _malformed(error: WireError) -> Refusal:
    forged = error.parameter == "signature"
    return Refusal(403 if forged else 400, "bad_signature" if forged else "malformed", str(error), close=True)


FAILURES = Failures("collector", ROWS | {BatchRefused: lambda error: Refusal(422, error.code, str(error)), WireError: _malformed})
