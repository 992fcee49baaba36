"""Requests to an ASGI application without a network, and a collector that keeps its reports in memory."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from deniable.client import GRR
from deniable.collect.admission import Admission, LiveTask, Rows
from deniable.collect.clock import Moment
from deniable.collect.kit.committer import Committer
from deniable.collect.kit.limits import Limits
from deniable.collect.storage.block import ID_BYTES, Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.web.ingest import Ingest
from deniable.collect.web.metrics import Metrics
from deniable.contract.envelope import MEDIA_TYPE, Envelope
from tests.collect.crowd import NOON, survey_task

PATIENCE = 300
"""Seconds until a test that hangs fails."""


class MemoryCollector:
    """Judges as the real one does, and keeps what was appended in a dictionary. Appends wait for the gate, and fail while told to."""

    def __init__(self) -> None:
        self.task = survey_task(bytes(32), GRR(domain_size=1 << 16, epsilon=1.0), strata=(("platform", ("web", "phone")),))
        self.admission = Admission()
        self.live = self.admission.tasks[self.task.id] = LiveTask(self.task, questions=self.task.survey.questions)
        self.stored: dict[Bucket, dict[bytes, bytes]] = {}
        self.appends = 0
        self.failing = False
        self.stored_bytes = 0
        self.gate = threading.Event()
        self.gate.set()
        self.started = threading.Event()
        self.now = float(NOON)
        self._sealed: set[Bucket] = set()

    def admit(self, envelopes: Sequence[Envelope]) -> tuple[Rows, list[tuple[int, str]]]:
        return self.admission.admit(envelopes, Moment(self.now, self.now))

    def append(self, rows: Rows) -> frozenset[Bucket]:
        self.started.set()
        assert self.gate.wait(PATIENCE)
        self.appends += 1
        if self.failing:
            raise StorageError("disk", "full", allowed="some room", fix="make some")
        buckets = {Bucket(task, period) for task, period, _, _ in rows}
        for (task, period, _, _), parts in rows.items():
            if (bucket := Bucket(task, period)) not in self._sealed:
                for row in parts:
                    self.stored.setdefault(bucket, {}).setdefault(row[:ID_BYTES], row[ID_BYTES:])
        return frozenset(buckets & self._sealed)

    def known(self, envelopes: Sequence[Envelope]) -> frozenset[bytes]:
        buckets = [(sent, Bucket(sent.task, sent.period)) for sent in envelopes]
        return frozenset(sent.id for sent, bucket in buckets if bucket in self._sealed and sent.id in self.stored.get(bucket, {}))

    def is_full(self, rows: Rows, most: int) -> bool:
        return self.stored_bytes >= most

    def uncounted(self, envelopes: Sequence[Envelope]) -> bool:
        return any(
            bucket in self.stored and bucket not in self._sealed for bucket in {Bucket(sent.task, sent.period) for sent in envelopes}
        )

    def seal(self, period: int, *, quietly: bool = False) -> None:
        """Seal a period; quietly: as another collector does it, so that only the store knows."""
        self._sealed.add(Bucket(self.task.id, period))
        if not quietly:
            self.live.sealed.add(period)
            self.admission.forget()

    @property
    def ids(self) -> set[bytes]:
        """What is stored."""
        return {report for reports in self.stored.values() for report in reports}

    async def appending(self) -> None:
        """Returns once an append is under way."""
        assert await asyncio.to_thread(self.started.wait, PATIENCE)
        self.started.clear()


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of an error."""
        return json.loads(self.body)["error"]["code"]

    @property
    def rejected(self) -> list[tuple[bytes, str]]:
        """What was not counted."""
        return [(bytes.fromhex(entry["id"]), entry["code"]) for entry in json.loads(self.body)["rejected"]]


class Site:
    """An ingest in front of a collector in memory."""

    def __init__(self, clock: Callable[[], float] = lambda: 0.0, **limits) -> None:
        self.collector = MemoryCollector()
        self.metrics = Metrics()
        chosen = Limits(**limits)
        self.committer = Committer(self.collector.append, most_waiting=chosen.most_waiting, observe=self.metrics.appended)
        self.ingest = Ingest(self.collector, self.committer, limits=chosen, metrics=self.metrics, clock=clock)

    @property
    def task(self):
        return self.collector.task

    async def request(self, receive, *, method: str = "POST", **headers: str) -> Answer | None:
        """Send a request whose body comes from an ASGI ``receive``; None if there was no answer."""
        messages = []

        async def send(message):
            messages.append(message)

        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        await self.ingest({"type": "http", "method": method, "path": "/v1/reports", "headers": named}, receive, send)
        if not messages:
            return None
        start, end = messages
        assert (start["type"], end["type"]) == ("http.response.start", "http.response.body")
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        body = end.get("body", b"")
        assert start["status"] == 204 or int(found["content-length"]) == len(body)
        return Answer(start["status"], found, body)

    async def post(self, body: bytes, kind: str = MEDIA_TYPE, **headers: str) -> Answer:
        """Send a body that arrives at once, as small ones do."""
        headers = {"content_type": kind, "content_length": str(len(body))} | headers
        return await self.request(pieces([body]), **headers)

    async def hand_in(self, *envelopes: Envelope) -> Answer:
        """Send a batch."""
        return await self.post(b"".join(envelope.pack() for envelope in envelopes))


def as_json(*envelopes: Envelope) -> dict[str, list[dict[str, str | int]]]:
    """A batch in its JSON form."""
    fields = ("task", "period", "question", "stratum", "id", "payload", "token")
    values = [{name: getattr(sent, name) for name in fields} for sent in envelopes]
    return {"reports": [{name: value.hex() if isinstance(value, bytes) else value for name, value in report.items()} for report in values]}


def pieces(chunks: Iterable[bytes]) -> Callable:
    """A ``receive`` that brings these chunks; asking for more than the last one is an error."""
    chunks = list(chunks)

    async def receive():
        body = chunks.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(chunks)}

    return receive


async def unread():
    """A ``receive`` for requests that must be answered without it."""
    raise AssertionError("the body was read")


async def silence():
    """A ``receive`` of a sender who says nothing more."""
    await asyncio.Event().wait()


def play(scenario, **limits) -> None:
    """Run a scenario against a site of its own."""

    async def run():
        site = Site(**limits)
        try:
            async with asyncio.timeout(PATIENCE):
                await scenario(site)
        finally:
            site.collector.gate.set()
            await site.ingest.stop()

    asyncio.run(run())
