"""Points in the program at which a test can have the process die: what a crash leaves behind is then no matter of luck.

Nothing happens at any of them unless the process was started for tests, with a point named in its environment.
"""

from __future__ import annotations

import os

from deniable.errors import ParameterError

STATUS = 137
"""How a process ends at a point: as after ``kill -9``."""
POINTS = (
    "reports durable",
    "reports read",
    "sealed reports written",
    "seal complete",
    "seal committed",
    "open reports dropped",
    "round sealed",
    "next round opened",
)
"""In the order in which they are passed: on the way of a report, in a seal, in the change from one round to the next."""
COMPACTION_POINTS = ("segments compacted", "compacted segments deleted")
"""Before and after the files are deleted whose reports were written into another one."""
BATCH_POINTS = ("batch begun", "batch recorded")
"""Before and after a shuffled batch's reports are durable."""
SHUFFLER_POINTS = ("seals opened", "seals durable", "batch mixed", "batch released", "batch answered", "batch deleted")
"""A shuffler's, on the way of a seal: into its store, into a batch, to the next station."""
SUM_POINTS = ("message kept", "step ending", "step ended", "sum ended")
"""An aggregator's: a party's message is durable; a step ends, before and after that is; and the whole sum."""
PARTY_POINTS = ("answer saved", "answer sent", "party done")
"""A party's: an answer is on disk and not sent; it is sent; the sum is over."""
_left: dict[str, int] = {}


def arm(text: str) -> None:
    """Have the process die at a point: ``seal committed:2`` is when it is passed for the second time. Nothing if the text is empty.

    >>> arm("seal comitted:2")
    Traceback (most recent call last):
    deniable.errors.ParameterError: fault: got 'seal comitted:2'; allowed: ...
    """
    _left.clear()
    if not text:
        return
    point, _, count = text.rpartition(":")
    points = POINTS + COMPACTION_POINTS + BATCH_POINTS + SHUFFLER_POINTS + SUM_POINTS + PARTY_POINTS
    if point not in points or not count.isdecimal() or int(count) == 0:
        raise ParameterError(
            "fault", text, allowed=f"one of {list(points)}, a colon and a number from 1 on", fix='as in "seal committed:1"'
        )
    _left[point] = int(count)


def fault_point(name: str) -> None:
    """Pass a point; the process may not come out of this alive."""
    if not _left or name not in _left:
        return
    _left[name] -= 1
    if not _left[name]:
        os._exit(STATUS)
