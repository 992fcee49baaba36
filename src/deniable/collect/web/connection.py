"""A connection that does not wait for ever, and does not listen to everything; and not more of them than were allowed.

uvicorn's own timer runs between requests only, and any byte stops it: a peer that never sends a request, or sends its head byte by byte,
or the rest of a body that nobody reads, would be kept for good.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 1 << 16
_BUSY = b'{"error":{"code":"busy","message":"too many connections at once"}}'
FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(_BUSY), _BUSY)
"""What a connection too many is told, whatever it was to be for."""


class Connection(HttpToolsProtocol):
    """HTTP/1.1 whose peers owe nothing for more than ``seconds``: a first request, the rest of a head, or of a body that was answered.

    A head has at most so many bytes, and beyond ``most`` connections others are sent away.
    """

    seconds = 10.0
    most = 8_192
    _timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.write(FULL)
            transport.close()
            return
        self._timer = self.loop.call_later(self.seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came. Only what came in pieces needs a timer: most requests come whole, and must not pay for it."""
        super().data_received(data)
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > LARGEST_HEAD:
                self.transport.close()
                return
        elif self.cycle is not None and not self.cycle.response_complete:  # it is the answer's turn, and the reader's of the body
            self._stop_waiting()
            return
        if self._timer is None:
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


def connection_class(seconds: float, most: int) -> type[Connection]:
    """The class of connections that wait for so long, and of which there are so many."""
    return type("PatientConnection", (Connection,), {"seconds": seconds, "most": most})
