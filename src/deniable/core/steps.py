"""How far a protocol that runs in memory has come."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with the steps done and all steps."""


class Steps:
    """A count of the steps of a run, which calls ``progress`` after each of them.

    >>> steps = Steps(2, lambda done, total: print(f"{done} of {total}"))
    >>> steps.next()
    1 of 2
    >>> steps.next()
    2 of 2
    """

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def next(self) -> None:
        """Count a step as done."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
