"""How many reports a second are taken from all senders together."""

from __future__ import annotations

from collections.abc import Callable


class Rate:
    """So many in a second, all together. A batch is taken whole as long as anything is left, and the next one waits for longer."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._per_second = per_second
        self._clock = clock
        self._level = per_second
        self._time = clock()

    def take(self, count: int) -> float:
        """Take so many and return 0; or take nothing, and return the seconds after which there is something again."""
        now = self._clock()
        self._level = min(self._per_second, self._level + (now - self._time) * self._per_second)
        self._time = now
        if self._level < 1:
            return (1 - self._level) / self._per_second
        self._level -= count
        return 0.0
