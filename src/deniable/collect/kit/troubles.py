"""Work that a thread tries again and again, whatever happens: what goes wrong is logged once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from deniable.collect.kit.log import note_error

Found = TypeVar("Found")
Instead = TypeVar("Instead")


class Troubles:
    """What failed when it was last tried, by name; true while there is any."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._told)

    def attempt(self, what: str, work: Callable[[], Found], instead: Instead) -> Found | Instead:
        """What the work gives, or ``instead``. An error is told once, and must not end the thread: the next time may be better."""
        try:
            found = work()
        except Exception as error:
            if self._told.get(what) != repr(error):
                self._told[what] = repr(error)
                note_error(f"{what} failed", error)
            return instead
        self._told.pop(what, None)
        return found
