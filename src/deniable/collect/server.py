"""The process: a collector behind a port, tended every second, stopped without losing anything that it acknowledged."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from deniable.collect.clock import SYSTEM_CLOCK
from deniable.collect.collector import Collector
from deniable.collect.dashboard.site import Dashboard
from deniable.collect.settings import Settings
from deniable.collect.storage.database import CONNECT_SECONDS
from deniable.collect.storage.store import Store
from deniable.collect.tasks.spans import until
from deniable.collect.web.api import Api
from deniable.collect.web.batches import PATH, BatchIngest
from deniable.collect.web.committer import Committer
from deniable.collect.web.connection import connection_class
from deniable.collect.web.dispatch import application
from deniable.collect.web.ingest import Ingest
from deniable.collect.web.journal import begin, note
from deniable.collect.web.metrics import Metrics
from deniable.collect.web.news import News
from deniable.collect.web.policy import guarded
from deniable.collect.web.routes import REPORTS
from deniable.collect.web.troubles import Troubles

BACKLOG = 2048
HANDSHAKE_SECONDS = 10.0
"""How long the handshake of TLS may take."""
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


class Service:
    """The ASGI application: reports and batches to ingest, all else to the API and the dashboard; tended from its start to its end."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = SYSTEM_CLOCK) -> None:
        self.settings = settings
        self.store = Store.open(settings.store)
        self.collector = Collector(self.store, clock=clock)
        self.metrics = Metrics(self._period_now)
        self.metrics.open_tasks.set_function(self._open_tasks)
        self.metrics.parked_rounds.set_function(self._parked_rounds)
        self.metrics.clock_doubt.set_function(lambda: self.collector.watch.now().doubt)
        self._committer = Committer(self.collector.append, most_waiting=settings.limits.most_waiting, observe=self.metrics.appended)
        news = News(self.collector.refresh) if self.store.shared else None
        self._ingest = Ingest(self.collector, self._committer, limits=settings.limits, metrics=self.metrics, news=news)
        self._batches = BatchIngest(self.collector, self.metrics, news)
        board = Dashboard(self.collector, settings)
        self._api = application(Api(self.collector, self.metrics), board.routes, news=news, missing=board.missing)
        self._stop = threading.Event()
        self._tender = threading.Thread(target=self._tend, name="tend", daemon=True)
        self._troubles = Troubles()
        self._doubting = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or follow the server's start and end."""
        if scope["type"] == "http":
            if scope["path"] == REPORTS:
                await self._ingest(scope, receive, send)
            elif PATH.fullmatch(scope["path"]):
                await self._batches(scope, receive, send)
            else:
                await self._api(scope, receive, guarded(send))
        elif scope["type"] == "lifespan":
            await live(receive, send, [self._tender], self.stop)

    async def stop(self) -> None:
        """Write what was taken, finish tending, let go of the store."""
        self._stop.set()
        self._batches.stop()
        await self._ingest.stop()
        await asyncio.to_thread(self._tender.join, LAST_SECONDS / 2)
        if self._tender.is_alive():
            note("stopped in the middle of a step; it is undone", level="warning")  # each is one transaction
        else:
            self.store.close()

    def _tend(self) -> None:
        while not self._stop.wait(self.settings.tend_seconds):
            self._troubles.attempt("tending", self._tend_once, instead=None)

    def _tend_once(self) -> None:
        self.collector.tend(self._say)
        self._tell_of_the_clock()

    def _say(self, step: str) -> None:
        note(step, level="error" if step.startswith("parked") else "info")
        self.metrics.sealed.inc(step.startswith(("sealed", "closed")))

    def _tell_of_the_clock(self) -> None:
        """Log when the clock is no longer believed, and when it is again."""
        doubt = self.collector.watch.now().doubt
        if doubt and not self._doubting:
            fix = "if it is right now, start the collector again; until then it goes by what the time should be"
            note("the clock has jumped ahead", level="warning", seconds=round(doubt), fix=fix)
        elif self._doubting and not doubt:
            note("the clock is back where it should be", level="warning")
        self._doubting = bool(doubt)

    def _period_now(self, task: bytes) -> int | None:
        live = self.collector.admission.tasks.get(task)
        if live is None:
            return None
        return live.round if live.task.rounds else live.task.period_at(self.collector.clock())

    def _open_tasks(self) -> float:
        return sum(not live.closed for live in self.collector.admission.tasks.values())

    def _parked_rounds(self) -> float:
        waiting = (live for live in self.collector.admission.tasks.values() if not (live.closed and live.task.rounds))
        return sum(len(live.parked) or bool(live.unreadable) for live in waiting)


class Server(uvicorn.Server):
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


async def live(receive: Receive, send: Send, threads: Sequence[threading.Thread], stop: Callable[[], Awaitable[None]]) -> None:
    """Follow a server from its start, and so that of the threads, to its end."""
    await receive()
    for thread in threads:
        thread.start()
    gc.freeze()  # what was loaded stays: the collector of garbage need not look at it over and over, which is milliseconds each time
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await stop()
    await send({"type": "lifespan.shutdown.complete"})


@contextmanager
def port(settings: Settings) -> Iterator[socket.socket]:
    """The port of a process that logs and can be told to stop, held before anything else is opened."""

    def leave(_: int, __: FrameType | None) -> None:
        raise SystemExit(0)

    begin(settings.log_level)
    signal.signal(signal.SIGTERM, leave)  # also what uvicorn falls back to in the end: being stopped is no failure
    signal.signal(signal.SIGINT, leave)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG) as listening:
        yield listening


def serve(settings: Settings, *, clock: Callable[[], float] = SYSTEM_CLOCK) -> None:
    """Run a collector until the process is told to stop."""
    with port(settings) as listening:
        if settings.store.startswith("postgresql:"):
            note(f"waiting for the database, until {until(CONNECT_SECONDS)} at the latest")
        service = Service(settings, clock=clock)
        note("starting", store=settings.store_in_words, tasks=len(service.collector.admission.tasks))
        try:
            Server(server_config(service, settings)).run([listening])
        finally:
            note("stopped")


def server_config(service: ASGIApp, settings: Settings) -> uvicorn.Config:
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
