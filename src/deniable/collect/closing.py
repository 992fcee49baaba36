"""Closing the round at hand of a task, once: what was done for it meanwhile is not done to the one that followed.

A round that cannot be closed is parked: whatever is wrong with it, trying again and again would take the other tasks' time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from deniable.collect.admission import LiveTask
from deniable.collect.finishing import UnfinishedError
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.parking import TRIES
from deniable.contract.protocol import Protocol
from deniable.testing.faults import fault_point

if TYPE_CHECKING:
    from deniable.collect.collector import Collector


def close_round(collector: Collector, live: LiveTask, *, again: bool) -> bool | None:
    """Close the round that a task was seen in; True if another round was opened.

    None if the round is parked and nobody asks for it ``again``, or if another collector is at it. What cannot be closed raises, and is
    parked.
    """
    task, number, parking = live.task.id, live.round, collector.parking
    try:
        collector.seal(task, number)
        fault_point("round sealed")
        attempt = parking.begin(task, number, collector.now(), again=again)
        if attempt is None:
            return None
        if attempt.tries > TRIES:
            raise UnfinishedError("round", number, allowed="one that does not end the process", fix="see how much memory there is")
        after = collector.outcome(task, number, alone=attempt.tries > 1)
        if isinstance(after, Protocol):
            collector.registry.open_round(live.task, number + 1, after, collector.now())
        else:
            collector.registry.close(task)
    except (StorageError, SQLAlchemyError, OSError):
        raise  # the database's trouble or the disk's, not the round's: it is tried again
    except Exception as error:
        parking.park(task, number, collector.now(), f"{type(error).__name__}: {error}")
        collector.refresh()
        raise
    fault_point("next round opened")
    parking.done(task)
    collector.refresh()
    return isinstance(after, Protocol)
