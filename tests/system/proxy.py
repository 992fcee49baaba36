"""A network that loses answers: requests arrive, and some of those who sent them never learn that."""

from __future__ import annotations

import socket
import socketserver
import threading
from itertools import count
from urllib.parse import urlsplit


class ForgetfulProxy:
    """Passes everything on to a collector, but of its answers only two of three; for a lost one the connection breaks."""

    def __init__(self, url: str) -> None:
        self.collector = urlsplit(url).hostname, urlsplit(url).port
        self.lost = 0
        self._answers = count(1)
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                proxy._handle(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="proxy")
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ForgetfulProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()  # waits for the connections: whoever uses them has hung up by now

    def _handle(self, device: socket.socket) -> None:
        with socket.create_connection(self.collector) as collector:
            forward = threading.Thread(target=_pass_on, args=(device, collector), name="proxy forward")
            forward.start()
            while answer := _receive(collector):
                if next(self._answers) % 3 == 0:
                    self.lost += 1
                    break
                device.sendall(answer)
            for end in (device, collector):
                _shut(end)
            forward.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    while data := _receive(source):
        target.sendall(data)
    _shut(target)


def _receive(source: socket.socket) -> bytes:
    try:
        return source.recv(1 << 16)
    except OSError:  # the other end is gone
        return b""


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was closed by the other side
