"""The clock that a process goes by, and what only tests may change about it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from deniable.testing.faults import arm
from deniable.testing.identity import know_identity

TESTING, OFFSET_FILE, FAULT = "DENIABLE_TESTING", "DENIABLE_TEST_CLOCK", "DENIABLE_TEST_FAULT"


def clock_of(environment: Mapping[str, str]) -> Callable[[], float]:
    """The time of day. With DENIABLE_TESTING=1, and only then, tasks may ask for answers in the clear, the process may be told by
    DENIABLE_TEST_FAULT where to die, and the clock may be set ahead by as many seconds as the file DENIABLE_TEST_CLOCK says, which is
    read again every time.
    """
    if environment.get(TESTING) != "1":
        return time.time
    know_identity()
    arm(environment.get(FAULT, ""))
    name = environment.get(OFFSET_FILE)
    if not name:
        return time.time
    file = Path(name)
    return lambda: time.time() + float(file.read_text())
