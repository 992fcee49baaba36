"""POST /v1/reports: the only way in for single reports. A batch is parsed, checked and made durable, and only then answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence, Set
from math import ceil
from typing import Protocol

from starlette.types import Receive

from deniable.collect.admission import Address, Rows
from deniable.collect.kit.answers import JSON, Refusal
from deniable.collect.kit.bodies import BodyReader
from deniable.collect.kit.committer import Committer, QueueFullError
from deniable.collect.kit.entrance import Entrance
from deniable.collect.kit.limits import Limits, Rate
from deniable.collect.storage.block import Bucket
from deniable.collect.web.metrics import Metrics
from deniable.collect.web.news import UNHEARD, News
from deniable.collect.web.shapes import open_json
from deniable.contract.envelope import MEDIA_TYPE, Envelope, open_batch
from deniable.errors import WireError

_OPENERS = {MEDIA_TYPE.encode(): open_batch, JSON.encode(): open_json}
LOOKUPS_AT_ONCE = 8
"""The most requests at once that search closed periods: anyone can cause that, and it takes a thread."""
MOST_SEALED = 64
"""The most closed periods with reports in one request: each is another file, or another query."""
_OVER = frozenset({"too_late", "closed"})
"""Codes of reports that may be stored already: only closed periods are searched for them, so the request waits for the closing."""


class Gate(Protocol):
    """What ingest asks of a collector."""

    def admit(self, envelopes: Sequence[Envelope]) -> tuple[Rows, list[tuple[int, str]]]:
        """Return what may be stored now, and the positions and codes of the rest."""

    def known(self, envelopes: Sequence[Envelope]) -> Set[bytes]:
        """Return the ids among these that a closed period contains."""

    def is_full(self, rows: Rows, most: int) -> bool:
        """Return True if a period of these rows has ``most`` bytes or more."""

    def uncounted(self, envelopes: Sequence[Envelope]) -> bool:
        """Return True if one of these is for a period that is over but not counted yet."""


class Ingest(Entrance):
    """The ASGI application behind POST /v1/reports. The committer must append to the store of the same collector.

    ``news`` is for a collector that shares its database with others.
    """

    what, where, waits = "reports", "collector", "stored"

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
        super().__init__(committer, self.metrics.requests, at_once=limits.requests_at_once)
        self.metrics.waiting.set_function(lambda: committer.waiting)
        self._collector = collector
        self._news = news
        self._sealed_codes = {"sealed"} | (_OVER if news else set())  # another collector may have counted a period that is over
        self._bodies = BodyReader(most=limits.max_body, most_together=limits.most_waiting, seconds=limits.body_seconds)
        self._rate = Rate(limits.reports_per_second, clock) if limits.reports_per_second else None
        self._lookups = 0

    async def take(self, headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> list[tuple[bytes, str]] | None:
        """Return the ids and codes of reports that were not counted; None if the sender is gone."""
        opener = self._check_headers(headers)
        body = await self._bodies.read(receive)
        if body is None:
            return None
        if self._committer.full:
            raise self.no_room()
        try:
            envelopes = opener(body)
        except WireError as error:
            raise Refusal(400, "malformed", str(error)) from error
        if not envelopes:
            raise Refusal(400, "malformed", "send at least one report")
        if len(envelopes) > self.limits.max_reports:
            raise Refusal(413, "too_large", f"send at most {self.limits.max_reports} reports in a batch")
        if self._rate is not None and (wait := self._rate.take(len(envelopes))):
            raise Refusal(429, "rate", "too many reports per second", retry=ceil(wait))
        rows, rejected = await self._admit(envelopes)
        if rejected and self._news is not None and not UNHEARD.isdisjoint(code for _, code in rejected):
            await self._news.look()
            rows, rejected = await self._admit(envelopes)
        if self._collector.is_full(rows, self.limits.period_bytes):
            raise Refusal(429, "period_full", "this period is full; the operator can raise period_bytes in [limits]", retry=60)
        if len({envelopes[position][:2] for position, code in rejected if code in self._sealed_codes}) > MOST_SEALED:
            raise Refusal(413, "too_large", f"send reports of at most {MOST_SEALED} counted periods in a batch")
        count = len(envelopes)
        del envelopes  # they take several times the memory of body and rows, and a request may wait
        try:
            sealed = await self._committer.commit(rows, len(body)) if rows else frozenset[Bucket]()
        except QueueFullError as error:  # it had room before this request waited for something else
            raise self.no_room() from error
        if rejected or sealed:
            return await self._sort_out(opener(body), dict(rejected), sealed)
        self.metrics.reports["accepted"].inc(count)
        return []

    async def _admit(self, envelopes: list[Envelope]) -> tuple[Rows, list[tuple[int, str]]]:
        tokens = [envelope.token for envelope in envelopes]
        if any(tokens):  # signatures take their time, and others should not wait for them
            return await asyncio.to_thread(self._collector.admit, envelopes)
        return self._collector.admit(envelopes)

    async def _sort_out(self, envelopes: list[Envelope], codes: dict[int, str], sealed: Set[Bucket]) -> list[tuple[bytes, str]]:
        """Return what was not counted. Sending again what a closed period contains is a success: it was counted the first time."""
        for position, envelope in enumerate(envelopes):
            if position not in codes and (envelope.task, envelope.period) in sealed:
                codes[position] = "sealed"
        if self._collector.uncounted([envelopes[position] for position, code in codes.items() if code in _OVER]):
            raise Refusal(503, "counting", "a period is being counted; send the reports again in a moment", retry=1)
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
        """Return the ids among these that closed periods contain; raise Refusal if too many ask. Resending is always safe."""
        if self._lookups >= LOOKUPS_AT_ONCE:
            raise Refusal(503, "busy", "too many requests about closed periods", retry=1)
        self._lookups += 1
        try:
            return await asyncio.to_thread(self._collector.known, late)
        finally:
            self._lookups -= 1

    def _check_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> Callable[[bytes], list[Envelope]]:
        """Return the parser for a body of this type; raise Refusal if it must not even be read."""
        opener = _OPENERS.get(self._bodies.check_headers(headers))
        if opener is None:
            raise Refusal(415, "wrong_type", f"send a body of type {MEDIA_TYPE} or {JSON}", close=True)
        return opener
