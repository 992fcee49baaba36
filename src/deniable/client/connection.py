"""HTTP connections with one deadline for a whole exchange: a server that drips a byte at a time gets no more time than a silent one.

The standard library's timeouts are for a single step, and every byte that arrives begins another one. Here each step, from connecting and
the handshake of TLS to the last byte of the answer, gets only the time that is left. Looking up a name is the system's, with its limits.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any


class Connection(http.client.HTTPConnection):
    """A connection to a host, by TLS if there is a ``context``. Set its deadline by ``within`` before each exchange."""

    def __init__(self, host: str, port: int | None, context: ssl.SSLContext | None) -> None:
        if context is not None:
            self.default_port = http.client.HTTPS_PORT  # what "Host" leaves out
        super().__init__(host, port)
        self._secure = context
        self._seconds = self._end = 0.0

    def within(self, seconds: float, end: float) -> None:
        """Let the next exchange end at a time of the monotonic clock, ``seconds`` after it began."""
        self._seconds, self._end = seconds, end

    def left(self, end: float | None = None) -> float:
        """Return the seconds that are left until ``end``, or for the whole exchange; TimeoutError if there are none."""
        if (left := (self._end if end is None else end) - time.monotonic()) <= 0:
            raise TimeoutError(f"timed out: no whole answer within {self._seconds:g} seconds")
        return left

    def connect(self) -> None:
        """Try the host's addresses one after the other.

        An address takes no more than its share of the time, for connecting and for the handshake of TLS together.
        """
        failed = OSError(f"no address of {self.host}")
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        for tried, (family, kind, protocol, _, address) in enumerate(found):
            plain = socket.socket(family, kind, protocol)
            try:
                end = time.monotonic() + self.left() / (len(found) - tried)
                plain.settimeout(self.left(end))
                plain.connect(address)
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                plain.settimeout(self.left(end))
                joined = plain if self._secure is None else self._secure.wrap_socket(plain, server_hostname=self.host)
            except ssl.SSLError:
                plain.close()
                raise
            except OSError as error:
                plain.close()
                failed = error
            else:
                self.sock: Any = _Timed(joined, self.left)  # what http.client needs of a socket
                return
        raise failed


class _Timed:
    """A socket whose steps get the time that is left."""

    def __init__(self, joined: socket.socket, left: Callable[[], float]) -> None:
        self._joined, self._left = joined, left

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._joined.settimeout(self._left())
            rest = rest[self._joined.send(rest) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Steps(self._joined, self._left))

    def close(self) -> None:
        self._joined.close()


class _Steps(io.RawIOBase):
    """What arrives at a socket; open until it is closed itself, as a socket's own files are."""

    def __init__(self, joined: socket.socket, left: Callable[[], float]) -> None:
        super().__init__()
        self._joined, self._left, self._raw = joined, left, joined.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._joined.settimeout(self._left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
