"""The reporter: a person's answer, randomized on the device, paid for in its ledger, and sent."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Any

from deniable.client.answerable import task_domain
from deniable.client.board import Board, CurrentQuestions, error_code
from deniable.client.budget import no_consent, read_id
from deniable.client.diary import Diary
from deniable.client.enrolment import enrol, seeds_for, stamp_for
from deniable.client.ledger import PENDING, REFUSED, SENT, Entry, Ledger
from deniable.client.longitudinal import Longitudinal
from deniable.client.retries import Retries, is_temporary
from deniable.client.sealer import addressed, relay_of, sealer_for
from deniable.client.transport import HTTPTransport, Response, Transport
from deniable.contract.arguments import typed
from deniable.contract.envelope import Envelope
from deniable.contract.question import Question
from deniable.contract.source import SYSTEM, Source
from deniable.contract.task import Task
from deniable.errors import DomainError, ProtocolError, WireError

_CODE = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What became of an answer: ``state`` is sent, pending (``flush`` sends it again) or refused, for the reason in ``code``.

    ``period`` is the one that was answered, and ``epsilon`` what the answer cost.
    """

    state: str
    code: str
    period: int
    epsilon: Fraction

    @classmethod
    def of(cls, entry: Entry) -> Receipt:
        """Return the receipt for an entry of the ledger."""
        return cls(state=entry.state, code=entry.code, period=entry.period, epsilon=entry.epsilon)


@typed
class Reporter:
    """One device's part in one task of one collector.

    ``collector`` is its address, a transport to it or to open folders (``bulletin``), or a ``Board`` that many reporters share. ``task`` is
    the id that the app was built with: whatever the collector hands out is believed only if it is that task, or a round signed by the key
    in it. ``ledger`` is the device's, one for all tasks. ``strata`` are the person's labels, where the task asks for any; they are sent in
    the clear. ``secret`` is the shared secret, where the task asks for one; for a task with one-time tokens, ``enrol`` comes
    before the first report. ``clock`` and ``sleep`` are the device's, unless a test brings its own.

    Reports to a task of shuffle trust are sealed and go to the task's first shuffler; that needs the extra ``sealed``.
    """

    def __init__(
        self,
        collector: str | Transport | Board,
        *,
        task: bytes | str,
        ledger: Ledger,
        strata: Mapping[str, str] | None = None,
        secret: str | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], object] = time.sleep,
        source: Source = SYSTEM,
    ) -> None:
        self.task_id = read_id(task)
        self.ledger = ledger
        self.strata = dict(strata or {})
        self._secret = secret
        self._own: HTTPTransport | None = None
        if isinstance(collector, str):
            collector = self._own = HTTPTransport(collector)
        self._board = collector if isinstance(collector, Board) else Board(collector, sleep=sleep, source=source)
        self._clock, self._source = clock, source
        self._retries = Retries(sleep=sleep, source=source)

    def __repr__(self) -> str:
        return f"<Reporter for task {self.task_id.hex()[:16]}, {self.ledger!r}>"

    @property
    def task(self) -> Task:
        """The task, fetched and verified: what to show to a person before asking for consent."""
        return self._board.task(self.task_id)

    def enrol(self, code: str) -> None:
        """Redeem a code for the one-time tokens of this task, which the ledger keeps; nothing if it has them already.

        Do this some time before the first report: anyone who sees both arrive together can guess that they belong together. After an error
        of the network it can be called again with the same code. ProtocolError if the collector does not take the code.
        """
        if not self.ledger.consented(self.task_id):
            raise no_consent(self.task_id.hex())

        def post(body: bytes) -> Response:
            request = ("POST", f"/v1/tasks/{self.task_id.hex()}/tokens", body, {"content-type": "application/json"})
            return self._retries.answer(lambda: self._board.transport.request(*request))

        enrol(self.task, code, self.ledger, post, self._source)

    def report(self, value: Any, *, send: bool = True) -> Receipt | None:
        """Randomize an answer, pay for it and send it. None, and nothing spent, if nothing is asked of this device now.

        ``value`` is what the task's protocol says that people hold: a value, a record, which is a mapping of names to values, or a set.
        Nothing is asked before the task's start, after its end, while no round is open, and in rounds that ask others. None is no answer:
        the task's default is sent in its place, randomized like any other, or nothing if it has none. BudgetExceeded if the person did not
        agree or a cap is reached. With ``send=False`` the report waits in the ledger for ``flush``.
        """
        if not self.ledger.consented(self.task_id):
            raise no_consent(self.task_id.hex())
        task, now = self.task, self._clock()
        answer = task.default if value is None else value
        if task.rounds and answer is not None:
            task_domain(task).key(answer)  # the app's error, and the same one whatever the round asks
        asked = None if answer is None else self._board.asked(task, now)
        question = None if asked is None else self._question(asked)
        if asked is None or question is None:
            return None
        stratum = task.stratum(self.strata)
        stamp, seed = stamp_for(task, self.ledger, self._secret), seeds_for(task, self.ledger)
        diary = self._diary(task, question, answer)
        seal = sealer_for(task, self._board, self.ledger, now)

        def make(place: int) -> bytes:
            with _answerable(task, question):
                report = diary.report(self._source) if diary else question.answer(answer, self._source, seed(question.spec, place))
            return seal(stamp(self._envelope(task, asked, question, stratum, question.spec.encode(report)), place))

        entry = self.ledger.spend(task, period=asked.period, epsilon=question.epsilon, when=now, make=make, diary=diary)
        return Receipt.of(self._send(entry) if send else entry)

    def flush(self) -> list[Receipt]:
        """Send what is still pending of this task, the same bytes as before; stop at the first that gets no answer."""
        receipts: list[Receipt] = []
        for entry in self.ledger.pending(self.task_id):
            receipts.append(Receipt.of(self._send(entry)))
            if receipts[-1].state == PENDING:
                break
        return receipts

    def close(self) -> None:
        """Close the connection, if the reporter opened it."""
        if self._own:
            self._own.close()
            self._board.close()

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _question(self, asked: CurrentQuestions) -> Question | None:
        """Return the question for this device, by a ticket drawn once for the whole task; where all get the same one, none is drawn."""
        scale = asked.scale
        return asked.question(self.ledger.ticket(self.task_id, lambda: self._source.below(scale)) if scale > 1 else 0)

    def _diary(self, task: Task, question: Question, answer: Any) -> Diary | None:
        """Return what is kept for a question that is answered again and again; None for the others, whose noise is fresh every time."""
        if not isinstance(question.spec, Longitudinal):
            return None
        with _answerable(task, question):
            return Diary(question.spec, question.encoder.encode(answer, self._source), question.name)

    def _envelope(self, task: Task, asked: CurrentQuestions, question: Question, stratum: int, payload: bytes) -> Envelope:
        first, second = self._source.words(2)
        return Envelope(
            task=task.id,
            period=asked.period,
            question=asked.round.questions.index(question),
            stratum=stratum,
            id=(first << 64 | second).to_bytes(16, "big"),
            payload=payload,
        )

    def _send(self, entry: Entry) -> Entry:
        """Return the entry with what became of it. Whatever is not an answer by the collector, or the shuffler, leaves it pending."""
        relay = relay_of(self.task_id, self.ledger)
        transport = self._board.transport if relay is None else self._board.relay(relay)

        def upload() -> Response:
            if not self.ledger.consented(self.task_id):  # withdrawn while this one waited
                raise no_consent(self.task_id.hex())
            return transport.request("POST", sent.path, sent.body, {"content-type": sent.type})

        try:
            sent = addressed(entry.report, relay)
            answer = self._retries.answer(upload)
            state, code = outcome(answer, sent.id)
        except (OSError, WireError):  # no answer, or one that only looks like it, as of a hotel's login page
            return entry
        return entry if state == PENDING else self.ledger.settle(entry.number, state, code)


@contextmanager
def _answerable(task: Task, question: Question) -> Iterator[None]:
    """Raise a ProtocolError where a question of a round has no answer for a value: that is the collector's doing, not the app's."""
    try:
        yield
    except DomainError as error:
        if not task.rounds:
            raise
        # The board lets no such round pass, and the value is one of the task's.
        allowed = "a round that every value of the task can answer"
        raise ProtocolError(f"question {question.name!r}", "no answer", allowed=allowed, fix="do not trust this collector") from error


def outcome(answer: Response, report: bytes) -> tuple[str, str]:
    """Return what an answer says about a report: its state and code; WireError if it is not a collector's."""
    if answer.status == 201:
        return SENT, ""
    if is_temporary(answer.status):
        return PENDING, ""
    if answer.status != 200:
        code = error_code(answer)  # a proxy's 404 and a hotel's 403 say nothing about the report
        return (REFUSED, f"http_{answer.status}") if isinstance(code, str) and _CODE.fullmatch(code) else (PENDING, "")
    try:
        rejected = {item["id"]: item["code"] for item in json.loads(answer.body)["rejected"]}
        if report.hex() not in rejected:
            return SENT, ""
        if not _CODE.fullmatch(rejected[report.hex()]):  # a person will read it
            raise ValueError("not a code")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WireError("answer", answer.body, allowed="the list of rejected reports", fix="check the collector's address") from error
    return REFUSED, rejected[report.hex()]
