"""POST /v1/reports: the one way in for reports, open to everyone, as a bare ASGI application.

Limits come first; then the batch is opened, judged and made durable, and only then answered. Nothing about the sender is looked at: of the
headers only length, type and encoding of the body. Any web page may send reports, so CORS allows every origin, here and nowhere else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, fields
from math import ceil
from typing import Protocol

import msgspec
from starlette.types import Receive, Scope, Send

from deniable.collect.admission import Address, Rows
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.web.body import JSON, BodyReader, Refusal, open_json
from deniable.collect.web.committer import MOST_WAITING, Committer, QueueFullError
from deniable.collect.web.metrics import Metrics
from deniable.collect.web.news import UNHEARD, News
from deniable.collect.web.policy import DATA
from deniable.collect.web.rate import Rate
from deniable.contract.envelope import MEDIA_TYPE, Envelope, open_batch
from deniable.errors import ParameterError, WireError

_BINARY = MEDIA_TYPE.encode()
_OPENERS = {_BINARY: open_batch, JSON.encode(): open_json}
LOOKUPS_AT_ONCE = 8
"""How many requests may look at one time for what sealed periods hold: anyone can ask for that, and it takes a thread."""
MOST_SEALED = 64
"""In how many sealed periods a request may have reports: each is another file, or another search in the database."""
_OVER = frozenset({"too_late", "closed"})
"""Codes of reports that may be there already: only a sealed period is searched for them, and so it is waited for."""
_ORIGIN = (b"access-control-allow-origin", b"*")
_CREATED = ((b"content-length", b"0"), _ORIGIN, DATA)
PREFLIGHT = (
    _ORIGIN,
    DATA,
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"86400"),
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a collector puts up with. ``reports_per_second`` counts all senders together; 0 is no limit."""

    max_body: int = 1 << 20
    max_reports: int = 10_000
    most_waiting: int = MOST_WAITING
    requests_at_once: int = 4_096
    connections: int = 8_192
    body_seconds: float = 10.0
    reports_per_second: int = 0

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value < 0 or (value == 0 and limit.name != "reports_per_second"):
                raise ParameterError(limit.name, value, allowed="a number above 0", fix=f"the default is {limit.default}")


class Gate(Protocol):
    """What ingest asks of a collector."""

    def admit(self, envelopes: Sequence[Envelope]) -> tuple[Rows, list[tuple[int, str]]]:
        """What may be stored now, and the position and code of what may not."""

    def known(self, envelopes: Sequence[Envelope]) -> Set[bytes]:
        """The ids among these that a sealed bucket holds."""

    def uncounted(self, envelopes: Sequence[Envelope]) -> bool:
        """Whether one of these is for a bucket that takes no more and is not sealed yet."""


class Ingest:
    """The ASGI application behind POST /v1/reports. The committer must append to the store of the same collector.

    ``news`` is for a collector that shares its database with others.
    """

    def __init__(
        self,
        collector: Gate,
        committer: Committer[Address, bytes, Bucket],
        *,
        limits: Limits | None = None,
        metrics: Metrics | None = None,
        news: News | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits = limits or Limits()
        self.metrics = metrics or Metrics()
        self.metrics.waiting.set_function(lambda: committer.waiting)
        self._collector = collector
        self._committer = committer
        self._news = news
        self._sealed_codes = {"sealed"} | (_OVER if news else set())  # another collector may have begun and counted what is over
        self._bodies = BodyReader(most=limits.max_body, most_together=limits.most_waiting, seconds=limits.body_seconds)
        self._rate = Rate(limits.reports_per_second, clock) if limits.reports_per_second else None
        self._at_once = 0
        self._lookups = 0
        self._stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":
            await self._answer_other(scope["method"], send)
            return
        self._at_once += 1
        try:
            rejected = await self._take(scope["headers"], receive)
        except Refusal as refusal:
            await self._refuse(refusal, send)
        except asyncio.CancelledError:
            # By the server that is being stopped, and would log it: what is durable by now may safely come again.
            await self._refuse(stopping(), send)
        except StorageError:
            await self._refuse(Refusal(507, "storage", "the reports could not be stored; send them again", retry=5), send)
        else:
            if rejected:
                content = msgspec.json.encode({"rejected": [{"id": report.hex(), "code": code} for report, code in rejected]})
                await self._answer(send, 200, content)
            elif rejected is not None:
                self.metrics.requests[201].inc()
                await send({"type": "http.response.start", "status": 201, "headers": _CREATED})
                await send({"type": "http.response.body"})
        finally:
            self._at_once -= 1

    async def stop(self) -> None:
        """Take nothing more, and return when everything that was taken is durable."""
        self._stopping = True
        await self._committer.drain()

    async def _take(self, headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> list[tuple[bytes, str]] | None:
        """What was not counted, by id and code; None if the sender is gone."""
        if self._stopping:
            raise stopping()
        if self._at_once > self.limits.requests_at_once:
            raise Refusal(503, "busy", "too many requests at once", retry=1, close=True)
        opener = self._check_headers(headers)
        body = await self._bodies.read(receive)
        if body is None:
            return None
        if self._committer.full:
            raise self._no_room()
        try:
            envelopes = opener(body)
        except WireError as error:
            raise Refusal(400, "malformed", str(error)) from error
        if not envelopes:
            raise Refusal(400, "malformed", "a batch has at least one report")
        if len(envelopes) > self.limits.max_reports:
            raise Refusal(413, "too_large", f"a batch has at most {self.limits.max_reports} reports; send smaller ones")
        if self._rate is not None and (wait := self._rate.take(len(envelopes))):
            raise Refusal(429, "rate", "too many reports per second", retry=ceil(wait))
        rows, rejected = await self._admit(envelopes)
        if rejected and self._news is not None and not UNHEARD.isdisjoint(code for _, code in rejected):
            await self._news.look()
            rows, rejected = await self._admit(envelopes)
        if len({envelopes[position][:2] for position, code in rejected if code in self._sealed_codes}) > MOST_SEALED:
            raise Refusal(413, "too_large", f"a batch has reports of at most {MOST_SEALED} periods that are counted; send smaller ones")
        count = len(envelopes)
        del envelopes  # they need several times the memory of body and rows, and a request may wait
        try:
            sealed = await self._committer.commit(rows, len(body)) if rows else frozenset[Bucket]()
        except QueueFullError as error:  # it had room before this request waited for something else
            raise self._no_room() from error
        if rejected or sealed:
            return await self._sort_out(opener(body), dict(rejected), sealed)
        self.metrics.reports["accepted"].inc(count)
        return []

    async def _admit(self, envelopes: list[Envelope]) -> tuple[Rows, list[tuple[int, str]]]:
        if any(envelope.token for envelope in envelopes):  # signatures take their time, and others should not wait for them
            return await asyncio.to_thread(self._collector.admit, envelopes)
        return self._collector.admit(envelopes)

    async def _sort_out(self, envelopes: list[Envelope], codes: dict[int, str], sealed: Set[Bucket]) -> list[tuple[bytes, str]]:
        """What was not counted. A resend of what a sealed bucket holds is a success: it was counted when it came first."""
        for position, envelope in enumerate(envelopes):
            if position not in codes and (envelope.task, envelope.period) in sealed:
                codes[position] = "sealed"
        if self._collector.uncounted([envelopes[position] for position, code in codes.items() if code in _OVER]):
            raise Refusal(503, "counting", "a period is over and about to be counted; then it can be told what it holds", retry=1)
        late = [envelopes[position] for position, code in codes.items() if code in self._sealed_codes]
        known = await self._look_up(late) if late else frozenset[bytes]()
        rejected = [
            (envelopes[position].id, codes[position])
            for position in sorted(codes)
            if codes[position] not in self._sealed_codes or envelopes[position].id not in known
        ]
        reports = self.metrics.reports
        reports["accepted"].inc(len(envelopes) - len(codes))
        reports["repeated"].inc(len(codes) - len(rejected))
        for _, code in rejected:
            reports[code].inc()
        return rejected

    async def _look_up(self, late: list[Envelope]) -> Set[bytes]:
        """The ids among these that sealed buckets hold; Refusal if too many ask. What was stored by then may safely come again."""
        if self._lookups >= LOOKUPS_AT_ONCE:
            raise Refusal(503, "busy", "too many requests for what is sealed", retry=1)
        self._lookups += 1
        try:
            return await asyncio.to_thread(self._collector.known, late)
        finally:
            self._lookups -= 1

    def _no_room(self) -> Refusal:
        return stopping() if self._stopping else Refusal(429, "queue_full", "too much waits to be stored", retry=1)

    def _check_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> Callable[[bytes], list[Envelope]]:
        """What opens a body of this type; Refusal if it must not even be read."""
        kind = b""
        for name, value in headers:
            if name == b"content-type":
                kind = value
            elif name == b"content-length":
                self._bodies.check_length(value)
            elif name == b"content-encoding":
                raise Refusal(415, "encoded", "a body is sent as it is, without Content-Encoding", close=True)
        if kind == _BINARY:
            return open_batch
        opener = _OPENERS.get(kind.partition(b";")[0].strip().lower())
        if opener is None:
            raise Refusal(415, "wrong_type", f"a body is of type {MEDIA_TYPE} or {JSON}", close=True)
        return opener

    async def _refuse(self, refusal: Refusal, send: Send) -> None:
        content = msgspec.json.encode({"error": {"code": refusal.code, "message": refusal.message}})
        headers = [] if refusal.retry is None else [(b"retry-after", b"%d" % refusal.retry)]
        if refusal.retry is not None:
            headers.append((b"access-control-expose-headers", b"retry-after"))
        if refusal.close:
            headers.append((b"connection", b"close"))
        await self._answer(send, refusal.status, content, *headers)

    async def _answer(self, send: Send, status: int, content: bytes, *headers: tuple[bytes, bytes]) -> None:
        self.metrics.requests[status].inc()
        always = _ORIGIN, DATA, (b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))
        await send({"type": "http.response.start", "status": status, "headers": (*always, *headers)})
        await send({"type": "http.response.body", "body": content})

    async def _answer_other(self, method: str, send: Send) -> None:
        if method == "OPTIONS":
            self.metrics.requests[204].inc()
            await send({"type": "http.response.start", "status": 204, "headers": PREFLIGHT})
            await send({"type": "http.response.body"})
            return
        content = msgspec.json.encode({"error": {"code": "method", "message": "reports are sent by POST"}})
        await self._answer(send, 405, content, (b"allow", b"POST, OPTIONS"))


def stopping() -> Refusal:
    """The answer to whoever comes too late, or would have to be waited for."""
    return Refusal(503, "stopping", "the collector is being stopped", retry=5, close=True)
