"""Turns: who works on a bucket works on it alone, and on other buckets others may work meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import takewhile

from deniable.collect.storage.block import Bucket


class Turns:
    """A lock for each bucket, given in the order in which it is asked for: a seal gets its turn however fast the appends follow.

    All that a thread asks for it gets at once, so that no two wait for each other.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._owners: dict[Bucket, int] = {}
        self._waiting: dict[object, frozenset[Bucket]] = {}
        """What is asked for, in the order of asking."""

    @contextmanager
    def take(self, buckets: Collection[Bucket]) -> Iterator[None]:
        """Wait until no other thread has one of these buckets, then have them all; a thread may take again what it has."""
        me, ticket = threading.get_ident(), object()
        with self._changed:
            wanted = frozenset(bucket for bucket in buckets if self._owners.get(bucket) != me)
            self._waiting[ticket] = wanted
            try:
                self._changed.wait_for(lambda: self._is_next(ticket, me))
                self._owners.update(dict.fromkeys(wanted, me))
            finally:
                del self._waiting[ticket]
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                for bucket in wanted:
                    del self._owners[bucket]
                self._changed.notify_all()

    def _is_next(self, ticket: object, me: int) -> bool:
        wanted = self._waiting[ticket]
        if not wanted.isdisjoint(self._owners):
            return False
        if me in self._owners.values():
            return True  # who asked before may be waiting for this very thread
        earlier = takewhile(lambda other: other is not ticket, self._waiting)
        return all(wanted.isdisjoint(self._waiting[other]) for other in earlier)

    def wait_for_others(self) -> None:
        """Wait until no other thread has any bucket."""
        with self._changed:
            self._changed.wait_for(lambda: set(self._owners.values()) <= {threading.get_ident()})
