"""The roster: the current tasks and their changing state, kept up to date with the store.

A look at the store reads what may have changed since the last one: which tasks there are, the last round of each, which buckets are open,
and what became of those that were. What was sealed long ago is read once, when its task is first met.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from deniable.collect.admission import Admission, LiveTask
from deniable.collect.issuer import Issuer
from deniable.collect.registry import TaskRegistry
from deniable.collect.storage.attempts import Attempts
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.records import StoredBucket
from deniable.collect.storage.store import Store
from deniable.contract.protocol import Protocol
from deniable.contract.task import Task
from deniable.errors import DeniableError

OVER = ("sealed", "dropping", "dropped")
"""The states of a bucket that takes nothing more."""


class Roster:
    """Keeps ``admission.tasks`` as the store has them."""

    def __init__(self, store: Store, registry: TaskRegistry, issuer: Issuer, admission: Admission, attempts: Attempts) -> None:
        self._store = store
        self._registry = registry
        self._issuer = issuer
        self._admission = admission
        self._attempts = attempts
        self._open: set[Bucket] = set()
        self._reading = threading.Lock()

    def read(self, now: float) -> None:
        """Learn what has changed in the store, by this collector or another."""
        with self._reading:  # one at a time: who began to read earlier must not have the last word
            self._read(now)

    def _read(self, now: float) -> None:
        tasks, parked = {}, self._attempts.parked()
        for task, closed in self._store.closed().items():
            live = self._admission.tasks.get(task) or self._meet(task)
            if live is not None:
                here = self._at_round(live, now)
                waits = {n: why for n, why in parked.get(task, {}).items() if n == here.round or not live.task.rounds}
                tasks[task] = replace(here, closed=closed, parked=waits, secret=live.secret or self._issuer.secret(live.task))
        for task, live in self._admission.tasks.items():  # what was begun here since the last look may be over already
            self._open |= {Bucket(task, number) for number in live.begun - live.sealed}
        open_now = {stored.bucket for stored in self._store.unfinished() if stored.state == "open"}
        for bucket in open_now:
            if bucket.task in tasks and bucket.number not in tasks[bucket.task].sealed:
                tasks[bucket.task].begun.add(bucket.number)
        _end(tasks, self._store.find(self._open - open_now))
        self._open = open_now
        self._admission.tasks = tasks
        self._admission.forget()

    def learn(self, buckets: Collection[Bucket]) -> None:
        """Learn what became of a few buckets that another collector may have begun and sealed between two looks."""
        _end(self._admission.tasks, self._store.find(buckets))

    def _meet(self, task: bytes) -> LiveTask | None:
        """A task that was not known yet, with all that was sealed of it; None if it is deleted meanwhile."""
        row = self._store.task(task)
        if row is None:
            return None
        live = LiveTask(Task.from_json(row.canonical), round=-1)
        if not live.task.rounds:
            live = _with_questions(replace(live, round=0), lambda: live.task.survey)
        _end({task: live}, self._store.buckets(task, OVER))
        return live

    def _at_round(self, live: LiveTask, now: float) -> LiveTask:
        """The task in its last round; those before it are sealed. The sets stay the same objects: others add to them meanwhile."""
        last = self._store.last_round(live.task.id) if live.task.rounds and not live.closed else None
        if last is None or last[0] == live.round:
            return live
        live.sealed.update(range(last[0]))
        found = _with_questions(replace(live, round=last[0], opened=last[1]), lambda: self._registry.state(live.task.id, last[0]))
        found.prolonged[last[0]] = found.round_times(now)[0]  # one that is met late is asked to the end of the time it is met in
        return found


def _with_questions(live: LiveTask, state: Callable[[], Protocol]) -> LiveTask:
    """The task with the questions of a protocol's state. One that cannot be read must not keep the others from being collected."""
    try:
        return replace(live, questions=state().open().questions, unreadable="")
    except DeniableError as error:
        return replace(live, questions=(), unreadable=str(error))


def _end(tasks: Mapping[bytes, LiveTask], found: Iterable[StoredBucket]) -> None:
    for stored in found:
        task, number = stored.bucket
        if stored.state != "open" and task in tasks:
            tasks[task].sealed.add(number)
            tasks[task].begun.discard(number)
            if stored.state in ("dropping", "dropped"):
                tasks[task].dropped.add(number)
