"""The roster: the tasks at hand with what changes in their lives, kept up to date with the store.

A look at the store reads what may have changed since the last one: which tasks there are, the last round of each, which buckets are open,
and what became of those that were. What was sealed long ago is read once, when its task is first met.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from deniable.collect.admission import Admission, LiveTask
from deniable.collect.issuing import Issuer
from deniable.collect.registry import Registry
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.records import StoredBucket
from deniable.collect.storage.store import Store
from deniable.contract.task import Task

OVER = ("sealed", "dropping", "dropped")
"""The states of a bucket that takes nothing more."""


class Roster:
    """Keeps ``admission.tasks`` as the store has them."""

    def __init__(self, store: Store, registry: Registry, issuer: Issuer, admission: Admission) -> None:
        self._store = store
        self._registry = registry
        self._issuer = issuer
        self._admission = admission
        self._open: set[Bucket] = set()
        self._reading = threading.Lock()

    def read(self) -> None:
        """Learn what has changed in the store, by this collector or another."""
        with self._reading:  # one at a time: who began to read earlier must not have the last word
            self._read()

    def _read(self) -> None:
        tasks = {}
        for task, closed in self._store.closed().items():
            live = self._admission.tasks.get(task) or self._meet(task)
            if live is not None:
                tasks[task] = replace(self._at_round(live), closed=closed, secret=live.secret or self._issuer.secret(live.task))
        open_now = {stored.bucket for stored in self._store.unfinished() if stored.state == "open"}
        for bucket in open_now:
            if bucket.task in tasks and bucket.period not in tasks[bucket.task].sealed:
                tasks[bucket.task].begun.add(bucket.period)
        for stored in self._store.find(self._open - open_now):
            if stored.bucket.task in tasks:
                _end(tasks[stored.bucket.task], stored)
        self._open = open_now
        self._admission.tasks = tasks
        self._admission.forget()

    def _meet(self, task: bytes) -> LiveTask | None:
        """A task that was not known yet, with all that was sealed of it; None if it is deleted meanwhile."""
        row = self._store.task(task)
        if row is None:
            return None
        live = LiveTask(Task.from_json(row.canonical), round=-1)
        if not live.task.rounds:
            live = replace(live, round=0, questions=live.task.survey.questions)
        for stored in self._store.buckets(task, OVER):
            _end(live, stored)
        return live

    def _at_round(self, live: LiveTask) -> LiveTask:
        """The task in its last round. The sets of periods stay the same objects: others add to them meanwhile."""
        last = self._store.last_round(live.task.id) if live.task.rounds and not live.closed else None
        if last is None or last[0] == live.round:
            return live
        questions = self._registry.state(live.task.id, last[0]).open().questions
        return replace(live, round=last[0], opened=last[1], questions=questions, prolonged=0)


def _end(live: LiveTask, stored: StoredBucket) -> None:
    period = stored.bucket.period
    if stored.state != "open":
        live.sealed.add(period)
        live.begun.discard(period)
    if stored.state in ("dropping", "dropped"):
        live.dropped.add(period)
