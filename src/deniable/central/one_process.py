"""A lock that opens in one process only: a forked copy has the same noise, and would spend the same budget once more."""

from __future__ import annotations

from os import getpid
from threading import RLock

from deniable.errors import ProtocolError


class OneProcess:
    """One thread at a time, and only in the process that made it.

    >>> with OneProcess() as one, one:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock, self._process = RLock(), getpid()

    def __enter__(self) -> OneProcess:
        if getpid() != self._process:  # before the lock, which may have been copied while somebody held it
            fix = "use it in the process that created it, or create a new one with its own budget"
            raise ProtocolError("process", "a forked copy", allowed="the process that created it: a copy would repeat its noise", fix=fix)
        self._lock.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()
