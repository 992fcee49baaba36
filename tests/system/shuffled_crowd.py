"""A task of shuffle trust with everyone in it: devices that seal their rank, shufflers in processes of their own, and whoever receives."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import deniable as dn
from deniable.collect.faults import STATUS
from deniable.collect.tasks.batch_price import price_of
from deniable.contract.batch import Batch, open_batch
from deniable.contract.envelope import HEADER, Envelope
from deniable.contract.mixing import Mixing, Relay, Threshold
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice, read_keys
from deniable.contract.sealed import MEDIA_TYPE, pack_seals, seal_id
from deniable.contract.survey import Survey
from deniable.contract.task import Task
from deniable.sealing.identity import public_key
from deniable.sealing.keys import KeyPair, KeyRing, announce
from deniable.sealing.seal import open_inners, seal_report
from tests.system.conftest import Answer, NotStartedError, Server
from tests.system.load import wait_for
from tests.system.nursery import COMMAND, Child, nursery

HOUR = 3600
SEED = bytes(range(32))
"""The analyst's identity."""
SPEC = dn.GRR(domain_size=1 << 20, epsilon=8.0)
"""Answers are people's ranks, so that everybody can be recognized at the end: what noise would hide is not hidden here."""


def rank_task(
    relays: Sequence[Relay],
    *,
    minimum: int = 100,
    threshold: Threshold | None = None,
    admission: str = "open",
    issuer: bytes = b"",
    start: int | None = None,
) -> Task:
    """A task of two periods of an hour; the first has begun."""
    begun = int(time.time()) - 60 if start is None else start
    payload = len(SPEC.encode(0))
    token = 288 if admission == "token" else 0
    mixing = Mixing(  # of a claim that is true, and as strong as it can be
        epsilon=1.0, delta=1e-6, minimum=minimum, shufflers=tuple(relays), size=HEADER.size + payload + token, threshold=threshold
    )
    return Task(
        name="rank",
        question="Which rank is yours?",
        owner="tests",
        statement="A test.",
        protocol=Survey.of(rank=SPEC).canonical,
        epsilon=8.0,
        key=public_key(SEED),
        start=begun,
        end=begun + 2 * HOUR,
        period=HOUR,
        late=HOUR,
        answers=2,
        model="shuffle",
        admission=admission,
        issuer=issuer,
        mixing=replace(mixing, epsilon=price_of(SPEC, mixing, minimum).epsilon),
    )


def envelope(task: Task, rank: int, *, period: int = 0, token: bytes = b"", report: bytes | None = None) -> Envelope:
    """The report of whoever has a rank."""
    return Envelope(task.id, period, 0, 0, report or rank.to_bytes(16, "little"), SPEC.encode(rank), token)


def seal_ranks(task: Task, analyst: KeyNotice, shufflers: list[KeyNotice], ranks: range, period: int = 0) -> list[bytes]:
    """The seals of some people; in a process of a pool."""
    return [seal_report(task, envelope(task, rank, period=period), analyst, shufflers) for rank in ranks]


@cache
def pool() -> ProcessPoolExecutor:
    """Processes that seal and open."""
    return ProcessPoolExecutor(2)


def free_port() -> int:
    """A port that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class Receiver:
    """A process that takes batches; see ``tests.system.receiver``."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "batches").mkdir()
        self.folder = folder
        self.pair = KeyPair.make(time.time())
        self.analyst = self.pair.notice(ANALYST)
        (folder / "keys").write_bytes(announce(SEED, [self.analyst]))
        self.port = 0
        self.process: Child | None = None
        self._checked: dict[tuple[str, bytes], Batch] = {}

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.kill()

    def start(self) -> None:
        """Start it, and wait until it says where it is; it comes back on its port."""
        self.process = nursery().serve(str(self.folder), str(self.port), err=self.folder / "stderr", program="tests.system.receiver")
        line = self.process.stdout.readline().strip()
        self.url = line.removeprefix("serving on ")
        self.port = urlsplit(self.url).port

    def serve(self, task: Task) -> None:
        """Begin with a task."""
        (self.folder / "task").write_bytes(task.canonical)
        self.start()

    def kill(self) -> None:
        self.process.kill()
        self.ended()

    def ended(self) -> int:
        """Wait until it ends; its exit status."""
        status = self.process.wait()
        self.process.stdout.close()
        self.process = None
        return status

    def batches(self, key: bytes) -> list[Batch]:
        """What it has, each checked against the shuffler's key; in no order."""
        files = [file for file in sorted((self.folder / "batches").glob("*")) if not file.suffix]
        for file in files:
            if (file.name, key) not in self._checked:  # files never change, and this is asked again and again
                self._checked[file.name, key] = open_batch(file.read_bytes(), key)
        return [self._checked[file.name, key] for file in files]

    def ranks(self, task: Task) -> list[list[int | None]]:
        """What it has, opened: a list for each batch, None for a dummy."""
        found = []
        for batch in self.batches(task.mixing.shufflers[-1].key):
            opened = open_inners({self.pair.id: self.pair}, batch.seals, task, pool() if len(batch.seals) > 2000 else None)
            found.append([None if item is None else SPEC.decode(item.payload) for item in opened])
        return found

    def count(self) -> int:
        """How many batches it has."""
        return sum(not file.suffix for file in (self.folder / "batches").glob("*"))

    def wait(self, task: Task, seals: int) -> None:
        """Until so many seals are there, dummies included."""
        wait_for(lambda: sum(batch.manifest.count for batch in self.batches(task.mixing.shufflers[-1].key)) >= seals)


class ShufflerProcess(Server):
    """``deniable shuffle`` in a process; its identity is there before it is started."""

    def __init__(self, folder: Path, *options: str, program: str = COMMAND, testing: bool = True) -> None:
        super().__init__(folder, *options, program=program, testing=testing)
        self.ring = KeyRing(folder / "own", SHUFFLER)
        self.relay = Relay("http://127.0.0.1:1", self.ring.identity)
        self.metrics_port = free_port()
        self.task: Task | None = None
        self.collector = ""

    def __enter__(self) -> ShufflerProcess:
        return self

    def serve(self, task: Task, collector: str) -> None:
        """Begin with a task."""
        self.task, self.collector = task, collector
        self.start()

    def start(self) -> None:
        arguments = ["shuffle", "--folder", str(self.folder / "own"), "--task", self.task.id.hex(), "--collector", self.collector]
        arguments += ["--port", "0", "--metrics-port", str(self.metrics_port), "--tend-seconds", "0.05", *self.options]
        self.launch(*arguments)

    def notice(self, ahead: float = 0.0) -> KeyNotice:
        """Its newest key, as a device reads it."""
        return read_keys(self.get("/v1/keys").body, self.ring.identity, time.time() + ahead, SHUFFLER)

    def hand_in(self, seals: Sequence[bytes]) -> Answer:
        """Send seals."""
        return self.request("POST", "/v1/seals", pack_seals(seals), Content_Type=MEDIA_TYPE)

    def insist(self, seals: Sequence[bytes], faults: list[str] | None = None) -> None:
        """Send seals until they are taken; a shuffler that dies meanwhile is started again, with the next fault."""
        while True:
            try:
                answer = self.hand_in(seals)
            except (OSError, http.client.HTTPException):
                self.revive(faults or [])
                continue
            assert answer.status == 201, answer.body
            return

    def revive(self, faults: list[str]) -> None:
        """Wait until it has died, and start it with the next fault, of which it may die before it says where it serves."""
        status = self.died()
        while status:
            assert status == STATUS
            self.fault(faults.pop(0) if faults else "")
            try:
                self.start()
                status = 0
            except NotStartedError as error:
                status = error.status

    def codes(self, seals: Sequence[bytes]) -> list[str]:
        """What becomes of seals: empty, or a code, for each."""
        answer = self.hand_in(seals)
        assert answer.status in (200, 201), answer.body
        listed = {item["id"]: item["code"] for item in json.loads(answer.body)["rejected"]} if answer.status == 200 else {}
        return [listed.get(seal_id(seal).hex(), "") for seal in seals]

    def end_period(self, period: int = 0) -> None:
        """Let the first periods, and the time that this shuffler waits for late seals, be over."""
        self.ahead((period + 2) * HOUR)

    def figure(self, name: str) -> int:
        """One of its figures for Prometheus."""
        with urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        return int(float(line.split()[1]))

    def wait_until_passed_on(self) -> None:
        """Until it holds nothing, and all that it let go since it was started was acknowledged."""
        wait_for(
            lambda: (
                self.figure("deniable_held_seals") == 0
                and 0 < self.figure("deniable_batches_made_total") == self.figure("deniable_batches_passed_on_total")
            )
        )
