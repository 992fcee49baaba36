"""What a collector takes and keeps: tasks, reports one by one and in batches, and the tallies of what is sealed.

Everything that depends on time goes through the clock that was given; what cannot be undone goes by ``now``, which does not follow that
clock when it jumps ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from deniable.client.answerable import check_answerable
from deniable.collect.admission import Admission, LiveTask, Rows, bucket_of
from deniable.collect.batch_intake import Received, Receiver
from deniable.collect.clock import SYSTEM_CLOCK, Watch
from deniable.collect.faults import fault_point
from deniable.collect.issuer import Issuer
from deniable.collect.keys import AnalystKeys
from deniable.collect.registry import TaskRegistry
from deniable.collect.roster import Roster
from deniable.collect.round_process import Outcome, finish
from deniable.collect.storage.attempts import Attempts
from deniable.collect.storage.batches import Batches
from deniable.collect.storage.block import ID_BYTES, Block, Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.store import Store, Tallies
from deniable.collect.tasks.limits import check_size, protocol_of
from deniable.contract.admission import TOKEN
from deniable.contract.batch import Batch
from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.envelope import Envelope
from deniable.contract.question import Question
from deniable.contract.source import SYSTEM
from deniable.contract.task import Task
from deniable.errors import ParameterError


class Intake:
    """What a collector takes and keeps: tasks in, reports in, tallies out. When a period or a round is over, ``Collector`` decides."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = SYSTEM_CLOCK) -> None:
        self.store = store
        self.clock = clock
        self.watch = Watch(clock)
        self.registry = TaskRegistry(store)
        self.issuer = Issuer(store.catalog)
        self.admission = Admission()
        self.attempts = Attempts(store.catalog, draw_bytes(SYSTEM, 16))
        self._roster = Roster(store, self.registry, self.issuer, self.admission, self.attempts)
        self._begun: set[Bucket] = set()
        self.keys = AnalystKeys(store.catalog, store.signing_key())
        self.batches = Batches(store)
        self._receiver = Receiver(self.batches, self.keys, self.append)
        self.refresh()
        with suppress(StorageError):  # a full disk must not keep it from starting: ``tend`` tries again and reports it
            self.finish_batches()  # before anything is sealed

    def now(self) -> float:
        """The time that counting goes by: the clock's, or while that is in doubt what it should be."""
        return self.watch.now().earliest

    # --- tasks ---

    def refresh(self) -> None:
        """Learn what has changed in the store, by this collector or another."""
        self._roster.read(self.now())

    def publish(self, task: Task, *, new_meaning: bool = False) -> None:
        """Sign a task, log it, and begin to collect."""
        if task.mixing is not None:
            from deniable.collect.tasks.batch_price import check_claim  # here: a collector that publishes nothing starts without

            check_claim(task)
        protocol = protocol_of(task)
        check_size(task, protocol)
        if task.rounds:
            check_answerable(task, protocol.open())  # as devices do: a task that nobody answers stays for good
        self.issuer.prepare(task)
        self.registry.publish(task, self.now(), new_meaning=new_meaning)
        self.refresh()
        self.tend_keys()

    def task(self, task: bytes) -> LiveTask:
        """A published task; ParameterError if there is none."""
        if task not in self.admission.tasks:
            raise ParameterError("task", task.hex(), allowed="the id of a published task", fix="look up the id in the list of tasks")
        return self.admission.tasks[task]

    def delete_task(self, task: bytes) -> None:
        """Forget a task with its reports and tallies; what it asked stays beside its entry in the public log."""
        live = self.task(task)
        self.registry.close(task)
        self.store.delete_task(task)
        self.issuer.forget(live.task)
        self.refresh()

    # --- reports ---

    def admit(self, envelopes: Sequence[Envelope]) -> tuple[Rows, list[tuple[int, str]]]:
        """What may be stored now, and the position and code of what may not."""
        return self.admission.admit(envelopes, self.watch.now())

    def append(self, rows: Rows) -> frozenset[Bucket]:
        """Make reports durable; the buckets returned were sealed meanwhile. StorageError if nothing was stored."""
        blocks: dict[Bucket, list[Block]] = {}
        for address, parts in rows.items():
            block = Block.of(address[2], address[3], len(parts[0]) - ID_BYTES, b"".join(parts))
            blocks.setdefault(bucket_of(address), []).append(block)
        for bucket in blocks.keys() - self._begun:
            try:
                self.store.begin_bucket(bucket)
            except StorageError:
                self.store.log.doubt()
                raise
            self._begun.add(bucket)
        sealed = self.store.log.append(blocks)
        fault_point("reports durable")
        for bucket in blocks:
            live = self.admission.tasks.get(bucket.task)
            if live is not None:  # sealed perhaps by another collector: whoever asks next which ids it holds must be told
                (live.sealed if bucket in sealed else live.begun).add(bucket.number)
        return sealed

    def receive(self, batch: Batch) -> Received:
        """Take a shuffled batch that its task's last shuffler signed; BatchRefused if it may not be taken."""
        return self._receiver.receive(self.task(batch.manifest.task), batch, self.watch.now())

    def finish_batches(self) -> str | None:
        """Finish the shuffled batches that were interrupted; says in words what was done."""
        return self._receiver.recover()

    def tend_keys(self) -> str | None:
        """Make and delete keys for sealed reports as their time comes; says in words what was done."""
        return self.keys.tend([live.task for live in self.admission.tasks.values()], self.now())

    def uncounted(self, envelopes: Sequence[Envelope]) -> bool:
        """Whether one of these is for a bucket that takes no more and is not sealed yet: nobody can say now what it holds."""
        lives = ((self.admission.tasks.get(envelope.task), envelope.period) for envelope in envelopes)
        return any(live is not None and period in live.begun and period not in live.sealed for live, period in lives)

    def known(self, envelopes: Sequence[Envelope]) -> frozenset[bytes]:
        """The ids among these that a sealed bucket holds: sending those again is a success."""
        lives = self.admission.tasks
        asked = {Bucket(*envelope[:2]) for envelope in envelopes if envelope.task in lives}
        self._roster.learn({bucket for bucket in asked if bucket.number not in lives[bucket.task].sealed})
        sent: dict[Bucket, list[Envelope]] = {}
        for envelope in envelopes:
            live = lives.get(envelope.task)
            if live is not None and envelope.period in live.sealed and envelope.period not in live.dropped:
                sent.setdefault(Bucket(envelope.task, envelope.period), []).append(envelope)
        # A device sends the same bytes again: anyone may ask, so only one block is searched for each.
        asked_for = {
            bucket: ([envelope.id for envelope in again], [(envelope.question, envelope.stratum) for envelope in again])
            for bucket, again in sent.items()
        }
        return frozenset(self.store.sealed_ids(asked_for))

    def is_full(self, rows: Rows, most: int) -> bool:
        """True if a bucket that these rows are for takes so many bytes or more."""
        return any(self.store.log.is_full(Bucket(*bucket), most) for bucket in {address[:2] for address in rows})

    def ready(self) -> str | None:
        """Why no report can be stored now; None if it can."""
        try:
            self.store.catalog.check()
            return self.store.log.trouble()
        except (StorageError, OSError) as error:
            return str(error)

    # --- counting ---

    def questions(self, bucket: Bucket) -> tuple[Question, ...]:
        """What was asked in a bucket, candidates included."""
        live = self.task(bucket.task)
        return self.registry.state(bucket.task, bucket.number).open().questions if live.task.rounds else live.task.survey.questions

    def seal(self, task: bytes, number: int) -> None:
        """Count a period, or in a task of several rounds a round; reports that come for it later are refused."""
        bucket = Bucket(task, number)
        live = self.task(task)
        self.store.seal(bucket, self.questions(bucket), self.now(), once=live.task.admission == TOKEN)
        live.sealed.add(number)
        live.begun.discard(number)
        self.admission.forget()

    def tallies(self, task: bytes, periods: Collection[int] | None = None) -> Tallies:
        """Tallies by period, question and stratum, of some periods or all: sealed ones, and for open periods what is there so far."""
        live = self.task(task)
        once = live.task.admission == TOKEN
        found = {} if live.unreadable else self.store.open_tallies(task, self.questions, periods, once=once)
        return found | self.store.tallies(task, periods)  # read last: a period that is sealed meanwhile is here, whole

    def lacks_reports(self, live: LiveTask) -> bool:
        """Whether the round at hand has fewer reports than the task's minimum batch."""
        return self.reports_now(live) < live.task.minimum_batch

    def reports_now(self, live: LiveTask) -> int:
        """The reports that the current round would be sealed with now."""
        found = self.store.open_counts(live.task.id, [live.round], once=live.task.admission == TOKEN)
        return found.get(live.round, 0)

    def outcome(self, task: bytes, number: int, *, alone: bool = False) -> Outcome:
        """What a sealed round led to: the next state, or the result. In a process of its own if that is heavy, or asked for ``alone``."""
        state = self.registry.state(task, number)
        asked = state.open().questions
        return finish(state, self.store.totals(task, number, asked), alone=alone)
