"""The clock that a process goes by, what only tests may change about it, and when it is not believed.

Closing a period and refusing a late report depend on the time of day, and neither can be undone. So the time of day is compared with a
steady clock that nobody sets. If it jumps ahead of that clock by more than five minutes, it is in doubt: what cannot be undone then follows
the steady clock, until the time of day is back where it was expected, or the operator restarts the process, which confirms the new time. A
machine's sleep is no jump, because the steady clock counts it as well. The pause of a whole virtual machine, which that clock may miss,
looks like one. A clock that is set back is believed: periods close later, and nothing is lost.
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
"""The largest jump of the time of day in seconds: the same as the error allowed for a device's clock."""


def since_start() -> float:
    """Return the seconds since the machine started, including its sleep where the system counts that; nobody sets this clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@dataclass(frozen=True)
class Clock:
    """The time of day when it is called; ``steady`` measures how much time has passed, whatever the time of day is set to."""

    time_of_day: Callable[[], float] = time.time
    steady: Callable[[], float] = since_start

    def __call__(self) -> float:
        return self.time_of_day()


SYSTEM_CLOCK = Clock()


class Moment(NamedTuple):
    """The current time: two values while the clock is in doubt, otherwise one."""

    earliest: float
    """Decides when periods close and which reports are too late."""
    latest: float
    """Decides which reports are too early."""

    @property
    def doubt(self) -> float:
        """The seconds by which the time of day is ahead of the expected time; 0 if it is believed."""
        return self.latest - self.earliest


class Watch:
    """Compares the time of day with a steady clock. A plain function is always believed: it has no second clock to compare with."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._steady = clock.steady if isinstance(clock, Clock) else clock
        self._start = self._clock() - self._steady()

    def now(self) -> Moment:
        """Return the time, with both values while it is in doubt."""
        shown, expected = self._clock(), self._start + self._steady()
        return Moment(expected if shown > expected + TOLERANCE else shown, shown)

    def follow(self) -> Moment:
        """Return the time; small steps since the last call count as corrections, so that they do not add up to a jump."""
        shown, steady = self._clock(), self._steady()
        if abs(shown - steady - self._start) <= TOLERANCE:
            self._start = shown - steady
        return self.now()


def clock_of(environment: Mapping[str, str]) -> Clock:
    """Return the machine's clock. Only with DENIABLE_TESTING=1, tasks may ask for answers without noise, DENIABLE_TEST_FAULT says where the
    process dies, and the file DENIABLE_TEST_CLOCK, which is read every time, sets the time. It has one or two numbers: the extra seconds
    that seem to have passed, and the error of the time of day.
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
