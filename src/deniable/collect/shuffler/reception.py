"""POST /v1/seals: the one way in for seals, from devices and from shufflers before this one.

As with reports at a collector; but the body is opened elsewhere, by one of several processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from starlette.types import Receive

from deniable.collect.kit.answers import Refusal
from deniable.collect.kit.bodies import BodyReader
from deniable.collect.kit.committer import Committer, QueueFullError
from deniable.collect.kit.entrance import Entrance
from deniable.collect.kit.limits import Limits
from deniable.collect.shuffler.judge import UNKNOWN_KEY, Address, OpenedSeals, Row
from deniable.collect.shuffler.metrics import ShufflerMetrics
from deniable.collect.shuffler.openers import Openers
from deniable.collect.shuffler.worker import WorkerDiedError
from deniable.contract.sealed import MEDIA_TYPE
from deniable.errors import WireError

_KIND = MEDIA_TYPE.encode()
Known = Callable[[bytes, Sequence[bytes]], set[bytes]]
"""The ids of seals among these that were taken for a task."""


class Reception(Entrance):
    """The ASGI application behind POST /v1/seals."""

    what, where, waits = "seals", "shuffler", "opened or stored"

    def __init__(
        self,
        openers: Openers,
        committer: Committer[Address, Row, tuple[bytes, str]],
        known: Known,
        *,
        limits: Limits,
        metrics: ShufflerMetrics,
    ) -> None:
        super().__init__(committer, metrics.requests, at_once=limits.requests_at_once)
        self._openers = openers
        self._known = known
        self._limits = limits
        self._metrics = metrics
        self._bodies = BodyReader(most=limits.max_body, most_together=limits.most_waiting, seconds=limits.body_seconds)

    def failures(self) -> dict[type[BaseException], Callable[[Any], Refusal]]:
        """The answers to its own errors."""
        died = Refusal(503, "interrupted", "the seals could not be opened; send them again", retry=1)
        return super().failures() | {WorkerDiedError: lambda _: died}

    async def take(self, headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> list[tuple[bytes, str]] | None:
        """What was not taken, by id and code; None if the sender is gone."""
        if self._bodies.check_headers(headers) != _KIND:
            raise Refusal(415, "wrong_type", f"a body is of type {MEDIA_TYPE}", close=True)
        body = await self._bodies.read(receive)
        if body is None:
            return None
        if self._committer.full or self._openers.waiting > self._limits.most_waiting:
            raise self.no_room()
        try:
            opened = await self._openers.open(body)
        except WireError as error:
            raise Refusal(400, "malformed", str(error)) from error
        if not opened.seals:
            raise Refusal(400, "malformed", "a body has at least one seal")
        try:
            told = await self._committer.commit(opened.rows, len(body)) if opened.rows else frozenset[tuple[bytes, str]]()
        except QueueFullError as error:
            raise self.no_room() from error
        return await self._sort_out(opened, dict(told))

    async def _sort_out(self, opened: OpenedSeals, told: dict[bytes, str]) -> list[tuple[bytes, str]]:
        """What was not taken: what could not be opened, unless it was taken while its key was there, and what the store refused."""
        refused = opened.refused
        late = [(task, seal) for task, seal, code in refused if code == UNKNOWN_KEY]
        if late:
            known = await asyncio.to_thread(self._look_up, late)
            refused = [item for item in refused if item[1] not in known]
        rejected = [(seal, code) for _, seal, code in refused]
        if told:  # about all requests of one append
            rejected += [(row[0], told[row[0]]) for rows in opened.rows.values() for row in rows if row[0] in told]
        self._metrics.seals["accepted"].inc(opened.seals - len(rejected))
        for _, code in rejected:
            self._metrics.seals[code].inc()
        return rejected

    def _look_up(self, late: list[tuple[bytes, bytes]]) -> set[bytes]:
        return {seal for task in {task for task, _ in late} for seal in self._known(task, [seal for own, seal in late if own == task])}
