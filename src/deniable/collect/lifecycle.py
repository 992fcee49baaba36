"""How periods and rounds end: closed once, when they are over or when somebody asks, and their reports deleted when retention is over.

Any of several collectors of one database may do it, and each of them may be killed in between: every step is one transaction, and is done
once. What was done for a round meanwhile is not done to the one that followed. What was sealed long ago is not looked at before its reports
are due to be deleted. What cannot be closed is parked: whatever is wrong with it, trying again and again would take the other tasks' time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from deniable.collect.admission import LiveTask
from deniable.collect.faults import fault_point
from deniable.collect.round_process import UnfinishedError
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.parking import TRIES, Attempt
from deniable.collect.storage.records import StoredBucket
from deniable.contract.admission import TOKEN
from deniable.contract.protocol import Protocol

if TYPE_CHECKING:
    from deniable.collect.collector import Collector

DAY = 86_400
STORAGE = (StorageError, SQLAlchemyError, OSError)
"""What fails where the database is away or the disk is full: that passes."""
Step = Callable[[], str | None]
"""Does something if it is due, and says in words what."""


# --- closing, once ---


def close_period(collector: Collector, bucket: Bucket, *, again: bool) -> bool:
    """Close a period; False if it is parked and nobody asks for it ``again``, or if another collector is at it.

    A period that cannot be closed raises, and is parked.
    """
    with _trying(collector, bucket, again=again) as attempt:
        if attempt is not None:
            collector.seal(*bucket)
    if again:
        collector.refresh()  # it is no longer parked
    return attempt is not None


def close_round(collector: Collector, live: LiveTask, *, again: bool) -> bool | None:
    """Close the round that a task was seen in; True if another round was opened.

    None if the round is parked and nobody asks for it ``again``, or if another collector is at it. A round that cannot be closed raises,
    and is parked.
    """
    task, number = live.task.id, live.round
    with _trying(collector, Bucket(task, number), again=again) as attempt:
        if attempt is None:
            return None
        collector.seal(task, number)
        fault_point("round sealed")
        after = collector.outcome(task, number, alone=attempt.tries > 1)
        if isinstance(after, Protocol):
            collector.registry.open_round(live.task, number + 1, after, collector.now())
        else:
            collector.registry.close(task)
        fault_point("next round opened")
    collector.refresh()
    return isinstance(after, Protocol)


@contextmanager
def _trying(collector: Collector, bucket: Bucket, *, again: bool) -> Iterator[Attempt | None]:
    """One try, on record before anything is read: a process that dies in it is found out. What fails is parked."""
    parking = collector.parking
    attempt = parking.begin(*bucket, collector.now(), again=again)
    try:
        if attempt is not None and attempt.tries > TRIES:
            fix = "see how much memory there is, then try again"
            raise UnfinishedError("closing", f"{TRIES} processes that died", allowed="one that survives it", fix=fix)
        yield attempt
        if attempt is not None:
            parking.done(*bucket)
    except STORAGE:
        with suppress(*STORAGE):
            parking.done(*bucket)  # this process did not die of it
        raise  # the database's trouble or the disk's, not the round's or the period's: it is tried again
    except Exception as error:
        parking.park(*bucket, collector.now(), f"{type(error).__name__}: {error}")
        collector.refresh()
        raise


# --- what is due ---
def tend(collector: Collector, say: Callable[[str], object]) -> list[str]:
    """Do what is due, and say of each step what was done; the first error is raised when all were tried."""
    collector.watch.follow()
    collector.refresh()
    done, failed = [], []
    for step in _steps(collector, collector.now()):
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


def _steps(collector: Collector, now: float) -> Iterator[Step]:
    lives, store = collector.admission.tasks, collector.store
    yield store.sweep
    yield store.log.compact
    yield collector.tend_keys
    yield collector.finish_batches
    for live in lives.values():
        if live.task.rounds and not live.closed:
            yield partial(_tend_round, collector, live, now)
    unfinished = [stored for stored in store.unfinished() if stored.bucket.task in lives]
    for stored in unfinished:
        yield partial(_seal if stored.state == "open" else _drop, collector, stored, now)
    # A token counts once in all periods, and the ids of those that are sealed tell which were spent: after a long stop they are needed.
    needed = {stored.bucket.task for stored in unfinished if stored.state == "open" and lives[stored.bucket.task].task.admission == TOKEN}
    kept = {task: now - live.task.retention * DAY for task, live in lives.items() if task not in needed}
    for stored in store.sealed_until(kept):
        yield partial(_drop, collector, stored, now)


def _seal(collector: Collector, stored: StoredBucket, now: float) -> str | None:
    task, period = stored.bucket
    live = collector.task(task)
    if not live.closed and (live.task.rounds or now < live.task.period_span(period)[1] + live.task.late):
        return None
    if period in live.parked:
        return None  # until somebody asks for another try
    try:
        return f"sealed {stored.bucket}" if close_period(collector, stored.bucket, again=False) else None
    except Exception:  # whatever made it fail, it is parked by now and reported, or it is raised
        why = collector.task(task).parked.get(period)
        if why is None:
            raise  # the storage's trouble: it is tried again
        return f"parked period {period} of {live.task.name}, which cannot be closed: {why}"


def _drop(collector: Collector, stored: StoredBucket, _: float) -> str:
    collector.task(stored.bucket.task).dropped.add(stored.bucket.number)
    collector.store.drop_reports(stored.bucket)
    return f"dropped the reports of {stored.bucket}"


def _tend_round(collector: Collector, live: LiveTask, now: float) -> str | None:
    """Close the round at hand if its time is over and it has enough reports, or if that was begun by a collector that was stopped."""
    if live.trouble:
        return None  # until somebody asks for another try
    times, _ = live.round_times(now)
    over, few = now >= live.task.end + live.task.late, f"fewer than {live.task.minimum_batch:,} reports in round {live.round}"
    if live.round not in live.sealed:
        if not over and times <= live.prolonged.get(live.round, 0):
            return None
        if collector.lacks_reports(live):
            if over:
                collector.close_task(live.task.id, again=False)
                return f"closed {live.task.name} without a result: {few}"
            live.prolonged[live.round] = times
            return f"prolonged {live.task.name}: {few}"
    return _close_round(collector, live)


def _close_round(collector: Collector, live: LiveTask) -> str | None:
    """Close a round that is due. One that cannot be closed is parked, and the other tasks go on."""
    try:
        more = collector.close_round(live)
    except Exception as error:
        if not collector.task(live.task.id).parked:
            raise  # the storage's trouble: it is tried again
        return f"parked round {live.round} of {live.task.name}, which cannot be closed: {error}"
    if more is None:
        return None
    return f"closed round {live.round} of {live.task.name}, " + ("opened the next" if more else "the last")
