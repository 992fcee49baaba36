"""The shuffler's process: its ASGI application, and the two threads that let batches go and pass them on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from prometheus_client import start_http_server
from starlette.types import Receive, Scope, Send

from deniable.collect.kit.answers import ANY_ORIGIN, NO_STORE, RETRY_SHOWN, Failures, HTTPAnswer
from deniable.collect.kit.committer import Committer
from deniable.collect.kit.log import note
from deniable.collect.kit.process import Chore, Process
from deniable.collect.kit.routes import Routes, public
from deniable.collect.kit.server import LAST_SECONDS, ProcessServer, port, server_config
from deniable.collect.kit.settings import ProcessSettings
from deniable.collect.shuffler.forwarder import Forwarder, Link
from deniable.collect.shuffler.metrics import ShufflerMetrics
from deniable.collect.shuffler.openers import Openers
from deniable.collect.shuffler.reception import Reception
from deniable.collect.shuffler.shuffler import Shuffler

SEALS, KEYS, HEALTH = "/v1/seals", "/v1/keys", "/v1/health"
PATIENCE = 60.0
"""Seconds after which the forwarder looks for work without being called."""


class ShuffleService(Process):
    """The ASGI application of a shuffler; tended from its start to its end."""

    def __init__(self, shuffler: Shuffler, links: Mapping[bytes, Link], settings: ProcessSettings, *, workers: int) -> None:
        self.shuffler = shuffler
        self.metrics = ShufflerMetrics(lambda: sum(shuffler.held.values()))
        stations = [served.station for served in shuffler.tasks.values()]
        limits = settings.limits
        self._openers = Openers(stations, shuffler.pairs, workers=workers, most=limits.max_reports)
        committer = Committer(shuffler.append, most_waiting=limits.most_waiting, observe=self.metrics.appended)
        self._reception = Reception(self._openers, committer, shuffler.store.known, limits=limits, metrics=self.metrics)
        self._forwarder = Forwarder(shuffler.store, links.get, observe=self.metrics.delivered)
        self._every = settings.tend_seconds
        self._tending = Chore("tending", self._tend, every=self._every)
        self._passing_on = Chore("passing on", self._pass_on, every=self._every, first=0.0)
        self.chores = (self._tending, self._passing_on)
        routes = [public(KEYS, self._keys), public(HEALTH, self._health)]
        missing = f"there are {SEALS}, {KEYS} and {HEALTH}"
        self._routes = Routes(routes, Failures("shuffler", {}), missing=missing, always=(ANY_ORIGIN, RETRY_SHOWN))

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: most are for seals."""
        await (self._reception if scope["path"] == SEALS else self._routes)(scope, receive, send)

    async def stop(self) -> None:
        """Make what was taken durable, finish what is being done, let go of the store."""
        for chore in self.chores:
            chore.stop()
        await self._reception.stop()
        self._openers.stop()
        ended = [await asyncio.to_thread(chore.ended, LAST_SECONDS / 3) for chore in self.chores]
        if all(ended):
            self.shuffler.store.close()
        else:
            note("stopped in the middle of a step; it is undone, or done again", level="warning")

    async def _keys(self) -> HTTPAnswer:
        return HTTPAnswer(200, self.shuffler.announcement(), headers=(NO_STORE,))

    async def _health(self) -> HTTPAnswer:
        return self.health(self.shuffler.store.lacks_room)._replace(headers=(NO_STORE,))

    # --- the chores ---

    def _tend(self) -> float:
        made = self.shuffler.tend()
        if made:
            self.metrics.made.inc(made)
            self._passing_on.wake()
        return self._every

    def _pass_on(self) -> float:
        left = self._forwarder.step()
        return PATIENCE if left is None else left


def serve_shuffler(
    settings: ProcessSettings, make: Callable[[], tuple[Shuffler, Mapping[bytes, Link]]], *, workers: int, metrics_port: int = 0
) -> None:
    """Run a shuffler until the process has to stop; ``make`` opens its store once the port is open.

    Metrics are served on a port of their own, to this machine alone: how many wait, second by second, tells who came when.
    """
    with port(settings) as listening:
        shuffler, links = make()
        note("starting", tasks=len(shuffler.tasks), held=sum(shuffler.store.groups().values()))
        try:
            service = ShuffleService(shuffler, links, settings, workers=workers)
            if metrics_port:
                start_http_server(metrics_port, "127.0.0.1", service.metrics.registry)
            ProcessServer(server_config(service, settings)).run([listening])
        finally:
            note("stopped")
