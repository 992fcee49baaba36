"""A connection that does not wait for ever, and does not listen to everything; and not more of them than were allowed.

uvicorn's own timer runs between requests only, and any byte stops it. A peer that never sends a request, sends a head byte by byte, or the
rest of a body that nobody reads, would be kept permanently; and so would one that asks and never reads the answer, since a transport that
is closed first writes what it still holds. A parser without limits would keep a header, or a trailer after a body, of any length.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable
from functools import cache
from typing import Any

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from deniable.collect.kit.answers import Headers
from deniable.collect.kit.limits import LARGEST_HEAD, MOST_PIPELINED, PIECE


def _short_answer(status: bytes, code: bytes, message: bytes, *headers: bytes) -> bytes:
    """A whole answer with a JSON error, after which the connection is closed."""
    content = b'{"error":{"code":"%s","message":"%s"}}' % (code, message)
    head = [b"HTTP/1.1 " + status, b"content-type: application/json", b"content-length: %d" % len(content), b"connection: close", *headers]
    return b"\r\n".join([*head, b"", content])


FULL = _short_answer(b"503 Service Unavailable", b"busy", b"too many connections at once", b"retry-after: 1")
"""The answer to a connection too many."""
TOO_LONG = _short_answer(
    b"431 Request Header Fields Too Large", b"head_too_large", b"address and headers have at most %d bytes" % LARGEST_HEAD
)
NO_REQUEST = _short_answer(b"400 Bad Request", b"malformed", b"this is not an HTTP request")


class TooMuchError(Exception):
    """Stops the parser: the rest of what came is not worth reading."""


class PatientConnection(HttpToolsProtocol):
    """HTTP/1.1 whose peers have ``seconds`` for everything that they owe.

    They owe a first request, the rest of a head, the rest of a body that was answered, and reading: each piece of a long answer, and what
    is left of the last one. A head has at most ``LARGEST_HEAD`` bytes, ``MOST_PIPELINED`` requests may wait, and beyond ``most``
    connections others are sent away.
    """

    seconds = 10.0
    most = 8_192
    _timer: asyncio.TimerHandle | None = None
    _deadline: asyncio.TimerHandle | None = None
    """Runs while nothing happens until the peer has read what was written."""
    _in_head = False
    _unfinished = 0
    """Bytes of a head, or of trailers, that came after the piece in which it began."""
    _running: RequestResponseCycle | None = None
    _refusal = NO_REQUEST

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin to wait for the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(PIECE)
        if len(self.connections) > self.most:
            transport.write(FULL)
            self._leave()
            return
        self._timer = self.loop.call_later(self.seconds, self._leave)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""
        self._stop_waiting()
        self._stop_deadline()
        if self._running is not None:
            self._running.disconnected = True  # uvicorn only tells the newest request, which may still wait for its turn
        super().connection_lost(exc)

    # --- what comes ---

    def data_received(self, data: bytes) -> None:
        """Take what came. Only what came in pieces needs a timer: most requests come whole, and must not pay for it."""
        if self.transport.is_closing():  # TLS goes on reading while it ends
            return
        self._unfinished += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unfinished > LARGEST_HEAD:  # headers or trailers, without an end so far
            self._refusal = TOO_LONG
            self.send_400_response("")
        elif not self._in_head and self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()  # it is the answer's turn, and the reader's of the body
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._leave)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head = True
        self._unfinished = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._in_head = False
        self._unfinished = 0
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > LARGEST_HEAD:
            self._refusal = TOO_LONG
            raise TooMuchError
        if len(self.pipeline) >= MOST_PIPELINED:
            self._refusal = b""  # an answer is under way: nothing can be said in between
            raise TooMuchError
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._unfinished = 0
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Say why nothing more is read, unless an answer is under way, and leave."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(self._refusal)
        self._leave()

    # --- what goes ---

    def pause_writing(self) -> None:
        """The peer has much to read, and nothing more is written until it does."""
        super().pause_writing()
        self._start_deadline()

    def resume_writing(self) -> None:
        """It has read most of it."""
        if not self.transport.is_closing():
            self._stop_deadline()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """An answer is written; the connection may be closed after it."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._start_deadline()

    def timeout_keep_alive_handler(self) -> None:
        """There was no next request."""
        self._leave()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, answering(app, cycle))

    # --- time ---

    def _leave(self) -> None:
        """Close the connection once the peer has read what was written, and at the deadline in any case."""
        self.transport.close()
        self._start_deadline()

    def _cut(self) -> None:
        """Drop the connection with everything that the peer did not read, in this process and in the kernel."""
        peer = self.transport.get_extra_info("socket")
        if peer is not None:  # with TLS it is gone before ``connection_lost`` says so
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.seconds, self._cut)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Sender:
    """What an application sends its answer by: long ones go piece by piece, each once the peer has read most of those before it."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def __call__(self, message: Any) -> Awaitable[None]:
        """Send a message of ASGI."""
        return self._cycle.send(message) if len(message.get("body", b"")) <= PIECE else _send_pieces(message, self._cycle.send)

    def whole(self, status: int, headers: Headers) -> bool:
        """Write an answer without content at once; False, and nothing written, while the peer has much to read or is gone.

        Nearly every report is answered so. The headers must be constants of the program: they are neither checked nor forgotten.
        """
        cycle = self._cycle
        if cycle.flow.write_paused or cycle.disconnected or cycle.transport.is_closing():
            return False
        lines = [STATUS_LINE[status]]
        for name, value in cycle.default_headers:
            lines += (name, b": ", value, b"\r\n")
        lines += (_lines(headers), b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(b"".join(lines))
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


@cache
def _lines(headers: Headers) -> bytes:
    return b"".join(b"%s: %s\r\n" % header for header in headers)


def answering(app: ASGI3Application, cycle: RequestResponseCycle) -> ASGI3Application:
    """The application of one request, with a sender of ours."""

    def answer(scope: Any, receive: Any, _: Any) -> Awaitable[None]:  # no coroutine of its own: this is on the way of every report
        return app(scope, receive, Sender(cycle))

    return answer


async def _send_pieces(message: Any, send: Any) -> None:
    body = message["body"]
    for start in range(0, len(body), PIECE):
        last = start + PIECE >= len(body)
        more = message.get("more_body", False) or not last
        await send({"type": "http.response.body", "body": body[start : start + PIECE], "more_body": more})


def connection_class(seconds: float, most: int) -> type[PatientConnection]:
    """The class of connections that wait for so long, and of which there are so many."""
    return type("PatientConnection", (PatientConnection,), {"seconds": seconds, "most": most})
