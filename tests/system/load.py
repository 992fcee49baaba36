"""A crowd of devices that send unique answers, each batch again and again until it is answered, and what they were told.

Every answer is a number that nobody else holds, under an id made from it, so a correct count holds only zeros and ones: ``audit`` compares.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from urllib.parse import urlsplit

import numpy as np

from deniable.collect.collector import Collector
from deniable.collect.storage.store import Store
from deniable.contract.envelope import MEDIA_TYPE, Envelope
from deniable.contract.task import Task
from tests.system.conftest import Server

PATIENCE = 300.0
"""Seconds after which a test that waits for the crowd has failed."""
PAUSE = 0.02
"""Seconds until a device tries again; a real one is more patient."""
AGAIN = (408, 429, 503, 507)
"""Answers after which the same bytes are sent again."""

UNIQUE = """
name = "unique"
question = "Which number is yours?"
owner = "tests"
epsilon = inf
weak_privacy = true
lasts = "60 days"
period = "1 hour"
late = "30 days"
minimum_batch = 1
[domain]
range = 1_000_000
[mechanism]
name = "Identity"
"""
"""A task that counts unique answers, in the clear. Periods stay open until someone seals them."""
HOUR = 3600


def unique(task: Task, value: int, *, period: int = 0) -> Envelope:
    """The report of whoever holds a number, with the id that belongs to it: made again, it is the same report."""
    spec = task.survey.questions[0].spec
    return Envelope(task.id, period, 0, 0, hashlib.sha256(b"report %d" % value).digest()[:16], spec.encode(value))


class Crowd:
    """So many devices, spread over the addresses. Inside a ``with`` statement they send; at its end each of them finishes its batch.

    ``period`` may be changed at any time; it is that of the batches made from then on.
    """

    def __init__(self, task: Task, *urls: str, devices: int = 16, batch: int = 20, first: int = 0, period: int = 0) -> None:
        self.task = task
        self.period = period
        self.batch = batch
        self.acknowledged: dict[int, int] = {}
        """The answers that were taken, with their periods."""
        self.refused: dict[int, str] = {}
        """The answers that were not, with the codes."""
        self.statuses: Counter[int] = Counter()
        self.unanswered = 0
        """Requests that got no answer."""
        self._urls = [urls[i % len(urls)] for i in range(devices)]
        self._values = count(first)
        self._stopping = False
        self._given_up = False
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="crowd")

    def __enter__(self) -> Crowd:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._stopping = True
        self._given_up = kind is not None
        self._thread.join(PATIENCE)
        self._given_up = True
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def move(self, old: str, new: str) -> None:
        """Have the devices of one address turn to another."""
        self._urls = [new if url == old else url for url in self._urls]

    def wait(self, more: int = 1) -> None:
        """Return when so many more answers were taken."""
        enough = len(self.acknowledged) + more
        self.wait_until(lambda: len(self.acknowledged) >= enough)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Return when something is true, which is looked at after every answer."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition() or self._error, PATIENCE), self.statuses
        if self._error is not None:
            raise self._error

    # --- inside: everything below runs in the crowd's thread ---

    def _run(self) -> None:
        try:
            asyncio.run(self._all())
        except BaseException as error:  # raised again where the test waits
            self._error = error
        with self._changed:
            self._changed.notify_all()

    async def _all(self) -> None:
        async with asyncio.TaskGroup() as devices:
            for number in range(len(self._urls)):
                devices.create_task(Device(self, number).live())


class Device:
    """One keep-alive connection, opened again wherever the device is sent."""

    def __init__(self, crowd: Crowd, number: int) -> None:
        self.crowd = crowd
        self.number = number
        self.url = ""
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def live(self) -> None:
        """Send one batch after the other."""
        crowd = self.crowd
        try:
            while not crowd._stopping:
                values, period = [next(crowd._values) for _ in range(crowd.batch)], crowd.period
                await self._deliver(values, period, b"".join(unique(crowd.task, value, period=period).pack() for value in values))
        finally:
            self._hang_up()

    async def _deliver(self, values: list[int], period: int, body: bytes) -> None:
        crowd = self.crowd
        while not crowd._given_up:
            try:
                status, answer = await self._post(body)
            except (OSError, asyncio.IncompleteReadError):
                crowd.unanswered += 1
                self._hang_up()
                await asyncio.sleep(PAUSE)
                continue
            with crowd._changed:
                crowd.statuses[status] += 1
                crowd._changed.notify_all()
            if status in AGAIN:
                assert status == 408 or answer.headers["retry-after"].isdigit()
                await asyncio.sleep(PAUSE)
                continue
            assert status in (200, 201), (status, answer.body)
            codes = {entry["id"]: entry["code"] for entry in json.loads(answer.body)["rejected"]} if status == 200 else {}
            with crowd._changed:
                for value in values:
                    code = codes.get(unique(crowd.task, value).id.hex())
                    if code is None:
                        crowd.acknowledged[value] = period
                    else:
                        crowd.refused[value] = code
                crowd._changed.notify_all()
            return

    async def _post(self, body: bytes) -> tuple[int, Reply]:
        url = self.crowd._urls[self.number]
        if self.writer is None or url != self.url:
            self._hang_up()
            self.url = url
            self.reader, self.writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
        head = f"POST /v1/reports HTTP/1.1\r\nHost: collector\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        reply = Reply(await self.reader.readuntil(b"\r\n\r\n"))
        reply.body = await self.reader.readexactly(int(reply.headers.get("content-length", "0")))
        if reply.headers.get("connection") == "close":
            self._hang_up()
        return reply.status, reply

    def _hang_up(self) -> None:
        if self.writer is not None:
            self.writer.transport.abort()
            self.reader = self.writer = None


class Reply:
    """The head of an answer, and its body once that is read."""

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body = b""


def go_on(server: Server, crowd: Crowd) -> None:
    """Start a collector again, and tell the devices where it is."""
    before = server.url
    server.start()
    crowd.move(before, server.url)


def audit(address: str, *crowds: Crowd) -> int:
    """Compare what a stopped collector has counted with what the crowds were told; how many repetitions it had left out.

    Every answer that was taken is counted, once, in its period; none that was refused; and recounting gives the same bytes.
    """
    store = Store.open(address)
    try:
        questions = Collector(store).questions
        results = [result for _, result in store.rebuild(questions)]
        assert set(results) <= {"same"}, results
        counted = {period: tally.counters for (period, _, _), tally in store.tallies(crowds[0].task.id).items()}
        repeated = sum(stored.repeated for stored in store.buckets())
    finally:
        store.close()
    taken = {value: period for crowd in crowds for value, period in crowd.acknowledged.items()}
    for period, counters in counted.items():
        twice = np.flatnonzero(counters > 1).tolist()
        found = set(np.flatnonzero(counters).tolist())
        expected = {value for value, own in taken.items() if own == period}
        assert not twice, f"counted twice in period {period}: {twice[:10]}"
        assert not expected - found, f"taken and lost in period {period}: {sorted(expected - found)[:10]}"
        assert not found - expected, f"counted in period {period}, but not taken for it: {sorted(found - expected)[:10]}"
    assert set(taken.values()) <= counted.keys()
    return repeated


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when something is true that nobody tells: what a collector does by itself."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(PAUSE)
