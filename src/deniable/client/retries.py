"""When a request is sent again: one policy for devices, for shufflers that pass batches on, and for the parties of a sum.

Waits double from one attempt to the next, less a random part of up to a half: those that failed together do not come back together.
What the other side asks for in ``Retry-After`` is the least wait. Each exchange has a deadline of its own, which its transport keeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from deniable.client.transport import Response, TransportError
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.errors import ParameterError

ATTEMPTS = 4
SHORTEST = 1.0
"""Seconds that an attempt has at least."""


class Waits:
    """The waits between the attempts at one exchange."""

    def __init__(self, first: float, longest: float, source: Source) -> None:
        self._next, self._longest, self._source = first, longest, source

    def next(self, least: float = 0.0) -> float:
        """Return the seconds until the next attempt, which the other side wants to be so many at least."""
        wait = self._next * (1 - self._source.word() / ONE / 2)
        self._next = min(2 * self._next, self._longest)
        return max(min(least, self._longest), wait)


@dataclass(frozen=True, kw_only=True)
class Retries:
    """What to wait for, how long between attempts, and when to give up: after ``attempts``, or ``patience`` seconds after the first began.

    If the other side asks for more than the longest wait, a sender with a number of attempts gives up for now, and one with patience comes
    back after the longest wait. ``say`` is called when the first attempt fails, with a text and the seconds left for further attempts, and
    when a later one is answered; ``bound`` is called before each attempt with the seconds that it may take.
    """

    peer: str = "the collector"
    first: float = 0.5
    longest: float = 60.0
    attempts: int | None = ATTEMPTS
    patience: float = float("inf")
    say: Callable[[str, float], object] = lambda text, left: None
    bound: Callable[[float], object] = bool
    sleep: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic
    source: Source = SYSTEM

    def __post_init__(self) -> None:
        if self.attempts is not None and self.attempts < 1:
            raise ParameterError("attempts", self.attempts, allowed="1 or more", fix=f"try {ATTEMPTS}")

    def waits(self) -> Waits:
        """Return the waits of one exchange."""
        return Waits(self.first, self.longest, self.source)

    def answer(self, request: Callable[[], Response]) -> Response:
        """Return the answer to a request, repeated while the other side is away or busy.

        Once no attempt is left, a temporary answer is returned as it is; if there was none, its ``OSError`` is raised.
        """
        waits, end, failed = self.waits(), self.clock() + self.patience, 0
        while True:
            self.bound(max(end - self.clock(), SHORTEST))
            least = 0.0
            try:
                answer = request()
                if not is_temporary(answer.status):
                    if failed:
                        self.say(f"{self.peer} answers", 0.0)
                    return answer
                trouble, least = trouble_of(answer), retry_after(answer)
                if self._is_last(failed + 1, end) or (self.attempts and least > self.longest):
                    return answer
            except OSError as error:
                trouble = trouble_of(error)
                if self._is_last(failed + 1, end):
                    raise
            if not failed:
                self.say(f"no answer from {self.peer} ({trouble})", max(end - self.clock(), 0.0))
            failed += 1
            self.sleep(max(min(waits.next(least), end - self.clock()), 0.0))  # telling it may have taken the rest of the time

    def _is_last(self, attempt: int, end: float) -> bool:
        return attempt == self.attempts or self.clock() >= end


def is_temporary(status: int) -> bool:
    """Return True if the same request may get another answer later."""
    return status in (408, 429) or status >= 500


def trouble_of(failed: Response | OSError) -> str:
    """Return in a few words what is wrong: a temporary answer, or none."""
    if isinstance(failed, Response):
        return f"status {failed.status}"
    return str(failed.received) if isinstance(failed, TransportError) else type(failed).__name__


def retry_after(answer: Response) -> float:
    """Return the seconds to wait that the other side asks for; 0 if it asks for none."""
    seconds = answer.headers.get("retry-after", "")
    return float(seconds) if seconds.isascii() and seconds.isdigit() else 0.0
