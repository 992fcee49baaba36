"""Turns: who works on a bucket works on it alone, and on other buckets others may work meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from deniable.collect.block import Bucket


class Turns:
    """A lock for each bucket, made when it is needed. All that a thread asks for it gets at once, so that no two wait for each other."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._owners: dict[Bucket, int] = {}

    @contextmanager
    def take(self, buckets: Collection[Bucket]) -> Iterator[None]:
        """Wait until no other thread has one of these buckets, then have them all; a thread may take again what it has."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: all(self._owners.get(bucket, me) == me for bucket in buckets))
            taken = [bucket for bucket in buckets if bucket not in self._owners]
            self._owners.update(dict.fromkeys(taken, me))
        try:
            yield
        finally:
            with self._changed:
                for bucket in taken:
                    del self._owners[bucket]
                self._changed.notify_all()

    def wait_for_others(self) -> None:
        """Wait until no other thread has any bucket."""
        with self._changed:
            self._changed.wait_for(lambda: set(self._owners.values()) <= {threading.get_ident()})
