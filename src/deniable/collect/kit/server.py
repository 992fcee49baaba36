"""A process behind a port: it says where it serves, and is stopped without losing anything that it acknowledged."""

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
"""How often the port is listened on: uvloop takes one new connection from each listening socket in a turn of its loop, and under load,
where a turn is long, the others would wait for seconds."""
GRACE_SECONDS = 2
"""How long requests may take to end once the process is told to stop."""
LAST_SECONDS = 1.5
"""How long everything else may take after that."""
HEADERS = [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")]
"""Of every answer; ``policy`` has the one that pages and data differ in."""
TLS_ONLY = ("strict-transport-security", "max-age=31536000")


class ProcessServer(uvicorn.Server):
    """Says where it listens once it is ready, and ends in time whatever still computes."""

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
        """Stop answering. What was acknowledged is durable, so a thread that is cut off in the middle of an estimate loses nothing."""
        last = threading.Timer(GRACE_SECONDS + LAST_SECONDS, os._exit, (0,))
        last.daemon = True
        last.start()
        await super().shutdown(sockets)


@contextmanager
def port(settings: ProcessSettings) -> Iterator[socket.socket]:
    """The port of a process that logs and can be told to stop, held before anything else is opened."""

    def leave(_: int, __: FrameType | None) -> None:
        raise SystemExit(0)

    begin(settings.log_level)
    signal.signal(signal.SIGTERM, leave)  # also what uvicorn falls back to in the end: being stopped is no failure
    signal.signal(signal.SIGINT, leave)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG) as listening:
        yield listening


def server_config(service: ASGIApp, settings: ProcessSettings) -> uvicorn.Config:
    """What uvicorn is told."""
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
