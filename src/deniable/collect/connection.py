"""A connection that does not wait for ever, and does not listen to everything.

uvicorn's own timer runs between requests only: a peer that never sends one, or sends its head byte by byte, would be kept for good.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 1 << 16


class Connection(HttpToolsProtocol):
    """HTTP/1.1 whose requests must begin within ``seconds``, and whose heads must be complete within ``seconds`` and so many bytes."""

    seconds = 10.0
    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came. Only a head that came in pieces needs a timer: most come whole, and must not pay for it."""
        super().data_received(data)
        if not self._in_head:
            if self._timer is not None:
                self._stop_waiting()
            return
        self._head_size += len(data)
        if self._head_size > LARGEST_HEAD:
            self.transport.close()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.close)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head = True
        self._head_size = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """It is there."""
        self._in_head = False
        super().on_headers_complete()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def connection_class(seconds: float) -> type[Connection]:
    """The class of connections that wait for so long."""
    return type("PatientConnection", (Connection,), {"seconds": seconds})
