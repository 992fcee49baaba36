"""A device, and a collector in memory behind the transport's interface: what it answers, and the ways in which a network spoils it."""

from __future__ import annotations

import json
from collections import Counter, deque
from fractions import Fraction

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable.client import GRR, MemoryLedger, Reporter
from deniable.client.transport import Response
from deniable.contract.canonical import canonical_json
from deniable.contract.domain import Categories, Domain
from deniable.contract.ed25519 import ROUND_CONTEXT, TASK_CONTEXT
from deniable.contract.envelope import MEDIA_TYPE, Envelope, open_batch
from deniable.contract.question import Question, Round
from deniable.contract.survey import Survey
from deniable.contract.task import OpenedRound, Task
from deniable.testing import ReplaySource

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
DAY = 86_400
START = 20_000 * DAY
DRINKS = Categories("tea", "coffee", "water")


def drink_task(**changes) -> Task:
    """A task of one round with one question, asked daily; any part of it can be changed."""
    question = Question(name="drink", spec=GRR(domain=DRINKS, epsilon=1.0))
    parts = {
        "name": "morning-drink",
        "question": "What did you drink first today?",
        "owner": "The canteen",
        "statement": "Your device adds noise to your answer before it is sent.",
        "protocol": Survey((question,)).canonical,
        "epsilon": 1.0,
        "key": KEY.public_key().public_bytes_raw(),
        "start": START,
        "end": START + 10 * DAY,
        "period": DAY,
        "answers": 3,
    }
    return Task(**parts | changes)


def rounds_task(domain: Domain = DRINKS, **changes) -> Task:
    """A task of rounds. Of its protocol devices read the domain alone."""
    protocol = canonical_json({"protocol": "PEM", "domain": domain.to_json()})
    return drink_task(**{"rounds": True, "period": 0, "answers": 1, "name": "words", "protocol": protocol} | changes)


def opened(task: Task, number: int, *, first: str = "0", share: str = "1/2", epsilon: float = 1.0, scale: int = 2) -> OpenedRound:
    """A round that asks one share of the people."""
    question = Question(name=f"round {number}", spec=GRR(domain=DRINKS, epsilon=epsilon), share=Fraction(share))
    return OpenedRound(task=task.id, number=number, scale=scale, round=Round((question,), Fraction(first)), state=bytes(32))


TASK = drink_task()
ROUNDS = rounds_task()


class FakeCollector:
    """Stores every report once, by its id. ``faults`` are used up one by one, by POST requests only.

    A fault is a response in place of the collector's, or one of "no connection" (nothing arrives) and "reply lost" (all arrives).
    """

    def __init__(self, *tasks: Task) -> None:
        self.signer = KEY
        self.tasks = {task.id.hex(): task for task in tasks}
        self.rounds: dict[str, OpenedRound] = {}
        self.reports: dict[bytes, Envelope] = {}
        self.bodies: list[bytes] = []
        self.rejects: str | None = None
        self.faults: deque[Response | str] = deque()
        self.requests: Counter[str] = Counter()

    def request(self, method, path, body, headers) -> Response:
        self.requests[f"{method} {path}"] += 1
        if method == "POST":
            return self.take(path, body, headers)
        parts = path.removeprefix("/v1/tasks/").split("/")
        if parts[0] not in self.tasks:
            return error(404, "unknown_task")
        if parts[1:] == ["round"]:
            record = self.rounds.get(parts[0])
            return error(404, "no_round") if record is None else self.signed("round", record.canonical, ROUND_CONTEXT)
        return self.signed("task", self.tasks[parts[0]].canonical, TASK_CONTEXT)

    def signed(self, name: str, canonical: bytes, context: bytes) -> Response:
        content = {name: canonical.decode(), "signature": self.signer.sign(context + canonical).hex()}
        return Response(200, {"content-type": "application/json"}, json.dumps(content).encode())

    def take(self, path, body, headers) -> Response:
        assert (path, headers) == ("/v1/reports", {"content-type": MEDIA_TYPE})
        fault = self.faults.popleft() if self.faults else None
        if fault == "no connection":
            raise ConnectionRefusedError
        if isinstance(fault, Response):
            return fault
        self.bodies.append(body)
        (envelope,) = open_batch(body)
        if self.rejects:
            rejected = [{"id": envelope.id.hex(), "code": self.rejects}]
            return Response(200, {}, json.dumps({"rejected": rejected}).encode())
        self.reports[envelope.id] = envelope
        if fault == "reply lost":
            raise TimeoutError
        return Response(201, {}, b"")


class Device:
    """A reporter with a clock of its own, whose sleeps are noted and not slept."""

    def __init__(self, collector, task=TASK, *, now=START + 5.0, source=None, lifetime_epsilon=8.0, consent=True, **parts) -> None:
        self.now, self.slept = now, []
        self.ledger = MemoryLedger(lifetime_epsilon=lifetime_epsilon)
        if consent:
            self.ledger.consent(task.id)
        source = source or ReplaySource.from_key("device")
        self.reporter = Reporter(
            collector, task=task.id, ledger=self.ledger, clock=lambda: self.now, sleep=self.slept.append, source=source, **parts
        )

    def report(self, value, **parts):
        return self.reporter.report(value, **parts)

    def states(self):
        return [(entry.state, entry.code) for entry in self.ledger.entries()]


def error(status: int, code: str) -> Response:
    return Response(status, {}, json.dumps({"error": {"code": code, "message": "as the code says"}}).encode())
