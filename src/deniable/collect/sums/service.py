"""The aggregator's process: its ASGI application, and the thread that ends steps.

======================================  =======================================================================================
``GET /v1/sum``                         the agreement
``GET /v1/sums/ID``                     how far it is: state, step, how many members it waits for, and how many seconds longer
``POST /v1/sums/ID/parties/NUMBER``     a party's message; 204: it is durable
``GET /v1/sums/ID/parties/NUMBER``      200: what is there for the party; 204: nothing after 20 seconds of waiting; 410: it is over
======================================  =======================================================================================

The last two are signed by the party, which is checked before a body is read. Nothing else about the sender is looked at, and nothing that
was sent is logged.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from deniable.collect.clock import Clock
from deniable.collect.kit.answers import NO_STORE, Failures, HTTPAnswer, Refusal
from deniable.collect.kit.log import note, note_error
from deniable.collect.kit.process import Chore, Process
from deniable.collect.kit.routes import HTTPRequest, Route, Routes, public
from deniable.collect.kit.server import LAST_SECONDS, ProcessServer, port, server_config
from deniable.collect.kit.settings import ProcessSettings
from deniable.collect.storage.sum_store import RUNNING
from deniable.collect.sums.aggregation import Aggregation, Over
from deniable.collect.sums.bodies import PartyBodies
from deniable.collect.sums.signature import DIGEST, MEDIA_TYPE, PATH, SIGNATURE, signed_digest
from deniable.collect.tasks.spans import until
from deniable.errors import ProtocolError, WireError

LONGEST_WAIT = 20.0
"""Seconds that a party that asks waits for an answer."""
AGREEMENT, HEALTH = "/v1/sum", "/v1/health"
MISSING = "there is no such sum here, or no such party in it"
_KIND = MEDIA_TYPE.encode()
ROWS: dict[type[BaseException], Callable[[Any], Refusal]] = {
    Over: lambda over: Refusal(410, over.state, "there is nothing more to do in this sum"),
    WireError: lambda error: Refusal(400, "malformed", str(error)),
    ProtocolError: lambda error: Refusal(409, "not_due", str(error)),
}
"""How an aggregator tells errors."""


class SumService(Process):
    """The ASGI application of one sum. ``over`` is called once when it is over, ``leave`` when everybody knows, or ``linger`` is past."""

    def __init__(self, sum_: Aggregation, settings: ProcessSettings, clock: Clock, *, linger: float, over: Callable[[], None]) -> None:
        self.sum = sum_
        self.leave: Callable[[], None] = lambda: None
        self._every, self._clock, self._linger, self._over = settings.tend_seconds, clock, linger, over
        self._bodies = PartyBodies(sum_.agreement.roles.largest)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._stopping = False
        self._ended: float | None = None
        self._ending = Chore("ending a step", self._end_step, every=self._every)
        self.chores = (self._ending,)
        identity = sum_.agreement.id.hex()
        messages = {"POST": self._take, "GET": self._give}
        routes = [
            public(AGREEMENT, partial(asyncio.to_thread, lambda: HTTPAnswer(200, sum_.agreement.canonical))),
            public(f"/v1/sums/{identity}", partial(asyncio.to_thread, lambda: HTTPAnswer(200, msgspec.json.encode(sum_.status())))),
            public(HEALTH, partial(asyncio.to_thread, lambda: self.health(sum_.store.lacks_room))),
            Route(PATH.pattern, messages, "messages are sent by POST and fetched by GET"),
        ]
        self._routes = Routes(routes, Failures("aggregator", ROWS), missing=MISSING, always=(NO_STORE,))

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        self._loop = asyncio.get_running_loop()  # where those wait whom a thread wakes
        await self._routes(scope, receive, send)

    async def stop(self) -> None:
        """Wait for the step that is being ended."""
        await asyncio.to_thread(self._ending.ended, LAST_SECONDS)

    def release(self) -> None:
        """Let everybody go who waits."""
        self._stopping = True
        self._ending.stop()
        self._wake()

    # --- requests ---

    async def _give(self, request: HTTPRequest) -> HTTPAnswer:
        party, _ = self._check(request)
        message = await self._wait(party)
        return HTTPAnswer(204) if message is None else HTTPAnswer(200, message, MEDIA_TYPE)

    async def _take(self, request: HTTPRequest) -> HTTPAnswer:
        party, digest = self._check(request)
        async with self._bodies.newest(party, request.receive) as body:
            await asyncio.to_thread(self._keep, party, body, digest)
        self._ending.wake()
        return HTTPAnswer(204)

    def _check(self, request: HTTPRequest) -> tuple[int, str]:
        """The party, and the digest of the body that it has signed. Refusal if it must not even be read: a stranger's fills no memory."""
        members, party = self.sum.agreement.members, int(request.names["party"])
        if request.names["sum"] != self.sum.agreement.id.hex() or party >= len(members):
            raise Refusal(404, "not_found", MISSING, close=True)
        kind, named = self._bodies.check_headers(request.headers), dict(request.headers)
        if request.method == "POST" and kind != _KIND:
            raise Refusal(415, "wrong_type", f"a message is of type {MEDIA_TYPE}", close=True)
        length = int(named.get(b"content-length", b"0"))
        digest = signed_digest(members[party].key, named, request.method, request.path, length)
        if not digest:
            message = f"the headers {SIGNATURE} and {DIGEST} are not those of a request by party {party}; run the aggregator's version"
            raise Refusal(403, "signature", message, close=True)
        return party, digest

    def _keep(self, party: int, body: bytes, digest: str) -> None:
        if hashlib.sha256(body).hexdigest() != digest:
            raise Refusal(403, "digest", f"this is not the body that the header {DIGEST} has the digest of")
        self.sum.take(party, body)

    async def _wait(self, party: int) -> bytes | None:
        """What is there for a party as soon as it is there; None if that takes too long."""
        loop = asyncio.get_running_loop()
        end = loop.time() + LONGEST_WAIT
        while True:
            changed = self._changed
            message = await asyncio.to_thread(self.sum.look, party)
            if message is not None:
                return message
            if self._stopping:
                raise Refusal(503, "stopping", "the aggregator is being stopped", retry=1, close=True)
            try:
                await asyncio.wait_for(changed.wait(), end - loop.time())
            except TimeoutError:
                return None

    # --- the chore ---

    def _end_step(self) -> float | None:
        """End the step if it is over, and let those know who wait; once the sum is over, wait until everybody knows."""
        if self.sum.tend():
            self.note_step()
            self._wake()
        if self.sum.state == RUNNING:
            return self._every
        if self._ended is None:
            self._ended = self._clock.steady()
            self._tell_the_result()
        if self.sum.everybody_told or self._clock.steady() - self._ended >= self._linger:
            self.leave()
            return None
        return self._every

    def note_step(self) -> None:
        """Log what the sum waits for, and until when."""
        if (found := self.sum.status())["state"] == RUNNING:
            whom = f"{found['waiting']} of {len(self.sum.agreement.members)} members"
            note(f"{found['step']}: waiting for {whom}, until {until(float(found['seconds']))} at the latest")

    def _tell_the_result(self) -> None:
        try:
            self._over()
        except Exception as error:  # nobody reads it: the sum is kept, and can be shown again
            note_error("showing the result failed", error)

    def _wake(self) -> None:
        def turn() -> None:
            waiting, self._changed = self._changed, asyncio.Event()
            waiting.set()

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(turn)


class SumServer(ProcessServer):
    """Lets those go first who wait for an answer; and has all the time it needs, since a result is still to be shown."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop answering."""
        service: SumService = self.config.app  # type: ignore[assignment]  # the one that it was made with
        service.release()
        await super(ProcessServer, self).shutdown(sockets)


def serve_sum(
    settings: ProcessSettings, make: Callable[[], Aggregation], clock: Clock, *, linger: float, over: Callable[[Aggregation], None]
) -> None:
    """Run an aggregator until the sum is over and every party knows, or a signal stops the process; ``over`` is called with the result."""
    with port(settings) as listening:
        found = make()
        service = SumService(found, settings, clock, linger=linger, over=lambda: over(found))
        service.note_step()
        note("starting", parties=len(found.agreement.parties), state=found.state)
        server = SumServer(server_config(service, settings))
        service.leave = lambda: setattr(server, "should_exit", True)
        try:
            server.run([listening])
        finally:
            found.store.close()
            note("stopped")
