"""The registry: tasks and rounds as they were published, signed with the collector's key, each in the public log."""

from __future__ import annotations

import hashlib
from functools import cached_property

from deniable.collect.storage.public_log import Extension, PublicLog
from deniable.collect.storage.records import StoredRound, StoredTask
from deniable.collect.storage.store import Store
from deniable.collect.tasks.compatibility import changes_of_meaning
from deniable.contract.ed25519 import ROUND_CONTEXT, TASK_CONTEXT
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.public_log import LOG_CONTEXT, LogEntry, log_record
from deniable.contract.task import OpenedRound, Task
from deniable.errors import ParameterError, ProtocolError
from deniable.sealing.identity import public_key, sign


class TaskRegistry:
    """What was published. Nothing in here is ever changed, only added."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._published = PublicLog(store.catalog)
        self._states: dict[tuple[bytes, int], Protocol] = {}
        self._seed = store.signing_key()  # now: in the middle of a transaction, reading it would wait for that transaction to end

    @cached_property
    def key(self) -> bytes:
        """The public key that devices find in every task."""
        return public_key(self._seed)

    def sampling_key(self, task: bytes) -> bytes:
        """What only this collector knows, and devices cannot reckon with: by it reports are chosen to be tested."""
        return hashlib.sha256(b"deniable sample 1\n" + task + self._seed).digest()

    # --- publication ---

    def publish(self, task: Task, now: float, *, new_meaning: bool = False) -> None:
        """Sign and log a task; harmless if it was published before.

        A task under the name of an earlier one must mean the same, unless the caller says that it is meant to differ.
        """
        if task.key != self.key:
            raise ParameterError(
                "key", task.key.hex(), allowed=f"this collector's key {self.key.hex()}", fix="publish the task from its TOML file"
            )
        with self._published.extension() as log:
            if log.has_task(task.id):
                return
            before = log.last_of(task.name)
            if before is not None:  # a meaning that was changed on purpose is the meaning from then on
                changes = changes_of_meaning(Task.from_json(before[1]), task)
                if changes and not new_meaning:
                    allowed = f"what the task {before[0].hex()[:12]} of this name means"
                    raise ParameterError(
                        task.name, "; ".join(changes), allowed=allowed, fix="choose another name, or publish with new_meaning"
                    )
            if log.was_published(task.id):
                # Its rounds would open again under the same numbers, and people who answered before would be asked again.
                raise ParameterError(
                    "task",
                    task.id.hex(),
                    allowed="a task that was not deleted before",
                    fix="change the task, for example its start, to ask again",
                )
            signature = sign(self._seed, TASK_CONTEXT, task.canonical)
            log.add_task(StoredTask(task.id, task.canonical, signature, closed=False), task.name)
            self._log(log, "task", task.id, task.canonical)
            if task.rounds:
                self._open(log, task, 0, protocol_from_json(task.protocol), now)

    def open_round(self, task: Task, number: int, state: Protocol, now: float) -> None:
        """Sign and log a round; harmless if it was opened before."""
        with self._published.extension() as log:
            if not log.has_round(task.id, number):
                self._open(log, task, number, state, now)

    def close(self, task: bytes) -> None:
        """Log that a task takes no more reports; harmless if that was done before."""
        with self._published.extension() as log:
            if log.close_task(task):
                self._log(log, "closed", task, b"")

    # --- reading ---

    def opened(self, task: bytes) -> StoredRound | None:
        """Return the current round, as devices get it; None if the task has none."""
        last = self._store.last_round(task)
        return None if last is None else self._store.round(task, last[0])

    def state(self, task: bytes, number: int) -> Protocol:
        """The protocol's state in a round."""
        if (task, number) not in self._states:
            found = self._store.round(task, number)
            if found is None:
                raise ProtocolError("round", number, allowed="a round that was opened", fix="look up the rounds in the task's status")
            self._states[task, number] = protocol_from_json(found.state)
        return self._states[task, number]

    def entries(self, after: int = -1, most: int = 1000) -> list[LogEntry]:
        """The public log after an entry, oldest first."""
        return self._published.entries(after, most)

    # --- inside ---

    def _open(self, log: Extension, task: Task, number: int, state: Protocol, now: float) -> None:
        opened = OpenedRound(
            task=task.id, number=number, scale=state.scale, round=state.open(), state=hashlib.sha256(state.canonical).digest()
        )
        signature = sign(self._seed, ROUND_CONTEXT, opened.canonical)
        log.add_round(task.id, StoredRound(number, int(now), state.canonical, opened.canonical, signature))
        self._log(log, "round", task.id, opened.canonical, number)

    def _log(self, log: Extension, kind: str, task: bytes, content: bytes, number: int | None = None) -> None:
        last = log.last_entry()
        sequence, previous = (0, bytes(32)) if last is None else (last[0] + 1, last[1])
        record = log_record(sequence, kind, task, content, previous, period=number)
        log.add_entry(sequence, task, LogEntry(record, sign(self._seed, LOG_CONTEXT, record)), hashlib.sha256(record).digest())
