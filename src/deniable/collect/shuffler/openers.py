"""Seals are opened in processes of their own: opening is nearly all of a shuffler's work, and holds Python's lock.

What a process gets is the bodies of requests, as they came; what it returns is ready to be stored. Bodies that come one by one while all
processes are busy go to the next free one together, so that a seal alone in its request costs little more than one among many.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from deniable.collect.shuffler.judge import OpenedSeals, Station
from deniable.collect.shuffler.worker import Worker
from deniable.errors import WireError
from deniable.sealing.keys import KeyPair

TOGETHER = 1 << 18
"""How many bytes of waiting bodies go to a process together."""
Job = tuple[bytes, "asyncio.Future[OpenedSeals]"]


class Openers:
    """So many processes that open seals, each with a thread that waits for it. Lives in one event loop."""

    def __init__(self, stations: Sequence[Station], pairs: Callable[[], Sequence[KeyPair]], *, workers: int, most: int) -> None:
        self._pairs = pairs
        self._most = most
        self._workers = [Worker(stations) for _ in range(workers)]
        self._idle = deque(self._workers)
        self._threads = ThreadPoolExecutor(workers, "open")
        self._queue: deque[Job] = deque()
        self._gathering = False
        self.waiting = 0
        """Bytes that wait or are being opened."""

    def stop(self) -> None:
        """End the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.stop()

    async def open(self, body: bytes) -> OpenedSeals:
        """What is in a body; WireError if it is no list of seals, WorkerDiedError if the process died over it."""
        done: asyncio.Future[OpenedSeals] = asyncio.get_running_loop().create_future()
        self._queue.append((body, done))
        self.waiting += len(body)
        try:
            if not self._gathering:
                self._gathering = True
                asyncio.get_running_loop().call_soon(self._gathered)  # not at once: what else came in this turn of the loop goes along
            return await done
        finally:
            self.waiting -= len(body)

    def _gathered(self) -> None:
        self._gathering = False
        self._next()

    def _next(self) -> None:
        while self._queue and self._idle:
            share = -(-len(self._queue) // len(self._idle))
            worker = self._idle.popleft()
            jobs = [self._queue.popleft()]
            room = TOGETHER - len(jobs[0][0])
            while len(jobs) < share and len(self._queue[0][0]) <= room:
                jobs.append(self._queue.popleft())
                room -= len(jobs[-1][0])
            running = self._threads.submit(self._ask, worker, [body for body, _ in jobs])
            running.add_done_callback(partial(self._tell, asyncio.get_running_loop(), worker, jobs))

    def _ask(self, worker: Worker, bodies: Sequence[bytes]) -> list[OpenedSeals | WireError]:
        """In a thread: what fails reaches those who wait, and the worker is free again."""
        return worker.ask(bodies, self._pairs(), self._most)

    def _tell(self, loop: asyncio.AbstractEventLoop, worker: Worker, jobs: list[Job], found: Future[list[OpenedSeals | WireError]]) -> None:
        """In the thread."""
        if not loop.is_closed():  # a shuffler that was stopped in the middle
            loop.call_soon_threadsafe(self._finish, worker, jobs, found)

    def _finish(self, worker: Worker, jobs: list[Job], found: Future[list[OpenedSeals | WireError]]) -> None:
        self._idle.append(worker)
        self._next()  # first, so that the process works while the loop answers
        if found.cancelled():
            for _, done in jobs:
                done.cancel()
            return
        error = found.exception()
        results: Sequence[OpenedSeals | BaseException] = found.result() if error is None else [error] * len(jobs)
        for (_, done), result in zip(jobs, results, strict=True):
            if done.done():  # its sender is gone
                continue
            if isinstance(result, BaseException):
                done.set_exception(result)
            else:
                done.set_result(result)
