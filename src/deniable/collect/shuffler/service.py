"""The shuffler's process: its ASGI application, and the two threads that let batches go and pass them on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping

import msgspec
from prometheus_client import start_http_server
from starlette.types import Receive, Scope, Send

from deniable.collect.kit.answers import DATA, Refusal
from deniable.collect.kit.committer import Committer
from deniable.collect.kit.entrance import JSON, ORIGIN
from deniable.collect.kit.log import note
from deniable.collect.kit.server import LAST_SECONDS, Server, live, port, server_config
from deniable.collect.kit.troubles import Troubles
from deniable.collect.settings import Settings
from deniable.collect.shuffler.figures import ShufflerMetrics
from deniable.collect.shuffler.forwarder import Forwarder, Link
from deniable.collect.shuffler.openers import Openers
from deniable.collect.shuffler.reception import Reception
from deniable.collect.shuffler.shuffler import Shuffler

SEALS, KEYS, HEALTH = "/v1/seals", "/v1/keys", "/v1/health"
PATIENCE = 60.0
"""Seconds after which the forwarder looks for work that nobody told it of."""


class ShuffleService:
    """The ASGI application of a shuffler; tended from its start to its end."""

    def __init__(self, shuffler: Shuffler, links: Mapping[bytes, Link], settings: Settings, *, workers: int) -> None:
        self.shuffler = shuffler
        self.figures = ShufflerMetrics(lambda: sum(shuffler.held.values()))
        stations = [served.station for served in shuffler.tasks.values()]
        limits = settings.limits
        self._openers = Openers(stations, shuffler.pairs, workers=workers, most=limits.max_reports)
        committer = Committer(shuffler.append, most_waiting=limits.most_waiting, observe=self.figures.appended)
        self._reception = Reception(self._openers, committer, shuffler.store.known, limits=limits, figures=self.figures)
        self._forwarder = Forwarder(shuffler.store, links.get, observe=self.figures.delivered)
        self._pause = settings.tend_seconds
        self._stop = threading.Event()
        self._work = threading.Event()
        names = {"tend": self._tend, "forward": self._forward}
        self._threads = [threading.Thread(target=function, name=name, daemon=True) for name, function in names.items()]
        self._troubles = Troubles()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or follow the server's start and end."""
        if scope["type"] == "http":
            if scope["path"] == SEALS:
                await self._reception(scope, receive, send)
            else:
                await self._answer(scope, send)
        elif scope["type"] == "lifespan":
            await live(receive, send, self._threads, self.stop)

    async def stop(self) -> None:
        """Make what was taken durable, finish what is being done, let go of the store."""
        self._stop.set()
        self._work.set()
        await self._reception.stop()
        self._openers.stop()
        for thread in self._threads:
            await asyncio.to_thread(thread.join, LAST_SECONDS / 3)
        if any(thread.is_alive() for thread in self._threads):
            note("stopped in the middle of a step; it is undone, or done again", level="warning")
        else:
            self.shuffler.store.close()

    async def _answer(self, scope: Scope, send: Send) -> None:
        answers: dict[str, Callable[[], tuple[bytes, bytes]]] = {
            KEYS: lambda: (b"application/json", self.shuffler.announcement()),
            HEALTH: lambda: (b"application/json", msgspec.json.encode({"state": "ready"})),
        }
        make = answers.get(scope["path"])
        if make is None or scope["method"] not in ("GET", "HEAD"):
            missing = Refusal(404, "not_found", f"there are {SEALS}, {KEYS} and {HEALTH}")
            await self._reception.refuse(missing if make is None else Refusal(405, "method", "ask by GET", allow=b"GET, HEAD"), send)
            return
        if scope["path"] == HEALTH and (trouble := self._trouble()):
            await self._reception.refuse(Refusal(503, "trouble", trouble, retry=5), send)
            return
        kind, content = make()
        headers = (ORIGIN, DATA, (JSON[0], kind), (b"content-length", b"%d" % len(content)), (b"cache-control", b"no-store"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    def _trouble(self) -> str:
        """Why it cannot take seals, or nothing."""
        if self._troubles:
            return "something fails again and again; the log says what"
        return "the disk is full" if self.shuffler.store.lacks_room() else ""

    # --- the threads ---

    def _tend(self) -> None:
        while not self._stop.wait(self._pause):
            self._troubles.attempt("tending", self._tend_once, instead=None)

    def _tend_once(self) -> None:
        made = self.shuffler.tend()
        if made:
            self.figures.made.inc(made)
            self._work.set()

    def _forward(self) -> None:
        left: float | None = 0.0
        while not self._stop.is_set():
            self._work.wait(PATIENCE if left is None else left)
            self._work.clear()
            if not self._stop.is_set():
                left = self._troubles.attempt("passing on", self._forwarder.step, instead=self._pause)


def serve_shuffler(
    settings: Settings, make: Callable[[], tuple[Shuffler, Mapping[bytes, Link]]], *, workers: int, metrics_port: int = 0
) -> None:
    """Run a shuffler until the process is told to stop; ``make`` opens its store once the port is there.

    Figures are served on a port of their own, to this machine alone: how many wait, second by second, tells who came when.
    """
    with port(settings) as listening:
        shuffler, links = make()
        note("starting", tasks=len(shuffler.tasks), held=sum(shuffler.store.groups().values()))
        try:
            service = ShuffleService(shuffler, links, settings, workers=workers)
            if metrics_port:
                start_http_server(metrics_port, "127.0.0.1", service.figures.registry)
            Server(server_config(service, settings)).run([listening])
        finally:
            note("stopped")
