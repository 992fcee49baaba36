"""Closing a period, or the current round of a task, once: what was done for it meanwhile is not done to the one that followed.

What cannot be closed is parked: whatever is wrong with it, trying again and again would take the other tasks' time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from deniable.collect.admission import LiveTask
from deniable.collect.faults import fault_point
from deniable.collect.finishing import UnfinishedError
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.parking import TRIES, Attempt
from deniable.contract.protocol import Protocol

if TYPE_CHECKING:
    from deniable.collect.collector import Collector

STORAGE = (StorageError, SQLAlchemyError, OSError)
"""What fails where the database is away or the disk is full: that passes."""


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
