"""The collector without its network: what it takes, when it counts, and how its tasks go on.

Everything that depends on time goes through the clock that was given. ``tend`` is called every second or so; what it does may be done by
several collectors of one database, and any of them may be killed in between: each step is one transaction, and is done once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

from deniable.collect.admission import Admission, LiveTask, Rows, bucket_of
from deniable.collect.issuing import Issuer
from deniable.collect.registry import Registry
from deniable.collect.storage.block import ID_BYTES, Block, Bucket, total
from deniable.collect.storage.database import database_errors
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.records import StoredBucket
from deniable.collect.storage.store import Store, Tallies
from deniable.contract.admission import TOKEN
from deniable.contract.envelope import Envelope
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question
from deniable.contract.task import Task
from deniable.errors import ParameterError, ProtocolError
from deniable.testing.faults import fault_point

DAY = 86_400


class Collector:
    """One collector: tasks in, reports in, sealed tallies out."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.clock = clock
        self.registry = Registry(store)
        self.issuer = Issuer(store)
        self.admission = Admission()
        self._begun: set[Bucket] = set()
        self._refreshing = threading.Lock()
        self.refresh()

    # --- tasks ---

    def refresh(self) -> None:
        """Learn what has changed in the store, by this collector or another."""
        with self._refreshing:  # one at a time: who began to read earlier must not have the last word
            self._read()

    def _read(self) -> None:
        tasks = {}
        for row in self.store.tasks():
            before = self.admission.tasks.get(row.id)
            live = before or LiveTask(Task.from_json(row.canonical))
            if live.task.rounds:
                number, questions = self.registry.round_at_hand(row.id)
            else:
                number, questions = 0, live.task.survey.questions
            tasks[row.id] = LiveTask(live.task, row.closed, number, questions, secret=live.secret or self.issuer.secret(live.task))
        for stored in self.store.buckets():
            if stored.state != "open" and stored.bucket.task in tasks:
                tasks[stored.bucket.task].sealed.add(stored.bucket.period)
            if stored.state in ("dropping", "dropped") and stored.bucket.task in tasks:
                tasks[stored.bucket.task].dropped.add(stored.bucket.period)
        self.admission.tasks = tasks
        self.admission.forget()

    def publish(self, task: Task, *, new_meaning: bool = False) -> None:
        """Sign a task, log it, and begin to collect."""
        self.issuer.prepare(task)
        self.registry.publish(task, self.clock(), new_meaning=new_meaning)
        self.refresh()

    def task(self, task: bytes) -> LiveTask:
        """A published task; ParameterError if there is none."""
        if task not in self.admission.tasks:
            raise ParameterError("task", task.hex(), allowed="the id of a published task", fix="see the list of tasks")
        return self.admission.tasks[task]

    def close_task(self, task: bytes) -> None:
        """Take no more reports, and count those that are there."""
        self.task(task)
        self.registry.close(task)
        self.refresh()
        for stored in self.store.buckets(task):
            self.seal(task, stored.bucket.period)

    def delete_task(self, task: bytes) -> None:
        """Forget a task with its reports and tallies; the public log keeps that it was there."""
        live = self.task(task)
        self.registry.close(task)
        self.store.delete_task(task)
        self.issuer.forget(live.task)
        self.refresh()

    # --- reports ---

    def admit(self, envelopes: Sequence[Envelope]) -> tuple[Rows, list[tuple[int, str]]]:
        """What may be stored now, and the position and code of what may not."""
        return self.admission.admit(envelopes, self.clock())

    def append(self, rows: Rows) -> frozenset[Bucket]:
        """Make reports durable; the buckets returned were sealed meanwhile. StorageError if nothing was stored."""
        blocks: dict[Bucket, list[Block]] = {}
        for address, parts in rows.items():
            block = Block.of(address[2], address[3], len(parts[0]) - ID_BYTES, b"".join(parts))
            blocks.setdefault(bucket_of(address), []).append(block)
        for bucket in blocks.keys() - self._begun:
            try:
                with database_errors():
                    self.store.begin_bucket(bucket)
            except StorageError:
                self.store.log.doubt()
                raise
            self._begun.add(bucket)
        sealed = self.store.log.append(blocks)
        fault_point("reports durable")
        for task, period in sealed:  # perhaps by another collector: whoever asks next which ids it holds must be told
            live = self.admission.tasks.get(task)
            if live is not None:
                live.sealed.add(period)
        return sealed

    def known(self, envelopes: Sequence[Envelope]) -> frozenset[bytes]:
        """The ids among these that a sealed bucket holds: sending those again is a success."""
        sent: dict[Bucket, list[Envelope]] = {}
        for envelope in envelopes:
            live = self.admission.tasks.get(envelope.task)
            if live is not None and envelope.period in live.sealed and envelope.period not in live.dropped:
                sent.setdefault(Bucket(envelope.task, envelope.period), []).append(envelope)
        known: set[bytes] = set()
        with database_errors(), self.store.reading() as connection:
            for bucket, again in sent.items():  # a device sends the same bytes again: anyone may ask, so only one block is searched
                addresses = [(envelope.question, envelope.stratum) for envelope in again]
                known |= self.store.log.sealed_ids(connection, bucket, [envelope.id for envelope in again], addresses)
        return frozenset(known)

    def ready(self) -> str | None:
        """Why no report can be stored now; None if it can."""
        try:
            with database_errors(), self.store.reading() as connection:
                connection.exec_driver_sql("SELECT 1")
            return self.store.log.trouble()
        except (StorageError, OSError) as error:
            return str(error)

    # --- counting ---

    def questions(self, bucket: Bucket) -> tuple[Question, ...]:
        """What was asked in a bucket, candidates included."""
        live = self.task(bucket.task)
        return self.registry.state(bucket.task, bucket.period).open().questions if live.task.rounds else live.task.survey.questions

    def seal(self, task: bytes, period: int) -> None:
        """Count a period; reports that come for it later are refused."""
        bucket = Bucket(task, period)
        live = self.task(task)
        self.store.seal(bucket, self.questions(bucket), self.clock(), once=live.task.admission == TOKEN)
        live.sealed.add(period)
        self.admission.forget()

    def tallies(self, task: bytes, periods: Collection[int] | None = None) -> Tallies:
        """Tallies by period, question and stratum, of some periods or all: sealed ones, and for open periods what is there so far."""
        found: Tallies = {}
        for stored in self.store.buckets(task):
            period = stored.bucket.period
            if stored.state == "open" and (periods is None or period in periods):
                once = self.task(task).task.admission == TOKEN
                tallies = self.store.snapshot(stored.bucket, self.questions(stored.bucket), once=once)
                found |= {(period, *address): tally for address, tally in tallies.items()}
        return found | self.store.tallies(task, periods)  # read last: a period that is sealed meanwhile is here, whole

    # --- rounds ---

    def advance(self, task: bytes) -> bool:
        """Close the round at hand; True if another one was opened, False if the protocol has its result."""
        live = self.task(task)
        if not live.task.rounds or live.closed:
            raise ProtocolError("task", live.task.name, allowed="an open task of several rounds", fix="seal a period of this one instead")
        return self._close_round(live)

    def _close_round(self, live: LiveTask) -> bool:
        """Close the round that a task was seen in: what was done for it meanwhile is not done to the one that followed."""
        task, number = live.task.id, live.round
        self.seal(task, number)
        fault_point("round sealed")
        after = self.outcome(task, number)
        if isinstance(after, Protocol):
            self.registry.open_round(live.task, number + 1, after, self.clock())
        else:
            self.registry.close(task)
        fault_point("next round opened")
        self.refresh()
        return isinstance(after, Protocol)

    def outcome(self, task: bytes, number: int) -> Protocol | dict[str, object]:
        """What a sealed round led to: the next state, or the result."""
        state = self.registry.state(task, number)
        asked = state.open().questions
        tallies = self.store.tallies(task, [number])
        return state.close({question.name: total(question, i, tallies) for i, question in enumerate(asked)})

    # --- time ---

    def tend(self) -> list[str]:
        """Seal what is over, open the rounds that are due, delete what was kept long enough; says in words what was done."""
        self.refresh()
        now, lives = self.clock(), self.admission.tasks
        steps: list[Callable[[], str | None]] = [self.store.sweep]
        steps += [partial(self._tend_rounds, live, now) for live in lives.values() if live.task.rounds and not live.closed]
        buckets = [stored for stored in self.store.buckets() if stored.bucket.task in lives]
        uncounted = {stored.bucket.task for stored in buckets if stored.state == "open"}
        steps += [partial(self._tend_bucket, stored, now, stored.bucket.task in uncounted) for stored in buckets]
        done, failed = [], []
        for step in steps:
            try:
                done.append(step())
            except Exception as error:  # raised below: what is damaged must not keep the rest from being counted
                failed.append(error)
        if failed:
            raise failed[0]
        return [words for words in done if words]

    def _tend_bucket(self, stored: StoredBucket, now: float, uncounted: bool) -> str:
        task, period = stored.bucket
        live = self.task(task)
        needed = uncounted and live.task.admission == TOKEN  # after a long stop: its ids tell which tokens were spent
        if stored.state == "open" and (live.closed or (not live.task.rounds and now >= live.task.period_span(period)[1] + live.task.late)):
            self.seal(task, period)
            return f"sealed {stored.bucket}"
        if stored.state == "dropping" or (
            stored.state == "sealed" and not needed and now >= (stored.sealed or 0) + live.task.retention * DAY
        ):
            live.dropped.add(period)
            self.store.drop_reports(stored.bucket)
            return f"dropped the reports of {stored.bucket}"
        return ""

    def _tend_rounds(self, live: LiveTask, now: float) -> str:
        opened = self.registry.opened_at(live.task.id, live.round)
        over = live.task.period and now >= opened + live.task.period + live.task.late
        if live.round in live.sealed or over or now >= live.task.end + live.task.late:  # sealed: a collector stopped in between
            more = self._close_round(live)
            return f"closed round {live.round} of {live.task.name}, " + ("opened the next" if more else "the last")
        return ""
