"""The application of a process: it answers requests, and does its chores in threads, from the start of its server to its end."""

from __future__ import annotations

import gc
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import msgspec
from starlette.types import Receive, Scope, Send

from deniable.collect.kit.answers import HTTPAnswer, Refusal
from deniable.collect.kit.log import note_error

GARBAGE = 20_000
"""How many objects are made before the garbage collector looks at them: hundreds of requests that wait are no garbage."""


class Chore:
    """Work that a thread repeats, whatever happens: it logs an error once, and tries again.

    ``step`` returns the seconds until the next step, or None to end. After an error the next step comes after ``every`` seconds; the first
    step comes after ``first``, or after ``every`` if that is left out.
    """

    def __init__(self, name: str, step: Callable[[], float | None], *, every: float, first: float | None = None) -> None:
        self._name, self._step, self._every, self._first = name, step, every, every if first is None else first
        self._woken, self._stopped = threading.Event(), False
        self._told = ""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def fails(self) -> bool:
        """True if the last step failed."""
        return bool(self._told)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Begin the next step now."""
        self._woken.set()

    def stop(self) -> None:
        """Begin no further step."""
        self._stopped = True
        self._woken.set()

    def ended(self, seconds: float) -> bool:
        """Wait for the end of the thread, at most so long; True if it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def do(self) -> float | None:
        """Do one step, and return the seconds until the next."""
        try:
            left = self._step()
        except Exception as error:
            if self._told != repr(error):
                self._told = repr(error)
                note_error(f"{self._name} failed", error)
            return self._every
        self._told = ""
        return left

    def _run(self) -> None:
        left: float | None = self._first
        while left is not None:
            self._woken.wait(left)
            self._woken.clear()
            if self._stopped:
                return
            left = self.do()


class Process(ABC):
    """An ASGI application whose chores run as long as its server."""

    chores: Sequence[Chore]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or follow the server's start and end."""
        if scope["type"] == "http":
            await self.answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await receive()
            for chore in self.chores:
                chore.start()
            gc.set_threshold(GARBAGE)
            gc.freeze()  # what was loaded stays: the collector of garbage need not look at it over and over, for milliseconds each time
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self.stop()
            await send({"type": "lifespan.shutdown.complete"})

    @abstractmethod
    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    @abstractmethod
    async def stop(self) -> None:
        """Make what was taken durable, end the chores, let go of the store."""

    def health(self, lacks_room: Callable[[], bool]) -> HTTPAnswer:
        """Return the answer of a healthy process; Refusal if a chore fails, or the disk is full."""
        if any(chore.fails for chore in self.chores):
            raise Refusal(503, "trouble", "a step keeps failing; see the log", retry=5)
        if lacks_room():
            raise Refusal(503, "trouble", "the disk is full", retry=5)
        return HTTPAnswer(200, msgspec.json.encode({"state": "ready"}))
