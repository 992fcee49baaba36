"""The collector without its network: an intake whose periods and rounds end, once, when they are over or when somebody asks.

Reports are deleted when their retention is over. ``tend`` does all that is due, and is called every second or so.

Any of several collectors of one database may do it, and each of them may be killed in between: every step is one transaction, and is done
once. What was done for a round meanwhile is not done to the one that followed. What was sealed long ago is not looked at before its reports
are due to be deleted. What cannot be closed is parked: whatever is wrong with it, trying again and again would take the other tasks' time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from deniable.collect.admission import LiveTask
from deniable.collect.faults import fault_point
from deniable.collect.intake import Intake
from deniable.collect.round_process import UnfinishedError
from deniable.collect.storage.attempts import TRIES, Attempt
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.records import StoredBucket
from deniable.contract.admission import TOKEN
from deniable.contract.protocol import Protocol
from deniable.errors import ProtocolError

DAY = 86_400
STORAGE = (StorageError, OSError)
"""What fails where the database is away or the disk is full: that passes."""
Step = Callable[[], str | None]
"""Does something if it is due, and says in words what."""


class Collector(Intake):
    """One collector: tasks in, reports in, sealed tallies out."""

    # --- closing, once ---

    def close_task(self, task: bytes, *, again: bool = True) -> None:
        """Take no more reports, and count those that are there; those of parked periods only if that is asked for ``again``."""
        self.task(task)
        self.registry.close(task)
        self.refresh()
        for stored in self.store.buckets(task, ["open"]):
            self.close_period(stored.bucket, again=again)

    def close_period(self, bucket: Bucket, *, again: bool) -> bool:
        """Close a period; False if it is parked and nobody asks for it ``again``, or if another collector is at it.

        A period that cannot be closed raises, and is parked.
        """
        with self._attempt(bucket, again=again) as attempt:
            if attempt is not None:
                self.seal(*bucket)
        if again:
            self.refresh()  # it is no longer parked
        return attempt is not None

    def advance(self, task: bytes, number: int | None = None, *, force: bool = False) -> bool:
        """Close the current round; True if another one was opened, False if the protocol has its result.

        ProtocolError if the current round is not ``number``, or if it has fewer reports than the task's minimum batch and is not closed
        by ``force``.
        """
        self.refresh()
        live = self.task(task)
        if not live.task.rounds or live.closed:
            raise ProtocolError("task", live.task.name, allowed="an open task of several rounds", fix="close a period of this task instead")
        if number is not None and number != live.round:
            raise ProtocolError(
                "round", number, allowed=f"{live.round}, the current round", fix="check the task's status: this round is closed already"
            )
        if not force and live.round not in live.sealed and self.lacks_reports(live):
            allowed = f"{live.task.minimum_batch:,} reports or more in round {live.round}, as the task promises"
            raise ProtocolError("round", "fewer", allowed=allowed, fix="wait, or use force, which can reveal what the few people answered")
        more = self.close_round(live, again=True)
        if more is None:
            raise ProtocolError(
                "round", live.round, allowed="a round that nobody else is closing", fix="wait: another collector is closing it"
            )
        return more

    def close_round(self, live: LiveTask, *, again: bool = False) -> bool | None:
        """Close the round that a task was seen in; True if another round was opened.

        None if the round is parked and nobody asks for it ``again``, or if another collector is at it. A round that cannot be closed
        raises, and is parked.
        """
        task, number = live.task.id, live.round
        with self._attempt(Bucket(task, number), again=again) as attempt:
            if attempt is None:
                return None
            self.seal(task, number)
            fault_point("round sealed")
            after = self.outcome(task, number, alone=attempt.tries > 1)
            if isinstance(after, Protocol):
                self.registry.open_round(live.task, number + 1, after, self.now())
            else:
                self.registry.close(task)
            fault_point("next round opened")
        self.refresh()
        return isinstance(after, Protocol)

    @contextmanager
    def _attempt(self, bucket: Bucket, *, again: bool) -> Iterator[Attempt | None]:
        """One attempt, on record before anything is read: a process that dies in it is found out. What fails is parked."""
        attempt = self.attempts.begin(*bucket, self.now(), again=again)
        try:
            if attempt is not None and attempt.tries > TRIES:
                fix = "check the free memory, then try again"
                raise UnfinishedError("closing", f"{TRIES} processes that died", allowed="a process that finishes", fix=fix)
            yield attempt
            if attempt is not None:
                self.attempts.done(*bucket)
        except STORAGE:
            with suppress(*STORAGE):
                self.attempts.done(*bucket)  # this process did not die of it
            raise  # the database's trouble or the disk's, not the round's or the period's: it is tried again
        except Exception as error:
            self.attempts.park(*bucket, self.now(), f"{type(error).__name__}: {error}")
            self.refresh()
            raise

    # --- what is due ---

    def tend(self, say: Callable[[str], object] = bool) -> list[str]:
        """Do what is due, and say of each step what was done; the first error is raised when all were tried."""
        self.watch.follow()
        self.refresh()
        done, failed = [], []
        for step in self._steps(self.now()):
            try:
                words = step()
            except Exception as error:  # raised below: what is damaged must not keep the rest from being counted
                failed.append(error)
            else:
                if words:
                    done.append(words)
                    say(words)
        if failed:
            raise failed[0]
        return done

    def _steps(self, now: float) -> Iterator[Step]:
        lives, store = self.admission.tasks, self.store
        yield store.sweep
        yield store.log.compact
        yield self.tend_keys
        yield self.finish_batches
        for live in lives.values():
            if live.task.rounds and not live.closed:
                yield partial(self._tend_round, live, now)
        unfinished = [stored for stored in store.unfinished() if stored.bucket.task in lives]
        for stored in unfinished:
            yield partial(self._seal_if_over, stored, now) if stored.state == "open" else partial(self._drop, stored)
        # A token counts once in all periods, and the ids of those that are sealed tell which were spent: after a long stop they are needed.
        needed = {each.bucket.task for each in unfinished if each.state == "open" and lives[each.bucket.task].task.admission == TOKEN}
        kept = {task: now - live.task.retention * DAY for task, live in lives.items() if task not in needed}
        for stored in store.sealed_until(kept):
            yield partial(self._drop, stored)

    def _seal_if_over(self, stored: StoredBucket, now: float) -> str | None:
        task, period = stored.bucket
        live = self.task(task)
        if not live.closed and (live.task.rounds or now < live.task.period_span(period)[1] + live.task.late):
            return None
        if period in live.parked:
            return None  # until somebody asks for another attempt
        try:
            return f"sealed {stored.bucket}" if self.close_period(stored.bucket, again=False) else None
        except Exception:  # whatever made it fail, it is parked by now and reported, or it is raised
            why = self.task(task).parked.get(period)
            if why is None:
                raise  # the storage's trouble: it is tried again
            return f"parked period {period} of {live.task.name}, which cannot be closed: {why}"

    def _drop(self, stored: StoredBucket) -> str:
        self.task(stored.bucket.task).dropped.add(stored.bucket.number)
        self.store.drop_reports(stored.bucket)
        return f"dropped the reports of {stored.bucket}"

    def _tend_round(self, live: LiveTask, now: float) -> str | None:
        """Close the current round if its time is over and it has enough reports, or if a collector that was stopped began to close it."""
        if live.trouble:
            return None  # until somebody asks for another attempt
        times, _ = live.round_times(now)
        over, few = now >= live.task.end + live.task.late, f"fewer than {live.task.minimum_batch:,} reports in round {live.round}"
        if live.round not in live.sealed:
            if not over and times <= live.prolonged.get(live.round, 0):
                return None
            if self.lacks_reports(live):
                if over:
                    self.close_task(live.task.id, again=False)
                    return f"closed {live.task.name} without a result: {few}"
                live.prolonged[live.round] = times
                return f"prolonged {live.task.name}: {few}"
        return self._close_due_round(live)

    def _close_due_round(self, live: LiveTask) -> str | None:
        """Close a round that is due. One that cannot be closed is parked, and the other tasks go on."""
        try:
            more = self.close_round(live)
        except Exception as error:
            if not self.task(live.task.id).parked:
                raise  # the storage's trouble: it is tried again
            return f"parked round {live.round} of {live.task.name}, which cannot be closed: {error}"
        if more is None:
            return None
        return f"closed round {live.round} of {live.task.name}, " + ("opened the next" if more else "the last")
