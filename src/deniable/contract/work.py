"""The work of finishing a round, predicted from the settings, so that nobody finds out only when the reports are in.

The figures are upper limits that are meant to be right within a factor of a few: good enough to tell what a collector does in passing from
what it cannot do at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from deniable.errors import ParameterError

TALLY_BYTES = 24
"""Of one counter: the tally as it is stored, as it is read, and the sum over strata."""
VALUE_BYTES = 192
"""Of one value in an estimate: its count, its error, its interval, its name."""


class Work(NamedTuple):
    """Memory and steps; a step is about a nanosecond on two cores. ``kept`` is the part of the memory that tallies take."""

    bytes: int
    steps: int
    kept: int = 0

    @property
    def counters(self) -> int:
        """How many counters all tallies of a round have, for one combination of strata."""
        return self.kept // TALLY_BYTES

    @property
    def heavy(self) -> bool:
        """True if a collector should not do it next to its other work."""
        return self.bytes > 1 << 28 or self.steps > 10**10

    def describe(self) -> str:
        """Return the figures for people.

        >>> Work(3 << 30, 2 * 10**12).describe()
        '3.0 GiB of memory and 2,000 s of work'
        """
        return f"{self.bytes / (1 << 30):,.1f} GiB of memory and {self.steps / 10**9:,.0f} s of work"


MOST_WORK = Work(1 << 31, 10**11)
"""What finishing a round may take: 2 GiB, and some minutes."""


def together(works: Iterable[Work]) -> Work:
    """Return everything at once: estimates of several questions that are all held in memory."""
    parts = list(works)
    return Work(sum(work.bytes for work in parts), sum(work.steps for work in parts), sum(work.kept for work in parts))


def in_turn(works: Iterable[Work]) -> Work:
    """One after the other: all tallies are there, and one estimate at a time."""
    parts = list(works)
    kept, largest = sum(work.kept for work in parts), max((work.bytes - work.kept for work in parts), default=0)
    return Work(kept + largest, sum(work.steps for work in parts), kept)


def heaviest(works: Iterable[Work]) -> Work:
    """Return the most memory and the most steps of several rounds, each of which ends before the next begins."""
    parts = list(works)
    return Work(*(max((work[i] for work in parts), default=0) for i in range(3)))


def check_work(work: Work, setting: str, *, fix: str) -> None:
    """Raise unless finishing a round stays within ``MOST_WORK``.

    >>> check_work(Work(17 << 30, 10**12), "oracle", fix="name another one")
    Traceback (most recent call last):
        ...
    deniable.errors.ParameterError: oracle: got '17.0 GiB of memory and 1,000 s of work to finish a round'; allowed: at
    most 2.0 GiB of memory and 100 s of work; name another one
    """
    if work.bytes > MOST_WORK.bytes or work.steps > MOST_WORK.steps:
        received = f"{work.describe()} to finish a round"
        raise ParameterError(setting, received, allowed=f"at most {MOST_WORK.describe()}", fix=fix)
