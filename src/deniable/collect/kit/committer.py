"""Group commit: requests that arrive while one append runs share the next, and none is answered before its rows are durable.

No timer: an idle collector writes at once, a busy one gathers for as long as the disk needs. The event loop gathers, one thread writes,
and all requests of an append wait for one future.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from deniable.collect.kit.limits import MOST_WAITING
from deniable.collect.kit.log import note, note_error
from deniable.errors import DeniableError

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Histogram bounds for the duration of appends."""
Address = TypeVar("Address")
Row = TypeVar("Row")
Told = TypeVar("Told")
Append = Callable[[dict[Address, list[Row]]], frozenset[Told]]
"""Makes rows durable and returns what did not work: for a collector, the buckets that were closed meanwhile. Raises StorageError if nothing
was stored."""
Observe = Callable[[dict[Address, list[Row]], float, Exception | None], None]
"""Receives what was appended, the seconds it took, and the error if it failed."""


class QueueFullError(DeniableError):
    """The queue is full; nothing of this request was kept."""


class _Group(asyncio.Future[frozenset[Told]], Generic[Address, Row, Told]):
    """The requests of one append, and what came of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.rows: dict[Address, list[Row]] = {}
        self.size = 0

    def cancel(self, msg: object = None) -> bool:
        """Never: one request that is given up must not cancel the others. It learns of its own end when the append is over."""
        return False


class Committer(Generic[Address, Row, Told]):
    """Makes the rows of many requests durable together: a collector's reports, a shuffler's seals.

    At most about ``most_waiting`` bytes wait or are being written; beyond that, ``commit`` refuses. Lives in one event loop.
    """

    def __init__(
        self,
        append: Append[Address, Row, Told],
        *,
        most_waiting: int = MOST_WAITING,
        observe: Observe[Address, Row] | None = None,
    ) -> None:
        self._append = append
        self._observe = observe
        self._most_waiting = most_waiting
        self._thread = ThreadPoolExecutor(1, "committer")
        self._gathering: _Group[Address, Row, Told] | None = None
        self._writing: _Group[Address, Row, Told] | None = None
        self._draining = False
        self._failing = False
        self.waiting = 0
        """Bytes that wait or are being written, as their requests count them."""

    @property
    def full(self) -> bool:
        """True while nothing more is taken."""
        return self.waiting >= self._most_waiting or self._draining

    def commit(self, rows: dict[Address, list[Row]], size: int) -> asyncio.Future[frozenset[Told]]:
        """Await this: it ends when the rows are durable, with the result of ``append`` for all; StorageError if none was stored.

        ``size`` is roughly the memory they need; QueueFullError if too much is waiting.
        """
        if self.full:
            raise QueueFullError("waiting", self.waiting, allowed=f"below {self._most_waiting} bytes", fix="send the request again later")
        group = self._gathering
        if group is None:
            loop = asyncio.get_running_loop()
            group = self._gathering = _Group(loop)
            loop.call_soon(self._write_next)  # not at once: what else came in this turn of the loop goes along
        gathered = group.rows
        for address, added in rows.items():
            before = gathered.get(address)
            if before is None:
                gathered[address] = list(added)  # a copy: the request keeps its own, and others are added to this one
            else:
                before += added
        group.size += size
        self.waiting += size
        return group

    async def drain(self) -> None:
        """Take nothing more, and return when everything taken was written; then the thread ends."""
        self._draining = True
        groups = [group for group in (self._writing, self._gathering) if group is not None]
        if groups:
            await asyncio.wait(groups)
        self._thread.shutdown()

    def _write_next(self) -> None:
        group = self._gathering
        if group is not None and self._writing is None:
            self._gathering, self._writing = None, group
            self._thread.submit(self._write, group)

    def _write(self, group: _Group[Address, Row, Told]) -> None:
        """Runs in the thread. Whatever happens, the loop hears of it: an unexpected error must not leave requests waiting forever."""
        start = time.perf_counter()
        told, failed = frozenset[Told](), None
        try:
            told = self._append(group.rows)
        except Exception as error:
            failed = error
        seconds = time.perf_counter() - start
        group.get_loop().call_soon_threadsafe(self._finish, group, seconds, told, failed)

    def _finish(self, group: _Group[Address, Row, Told], seconds: float, told: frozenset[Told], failed: Exception | None) -> None:
        self._writing = None
        self.waiting -= group.size
        self._write_next()  # first, so that the disk works while the loop answers
        if failed is None:
            group.set_result(told)
        else:
            group.set_exception(failed)
        if self._observe is not None:
            self._observe(group.rows, seconds, failed)
        if failed is not None and not self._failing:  # once, not for every append while a disk is full
            note_error("reports cannot be stored", failed)
        elif failed is None and self._failing:
            note("reports are stored again", level="warning")
        self._failing = failed is not None
