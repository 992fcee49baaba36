"""What a process puts up with: the sizes, numbers and seconds of what is sent to it, and the rate of reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from deniable.errors import ParameterError

MOST_WAITING = 32 << 20
"""Bytes that wait to be durable."""
LARGEST_HEAD = 1 << 14
"""Bytes of a request's address, headers and trailers, as most servers allow."""
MOST_PIPELINED = 16
"""Requests that may wait behind the one that is being answered. Browsers, devices and proxies send none ahead."""
PIECE = 1 << 16
"""Bytes that are written at once, and that may wait to be read: with more, a deadline would demand a fast network."""
HANDSHAKE_SECONDS = 10.0
"""How long the handshake of TLS may take."""
KNOWN_SECONDS = 120.0
"""How long a body may take whose sender is known by a signature: it can be of 134 MB."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits that an operator can change.

    ``reports_per_second`` counts all senders together; 0 is no limit. ``period_bytes`` are those of a task.
    """

    max_body: int = 1 << 20
    max_reports: int = 10_000
    most_waiting: int = MOST_WAITING
    requests_at_once: int = 4_096
    connections: int = 8_192
    body_seconds: float = 10.0
    reports_per_second: int = 0
    period_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value < 0 or (value == 0 and limit.name != "reports_per_second"):
                raise ParameterError(limit.name, value, allowed="a number above 0", fix=f"set {limit.name} to {limit.default}, the default")


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
