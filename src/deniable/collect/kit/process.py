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


class Chore:
    """What a thread does again and again, whatever happens: an error is logged once, and the next time may be better.

    ``step`` gives the seconds until the next step, or None if there will be none; after an error it is ``every``, as before the first step
    unless ``first`` says otherwise.
    """

    def __init__(self, name: str, step: Callable[[], float | None], *, every: float, first: float | None = None) -> None:
        self._name, self._step, self._every, self._first = name, step, every, every if first is None else first
        self._woken, self._stopped = threading.Event(), False
        self._told = ""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def fails(self) -> bool:
        """Whether the last step failed."""
        return bool(self._told)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Let the next step begin now."""
        self._woken.set()

    def stop(self) -> None:
        """Let there be no step after this one."""
        self._stopped = True
        self._woken.set()

    def ended(self, seconds: float) -> bool:
        """Wait for its end, as long as that; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def do(self) -> float | None:
        """Do one step."""
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
        """Whether it can do its work; Refusal if something fails, or the disk is full."""
        if any(chore.fails for chore in self.chores):
            raise Refusal(503, "trouble", "something fails again and again; the log says what", retry=5)
        if lacks_room():
            raise Refusal(503, "trouble", "the disk is full", retry=5)
        return HTTPAnswer(200, msgspec.json.encode({"state": "ready"}))
