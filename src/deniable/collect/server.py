"""The process: a collector behind a port, tended every second, stopped without losing anything that it acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from deniable.collect.clock import SYSTEM_CLOCK
from deniable.collect.collector import Collector
from deniable.collect.dashboard.site import Dashboard
from deniable.collect.kit.answers import guarded
from deniable.collect.kit.committer import Committer
from deniable.collect.kit.log import note
from deniable.collect.kit.process import Chore, Process
from deniable.collect.kit.server import LAST_SECONDS, ProcessServer, port, server_config
from deniable.collect.settings import Settings
from deniable.collect.storage.backends import CONNECT_SECONDS, find_backend
from deniable.collect.storage.store import Store
from deniable.collect.tasks.spans import until
from deniable.collect.web.api import Api
from deniable.collect.web.batches import PATH, BatchIngest
from deniable.collect.web.dispatch import application
from deniable.collect.web.ingest import Ingest
from deniable.collect.web.metrics import Metrics
from deniable.collect.web.news import News
from deniable.collect.web.routes import REPORTS


class Service(Process):
    """The ASGI application: reports and batches to ingest, all else to the API and the dashboard; tended from its start to its end."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = SYSTEM_CLOCK) -> None:
        self.settings = settings
        self.store = Store.open(settings.store)
        self.collector = Collector(self.store, clock=clock)
        self.metrics = Metrics(self._number_now)
        self.metrics.open_tasks.set_function(self._open_tasks)
        self.metrics.parked_rounds.set_function(self._parked_rounds)
        self.metrics.clock_doubt.set_function(lambda: self.collector.watch.now().doubt)
        self._committer = Committer(self.collector.append, most_waiting=settings.limits.most_waiting, observe=self.metrics.appended)
        news = News(self.collector.refresh) if self.store.catalog.shared else None
        self._ingest = Ingest(self.collector, self._committer, limits=settings.limits, metrics=self.metrics, news=news)
        self._batches = BatchIngest(self.collector, self.metrics, news)
        board = Dashboard(self.collector, settings)
        self._api = application(Api(self.collector, self.metrics), board.routes, news=news, missing=board.missing)
        self._tending = Chore("tending", self._tend, every=settings.tend_seconds)
        self.chores = (self._tending,)
        self._doubting = False

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: most are for reports."""
        if scope["path"] == REPORTS:
            await self._ingest(scope, receive, send)
        elif PATH.fullmatch(scope["path"]):
            await self._batches(scope, receive, send)
        else:
            await self._api(scope, receive, guarded(send))

    async def stop(self) -> None:
        """Write what was taken, finish tending, let go of the store."""
        self._tending.stop()
        self._batches.stop()
        await self._ingest.stop()
        if await asyncio.to_thread(self._tending.ended, LAST_SECONDS / 2):
            self.store.close()
        else:
            note("stopped in the middle of a step; it is undone", level="warning")  # each is one transaction

    def _tend(self) -> float:
        self.collector.tend(self._say)
        self._tell_of_the_clock()
        return self.settings.tend_seconds

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

    def _number_now(self, task: bytes) -> int | None:
        """The number of the period or the round that a task is in."""
        live = self.collector.admission.tasks.get(task)
        if live is None:
            return None
        return live.round if live.task.rounds else live.task.period_at(self.collector.clock())

    def _open_tasks(self) -> float:
        return sum(not live.closed for live in self.collector.admission.tasks.values())

    def _parked_rounds(self) -> float:
        waiting = (live for live in self.collector.admission.tasks.values() if not (live.closed and live.task.rounds))
        return sum(len(live.parked) or bool(live.unreadable) for live in waiting)


def serve(settings: Settings, *, clock: Callable[[], float] = SYSTEM_CLOCK) -> None:
    """Run a collector until the process has to stop."""
    with port(settings) as listening:
        if find_backend(settings.store).remote:
            note(f"waiting for the database, until {until(CONNECT_SECONDS)} at the latest")
        service = Service(settings, clock=clock)
        note("starting", store=settings.store_in_words, tasks=len(service.collector.admission.tasks))
        try:
            ProcessServer(server_config(service, settings)).run([listening])
        finally:
            note("stopped")
