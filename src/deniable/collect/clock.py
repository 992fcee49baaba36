"""The clock that a process goes by, what only tests may change about it, and when it is not believed.

Counting a period and refusing a report for good go by the time of day, and neither can be undone. So the time of day is compared with a
clock that nobody sets. If it runs ahead of that one by more than five minutes at once, it is in doubt: what cannot be undone then goes by
the clock that nobody sets, until the time of day is back where it was expected, or the process is started again, which says that the new
time is right. A machine's sleep is no jump, for the other clock counts it as well. The pause of a whole virtual machine, which that clock
may miss, looks like one. A clock that is set back is believed: it counts later, and loses nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from deniable.collect.faults import arm

TESTING, OFFSET_FILE, FAULT = "DENIABLE_TESTING", "DENIABLE_TEST_CLOCK", "DENIABLE_TEST_FAULT"
TOLERANCE = 300
"""How many seconds the time of day may jump ahead at once: as many as a device's may be wrong."""


def since_start() -> float:
    """Seconds since the machine was started, its sleep included where the system counts that; nobody sets this clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@dataclass(frozen=True)
class Clock:
    """The time of day when it is called; ``steady`` tells how much time has passed, whatever the time of day is set to."""

    time_of_day: Callable[[], float] = time.time
    steady: Callable[[], float] = since_start

    def __call__(self) -> float:
        return self.time_of_day()


SYSTEM_CLOCK = Clock()


class Moment(NamedTuple):
    """What time it is: two answers while the clock is in doubt, and else one."""

    earliest: float
    """What counting and refusing a late report go by."""
    latest: float
    """What refusing an early report goes by."""

    @property
    def doubt(self) -> float:
        """How many seconds the time of day is ahead of what it should be; 0 if it is believed."""
        return self.latest - self.earliest


class Watch:
    """Compares the time of day with a steady clock. A plain function is believed whatever it says: it has no other clock beside it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._steady = clock.steady if isinstance(clock, Clock) else clock
        self._start = self._clock() - self._steady()

    def now(self) -> Moment:
        """The time, or what it may be."""
        told, expected = self._clock(), self._start + self._steady()
        return Moment(expected if told > expected + TOLERANCE else told, told)

    def follow(self) -> Moment:
        """The time; small steps since the last call are taken for corrections, so that they do not add up to a jump."""
        told, steady = self._clock(), self._steady()
        if abs(told - steady - self._start) <= TOLERANCE:
            self._start = told - steady
        return self.now()


def clock_of(environment: Mapping[str, str]) -> Clock:
    """The machine's clock. With DENIABLE_TESTING=1, and only then, tasks may ask for answers in the clear, the process may be told by
    DENIABLE_TEST_FAULT where to die, and time may be set by the file DENIABLE_TEST_CLOCK, which is read again every time. It has one or
    two numbers: so many seconds more have passed than really have, and by so many the time of day is wrong.
    """
    if environment.get(TESTING) != "1":
        return SYSTEM_CLOCK
    from deniable.collect.plain_answer import know_plain_answer

    know_plain_answer()
    arm(environment.get(FAULT, ""))
    name = environment.get(OFFSET_FILE)
    if not name:
        return SYSTEM_CLOCK
    file = Path(name)

    def read() -> list[float]:
        return [float(number) for number in file.read_text().split()]

    return Clock(lambda: time.time() + sum(read()), lambda: since_start() + read()[0])
