"""Admission: which reports may be stored now, decided in memory.

A device's clock may be wrong by some minutes, so a period is taken a little before it begins and for the task's ``late`` seconds after it
has ended. While the collector's own clock is in doubt, a report is refused only if it is out of time whichever time is right. Everything
else gets a code of its own. Tokens are verified here too, which takes some ten microseconds each: whoever brings any is judged outside of
the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from deniable.collect.clock import Moment
from deniable.collect.storage.block import Bucket
from deniable.collect.token_check import holds
from deniable.contract.admission import ASSIGNED, OPEN
from deniable.contract.assigned import has_assigned_seed
from deniable.contract.envelope import Envelope
from deniable.contract.question import Question
from deniable.contract.task import Task
from deniable.contract.wire import Layout, decode_report
from deniable.core.reports import Reports
from deniable.errors import WireError

SKEW = 300
"""How many seconds a device's clock may be ahead."""
MOST_TROUBLES = 8
"""How many parked periods a status explains."""
MANY = 8
"""From so many reports on, checking a column is cheaper than decoding one by one."""

Address = tuple[bytes, int, int, int]
"""Task, period or round, question and stratum."""
Rows = dict[Address, list[bytes]]
"""Rows of id and payload by address: what may be stored."""


@dataclass
class LiveTask:
    """A published task with what changes in its life: the round at hand, what is sealed, whether it is closed."""

    task: Task
    closed: bool = False
    round: int = 0
    questions: tuple[Question, ...] = ()
    opened: int = 0
    """When the round at hand was opened."""
    prolonged: dict[int, int] = field(default_factory=dict)
    """By round: how often it was found to have too few reports when its time was over, and was asked for as long again."""
    begun: set[int] = field(default_factory=set)
    """The numbers of periods, or of rounds, that have reports and are not sealed."""
    sealed: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)
    """Those that are sealed and whose reports are deleted, ids and all."""
    unreadable: str = ""
    """Why its questions cannot be read, as those of a task that an older version took."""
    parked: dict[int, str] = field(default_factory=dict)
    """Why the current round, or periods, could not be closed; each waits for somebody to ask for another try."""
    secret: bytes = b""
    """What those who take part share, where the task asks for that."""

    @property
    def trouble(self) -> str:
        """Why it waits for an admin; empty if it does not."""
        told = [why if self.task.rounds else f"period {number}: {why}" for number, why in self.parked.items()]
        return "; ".join(told[:MOST_TROUBLES]) or self.unreadable

    def asks(self, now: float) -> bool:
        """Whether devices are asked at a time: not before what was asked in a timed round's last time had ``late`` seconds to arrive."""
        times, passed = self.round_times(now)
        in_time = not self.task.period or (times == self.prolonged.get(self.round, 0) and passed < self.task.period)
        return not self.closed and now < self.task.end and (in_time or not self.task.rounds)

    def round_times(self, now: float) -> tuple[int, float]:
        """How often the time of the round at hand has passed, ``late`` included, and the seconds since it began anew."""
        if not self.task.period:
            return 0, 0.0
        times, passed = divmod(max(now - self.opened, 0.0), self.task.period + self.task.late)
        return int(times), passed

    def refusal(self, number: int, now: Moment) -> str | None:
        """Why a report for a period, or for a round, is not taken now; None if it is."""
        if number in self.sealed:
            return "sealed"
        if self.closed:
            return "closed"
        if self.task.rounds:
            if number != self.round:
                return "wrong_round"
            start, end = self.task.start, self.task.end
        elif number >= self.task.period_count:
            return "too_early"
        else:
            start, end = self.task.period_span(number)
        if now.latest < start - SKEW:
            return "too_early"
        return "too_late" if now.earliest >= end + self.task.late else None


class Admission:
    """The tasks at hand, and a memory of what they take in this second."""

    def __init__(self, *, shuffled: bool = False) -> None:
        """``shuffled`` reports come out of a batch; those that come one by one must not be for a task of shuffle trust."""
        self._shuffled = shuffled
        self.tasks: dict[bytes, LiveTask] = {}
        self._taken: dict[Address, tuple[LiveTask, Question, Layout]] = {}
        self._seconds = (0, 0)

    def forget(self) -> None:
        """Judge anew: a task, a round or a bucket has changed."""
        self._taken.clear()

    def admit(self, envelopes: Sequence[Envelope], now: Moment) -> tuple[Rows, list[tuple[int, str]]]:
        """What may be stored, and the position and code of what may not, in order."""
        seconds = int(now.earliest), int(now.latest)
        if seconds != self._seconds:
            self._seconds = seconds
            self._taken.clear()
        groups: dict[Address, tuple[LiveTask, Question, Layout, list[int]]] = {}
        rejected: list[tuple[int, str]] = []
        for position, envelope in enumerate(envelopes):
            address = envelope[:4]
            found = self._taken.get(address) or self._judge(address, now)
            if isinstance(found, str):
                rejected.append((position, found))
            elif (envelope.token or found[0].task.admission != OPEN) and not holds(found[0].task, found[0].secret, envelope):
                rejected.append((position, "bad_token"))
            elif found[0].task.seeds == ASSIGNED and not has_assigned_seed(found[1].spec, envelope):
                rejected.append((position, "bad_seed"))
            elif address in groups:
                groups[address][3].append(position)
            else:
                groups[address] = (*found, [position])
        rows: Rows = {}
        for address, (_, question, layout, positions) in groups.items():
            good = _well_formed(question, layout, envelopes, positions)
            if len(good) < len(positions):
                rejected += [(position, "bad_payload") for position in sorted(set(positions) - set(good))]
            if good:
                rows[address] = [envelopes[position].id + envelopes[position].payload for position in good]
        rejected.sort()
        return rows, rejected

    def _judge(self, address: Address, now: Moment) -> tuple[LiveTask, Question, Layout] | str:
        task, number, place, stratum = address
        live = self.tasks.get(task)
        if live is None:
            return "unknown_task"
        if live.task.mixing is not None and not self._shuffled:  # whatever its time: who sent it shows
            return "shuffled_only"
        code = live.refusal(number, now)
        if code is None and place >= len(live.questions):
            code = "bad_question"
        if code is None and stratum >= live.task.stratum_count:
            code = "bad_stratum"
        if code is not None:
            return code
        question = live.questions[place]
        self._taken[address] = found = live, question, question.spec.layout  # made anew at each call, so looked up once in a second
        return found


def bucket_of(address: Address) -> Bucket:
    """The bucket behind an address."""
    return Bucket(address[0], address[1])


def _well_formed(question: Question, layout: Layout, envelopes: Sequence[Envelope], positions: list[int]) -> list[int]:
    """The positions of the reports that the question's spec can decode."""
    if len(positions) >= MANY:
        try:
            Reports.from_rows(question.spec, b"".join([envelopes[position].payload for position in positions]))
        except WireError:
            pass  # one of them at least: found below
        else:
            width = sum(column.row_bytes for column in layout)
            if all(len(envelopes[position].payload) == width for position in positions):  # lengths may add up by chance
                return positions
    return [position for position in positions if _decodes(layout, envelopes[position].payload)]


def _decodes(layout: Layout, payload: bytes) -> bool:
    try:
        decode_report(layout, payload)
    except WireError:
        return False
    return True
