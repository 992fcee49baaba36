"""The board: the tasks, rounds and keys that a collector publishes, fetched once and checked against its signature."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from deniable.client.answerable import check_answerable
from deniable.client.retries import Retries
from deniable.client.transport import HTTPTransport, Response, Transport
from deniable.contract.admission import check_issuer
from deniable.contract.ed25519 import ROUND_CONTEXT, TASK_CONTEXT, verify
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice, read_keys
from deniable.contract.question import Question, Round
from deniable.contract.source import SYSTEM, Source
from deniable.contract.task import OpenedRound, Task
from deniable.errors import ProtocolError, WireError

KEPT = 86_400
"""Seconds for which keys are kept."""


class CurrentQuestions(NamedTuple):
    """What a task asks now: the period or the round's number, its questions, and the scale of the tickets."""

    period: int
    round: Round
    scale: int

    def question(self, ticket: int) -> Question | None:
        """Return the question for the holder of a ticket; None if it is not the ticket's turn."""
        return self.round.question_of(ticket, self.scale)


class RecipientKeys(NamedTuple):
    """The keys that a report is sealed for: the collector's, and one of each shuffler in their order."""

    analyst: KeyNotice
    shufflers: tuple[KeyNotice, ...]


class _KeptKeys(NamedTuple):
    keys: RecipientKeys
    since: int
    fetched: float


class Board:
    """A collector's tasks and rounds, shared by any number of reporters in a process, in any number of threads.

    A task never changes and is fetched once. The current round is fetched every time, unless ``keep_rounds``: then it is kept until
    ``refresh()``, for simulations whose devices all live in one process. The keys of shufflers and collector are kept for a period, at most
    a day, because a key may be withdrawn. ``transport`` connects to the collector, and ``connect`` makes a transport to a shuffler from its
    address. ``sleep`` is the system's, unless a test replaces it.

    ``now`` is the time in seconds since 1970.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        keep_rounds: bool = False,
        sleep: Callable[[float], object] = time.sleep,
        source: Source = SYSTEM,
        connect: Callable[[str], Transport] = HTTPTransport,
    ) -> None:
        self.transport = transport
        self._connect = connect
        self._relays: dict[str, Transport] = {}
        self._keys: dict[bytes, _KeptKeys] = {}
        self._keep_rounds = keep_rounds
        self._retries = Retries(sleep=sleep, source=source)
        self._tasks: dict[bytes, Task] = {}
        self._surveys: dict[bytes, Round] = {}
        self._rounds: dict[bytes, OpenedRound | None] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Board of {self.transport!r}: {len(self._tasks)} tasks known>"

    def task(self, task_id: bytes) -> Task:
        """Return the task with this id, ``task_id``; WireError if the collector hands out another one.

        ProtocolError if it has none, or one whose issuer's key no device may use.
        """
        if (known := self._tasks.get(task_id)) is not None:
            return known
        with self._lock:  # other threads wait while one fetches it
            if task_id not in self._tasks:
                self._tasks[task_id] = self._fetch_task(task_id)
            return self._tasks[task_id]

    def asked(self, task: Task, now: float) -> CurrentQuestions | None:
        """Return what a task asks at a time; None before its start, after its end, and while no round is open."""
        if not task.start <= now < task.end:
            return None
        if task.rounds:
            opened = self._round(task)
            return None if opened is None else CurrentQuestions(opened.number, opened.round, opened.scale)
        period = task.period_at(now)
        if task.id not in self._surveys:
            self._surveys[task.id] = _check_questions(task, task.survey.open())
        questions = self._surveys[task.id]
        return None if period is None else CurrentQuestions(period, questions, questions.scale)

    def keys(self, task: Task, now: float) -> RecipientKeys:
        """Return the keys that a report to a task of shuffle trust is sealed for at a time: the same for all reports of a period.

        Fetched once for each period, and again after a day.
        """
        since = task.period_span(task.period_at(now) or 0)[0]
        with self._lock:
            kept = self._keys.get(task.id)
            if kept is None or kept.since != since or not kept.fetched <= now < kept.fetched + KEPT:
                relays = task.mixing.shufflers if task.mixing else ()
                analyst = read_keys(self._fetch_keys(self.transport), task.key, now, ANALYST, since)
                shufflers = (read_keys(self._fetch_keys(self._relay(relay.url)), relay.key, now, SHUFFLER, since) for relay in relays)
                kept = self._keys[task.id] = _KeptKeys(RecipientKeys(analyst, tuple(shufflers)), since, now)
            return kept.keys

    def relay(self, url: str) -> Transport:
        """Return the way to the shuffler at a URL, opened once."""
        with self._lock:
            return self._relay(url)

    def refresh(self) -> None:
        """Forget the rounds and keys that were kept."""
        with self._lock:
            self._rounds.clear()
            self._keys.clear()

    def close(self) -> None:
        """Close the connections to shufflers."""
        with self._lock:
            for transport in self._relays.values():
                if isinstance(transport, HTTPTransport):
                    transport.close()

    def _relay(self, url: str) -> Transport:
        if url not in self._relays:
            self._relays[url] = self._connect(url)
        return self._relays[url]

    def _round(self, task: Task) -> OpenedRound | None:
        if not self._keep_rounds:
            return self._fetch_round(task)
        with self._lock:
            if task.id not in self._rounds:
                self._rounds[task.id] = self._fetch_round(task)
            return self._rounds[task.id]

    def _get(self, path: str, transport: Transport | None = None) -> Response:
        way = transport or self.transport
        return self._retries.answer(lambda: way.request("GET", path, b"", {}))

    def _fetch_keys(self, transport: Transport) -> bytes:
        answer = self._get("/v1/keys", transport)
        if answer.status != 200:
            raise ProtocolError("keys", f"status {answer.status}", allowed="a list of keys to seal for", fix="try again later")
        return answer.body

    def _fetch_task(self, task_id: bytes) -> Task:
        answer = self._get(f"/v1/tasks/{task_id.hex()}")
        if answer.status != 200:
            raise _no_answer("task", answer, fix="check the id and the collector's address")
        data, signature = _read_signed("task", answer.body)
        if hashlib.sha256(data).digest() != task_id:
            raise WireError("task", data, allowed=f"the task with id {task_id.hex()}", fix="do not answer it: this is another task")
        task = Task.from_json(data)
        if not verify(task.key, TASK_CONTEXT + data, signature):
            raise WireError("signature", signature.hex(), allowed="a signature by the task's own key", fix="do not trust this collector")
        check_issuer(task)
        return task

    def _fetch_round(self, task: Task) -> OpenedRound | None:
        answer = self._get(f"/v1/tasks/{task.id.hex()}/round")
        if answer.status == 404 and error_code(answer) == "no_round":
            return None
        if answer.status != 200:
            raise _no_answer("round", answer, fix="try again later")
        data, signature = _read_signed("round", answer.body)
        if not verify(task.key, ROUND_CONTEXT + data, signature):
            raise WireError("signature", signature.hex(), allowed="a signature by the task's own key", fix="do not trust this collector")
        opened = OpenedRound.from_json(data)
        if opened.task != task.id:
            raise WireError("round", opened.task.hex(), allowed=f"a round of task {task.id.hex()}", fix="do not trust this collector")
        _check_questions(task, opened.round)
        check_answerable(task, opened.round)
        return opened


def _check_questions(task: Task, questions: Round) -> Round:
    """Return the questions, if each is randomized on the device at a pure epsilon of at most the task's; ProtocolError otherwise."""
    for question in questions.questions:
        promise = question.guarantee
        if promise.model != "local" or promise.delta or not max(promise.epsilon, question.epsilon) <= task.epsilon:
            received = f"epsilon {promise.epsilon!r}, delta {promise.delta!r}, {promise.model} model"
            allowed = f"at most epsilon {task.epsilon!r}, delta 0, local model"
            raise ProtocolError(f"question {question.name!r}", received, allowed=allowed, fix="do not answer it: the task promises more")
    return questions


def _read_signed(name: str, body: bytes) -> tuple[bytes, bytes]:
    """Return the canonical bytes and the signature in an answer."""
    try:
        content: Any = json.loads(body)
        return content[name].encode(), bytes.fromhex(content["signature"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WireError(name, body, allowed=f"{name} and signature in JSON", fix="check the collector's address") from error


def error_code(answer: Response) -> object:
    """Return the code of a collector's answer that says what is wrong; None if somebody else sent it."""
    try:
        return json.loads(answer.body)["error"]["code"]
    except (ValueError, TypeError, KeyError, RecursionError):  # not from a collector
        return None


def _no_answer(name: str, answer: Response, *, fix: str) -> ProtocolError:
    return ProtocolError(name, f"status {answer.status}", allowed=f"a collector that knows the {name}", fix=fix)
