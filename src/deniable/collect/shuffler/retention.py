"""What a shuffler deletes, and by which time: deleting cannot be undone, so a clock that leaps between two starts is not believed at once.

While a process runs, its ``Watch`` looks after the clock. This looks at what the watch cannot see: whether the process was started with a
wrong clock. The store knows the last day that was believed. If the time is far beyond it, nothing is deleted by it until the process has
run for hours and the clock still says so. A shuffler that was away for a week therefore deletes some hours later than it might.
"""

from __future__ import annotations

from collections.abc import Callable

from deniable.collect.clock import Clock
from deniable.collect.kit.log import note
from deniable.collect.storage.shuffle_store import ShuffleStore
from deniable.contract.task import Task

DAY = 86_400
KEPT_SECONDS = DAY
"""How long what is left of a task is kept after its collector has stopped taking reports."""
LEAP = DAY
"""How many seconds beyond the last day that was believed a clock is believed at once."""
AGREEMENT = 6 * 3600
"""How many seconds a process must have run before a clock is believed that leaped."""


class Settled:
    """The time, as far as it is believed. ``day`` is the last believed day; ``keep`` is called for each new one."""

    def __init__(self, clock: Callable[[], float], day: int | None, keep: Callable[[int], None]) -> None:
        self._steady = clock.steady if isinstance(clock, Clock) else clock
        self._day = day
        self._keep = keep
        self._believed = None if day is None else float((day + 1) * DAY)
        self._last = self._start = self._steady()

    def time(self, now: float) -> float:
        """What may be deleted by: now, or while now is in doubt the last time that was not."""
        steady = self._steady()
        passed, self._last = steady - self._last, steady
        believed = now if self._believed is None else self._believed + passed
        if now <= believed + LEAP or steady - self._start >= AGREEMENT:
            believed = now
            if int(now // DAY) != self._day:
                self._day = int(now // DAY)
                self._keep(self._day)
        self._believed = believed
        return min(now, believed)


class Retention:
    """Deletes what is left of tasks that are over, served or not."""

    def __init__(self, store: ShuffleStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._settled = Settled(clock, store.day(), store.set_day)
        tasks = {identity: Task.from_json(text) for identity, text in store.tasks().items()}
        self._kept = {identity: task.end + task.late + KEPT_SECONDS for identity, task in tasks.items()}

    def time(self, now: float) -> float:
        """Return the time to delete by."""
        return self._settled.time(now)

    def forget(self, now: float) -> None:
        """Delete every task that is over."""
        believed = self.time(now)
        for identity in [identity for identity, end in self._kept.items() if believed >= end]:
            lost = self._store.forget(identity)
            del self._kept[identity]
            note("a task is over; all about it is deleted", level="warning" if lost else "info", left=lost)
