"""A process behind a port: it prints its address, and stops without losing anything that it acknowledged."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from deniable.collect.kit.connection import connection_class
from deniable.collect.kit.limits import HANDSHAKE_SECONDS
from deniable.collect.kit.log import begin
from deniable.collect.kit.settings import ProcessSettings

BACKLOG = 2048
LISTENERS = 16
"""The number of listening sockets: uvloop takes one new connection from each in a turn of its loop, and under load, where turns are long,
the others would wait for seconds."""
GRACE_SECONDS = 2
"""Seconds for requests to end once the process has to stop."""
LAST_SECONDS = 1.5
"""Seconds for everything else after that."""
HEADERS = [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")]
"""Headers of every answer; ``policy`` has the one in which pages and data differ."""
TLS_ONLY = ("strict-transport-security", "max-age=31536000")


class ProcessServer(uvicorn.Server):
    """Prints its address once it is ready, and ends in time even if something still computes."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        if self.config.is_ssl:  # uvicorn has no setting for it: a peer that only connects would be there for a minute, and not be counted
            loop: Any = asyncio.get_running_loop()
            loop.create_server = partial(loop.create_server, ssl_handshake_timeout=HANDSHAKE_SECONDS)
        await super().startup(sockets and [listening.dup() for listening in sockets for _ in range(LISTENERS)])
        if sockets and self.started:
            host, port = sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            sys.stdout.write(f"serving on {'https' if self.config.is_ssl else 'http'}://{shown}:{port}\n")
            sys.stdout.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop answering. Acknowledged reports are durable, so cutting off a thread in the middle of an estimate loses nothing."""
        last = threading.Timer(GRACE_SECONDS + LAST_SECONDS, os._exit, (0,))
        last.daemon = True
        last.start()
        await super().shutdown(sockets)


@contextmanager
def port(settings: ProcessSettings) -> Iterator[socket.socket]:
    """Open the port of a process, before anything else, and set up its log and signals."""

    def leave(_: int, __: FrameType | None) -> None:
        raise SystemExit(0)

    begin(settings.log_level)
    signal.signal(signal.SIGTERM, leave)  # also what uvicorn falls back to in the end: being stopped is no failure
    signal.signal(signal.SIGINT, leave)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG) as listening:
        yield listening


def server_config(service: ASGIApp, settings: ProcessSettings) -> uvicorn.Config:
    """Return uvicorn's configuration."""
    tls: dict[str, Any] = {"ssl_certfile": settings.certificate, "ssl_keyfile": settings.key_file} if settings.secure else {}
    return uvicorn.Config(
        service,
        loop="uvloop",
        http=connection_class(settings.limits.body_seconds, settings.limits.connections),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=HEADERS + ([TLS_ONLY] if settings.secure or settings.behind_proxy else []),
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=BACKLOG,
        **tls,
    )
