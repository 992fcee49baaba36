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
import threading
from collections.abc import Callable, Sequence

import msgspec
from starlette.types import Receive, Scope, Send

from deniable.collect.clock import Clock
from deniable.collect.kit.answers import DATA, JSON, Refusal
from deniable.collect.kit.log import note, note_error
from deniable.collect.kit.server import LAST_SECONDS, Server, live, port, server_config
from deniable.collect.kit.troubles import Troubles
from deniable.collect.settings import Settings
from deniable.collect.storage.log import StorageError
from deniable.collect.sums.aggregation import Aggregation, Over
from deniable.collect.sums.bodies import PartyBodies
from deniable.collect.sums.signature import DIGEST, MEDIA_TYPE, PATH, SIGNATURE, signed_digest
from deniable.collect.sums.store import RUNNING
from deniable.collect.tasks.spans import until
from deniable.errors import ProtocolError, WireError

LONGEST_WAIT = 20.0
"""Seconds that a party that asks waits for an answer."""
AGREEMENT, HEALTH = "/v1/sum", "/v1/health"
_JSON, _KIND = JSON.encode(), MEDIA_TYPE.encode()
Answer = tuple[int, bytes, bytes]
"""Status, type and content."""


class SumService:
    """The ASGI application of one sum. ``over`` is called once when it is over, ``leave`` when everybody knows, or ``linger`` is past."""

    def __init__(self, sum_: Aggregation, settings: Settings, clock: Clock, *, linger: float, over: Callable[[], None]) -> None:
        self.sum = sum_
        self.leave: Callable[[], None] = lambda: None
        self._settings, self._clock, self._linger, self._over = settings, clock, linger, over
        self._bodies = PartyBodies(sum_.agreement.roles.largest)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._stop, self._work = threading.Event(), threading.Event()
        self._tender = threading.Thread(target=self._tend, name="tend", daemon=True)
        self._troubles = Troubles()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or follow the server's start and end."""
        if scope["type"] == "http":
            await self._respond(scope, receive, send)
        elif scope["type"] == "lifespan":
            self._loop = asyncio.get_running_loop()
            await live(receive, send, [self._tender], lambda: asyncio.to_thread(self._tender.join, LAST_SECONDS))

    def stop(self) -> None:
        """Let everybody go who waits."""
        self._stop.set()
        self._work.set()
        self._wake()

    # --- requests ---

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        extra: list[tuple[bytes, bytes]] = []
        try:
            status, kind, content = await self._answer(scope, receive)
        except Refusal as refusal:
            status, kind, content, extra = *_problem(refusal.status, refusal.code, refusal.message), _headers(refusal)
        except Over as over:
            status, kind, content = _problem(410, over.state, "there is nothing more to do in this sum")
        except WireError as error:
            status, kind, content = _problem(400, "malformed", str(error))
        except ProtocolError as error:
            status, kind, content = _problem(409, "not_due", str(error))
        except asyncio.CancelledError:  # by the server that is being stopped; a message that is durable by now may safely come again
            status, kind, content = _problem(503, "stopping", "the aggregator is being stopped")
        except StorageError:
            status, kind, content, extra = *_problem(507, "storage", "it could not be stored; send it again"), [(b"retry-after", b"5")]
        except Exception as error:  # a bug: logged without what was sent
            note_error("a request failed", error)
            status, kind, content = _problem(500, "bug", "this is a bug in the aggregator; its log says where")
        length = () if status == 204 else ((b"content-type", kind), (b"content-length", b"%d" % len(content)))
        headers = (DATA, (b"cache-control", b"no-store"), *extra, *length)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        path, method = scope["path"], scope["method"]
        public: dict[str, Callable[[], bytes]] = {
            AGREEMENT: lambda: self.sum.agreement.canonical,
            f"/v1/sums/{self.sum.agreement.id.hex()}": lambda: msgspec.json.encode(self.sum.status()),
            HEALTH: self._health,
        }
        if path in public:
            if method not in ("GET", "HEAD"):
                raise Refusal(405, "method", "ask by GET")
            return 200, _JSON, await asyncio.to_thread(public[path])
        found = PATH.fullmatch(path)
        party = int(found[2]) if found else -1
        if found is None or found[1] != self.sum.agreement.id.hex() or not 0 <= party < len(self.sum.agreement.members):
            raise Refusal(404, "not_found", "there is no such sum here, or no such party in it", close=True)
        if method not in ("GET", "POST"):
            raise Refusal(405, "method", "messages are sent by POST and fetched by GET", close=True)
        digest = self._check_headers(scope["headers"], party, method, path)
        if method == "GET":
            message = await self._wait(party)
            return (204, b"", b"") if message is None else (200, _KIND, message)
        async with self._bodies.newest(party, receive) as body:
            await asyncio.to_thread(self._take, party, body, digest)
        self._work.set()
        return 204, b"", b""

    def _check_headers(self, headers: Sequence[tuple[bytes, bytes]], party: int, method: str, path: str) -> str:
        """The digest of the body that the party has signed. Refusal if it must not even be read: a stranger's fills no memory."""
        kind, named = self._bodies.check_headers(headers), dict(headers)
        if method == "POST" and kind != _KIND:
            raise Refusal(415, "wrong_type", f"a message is of type {MEDIA_TYPE}", close=True)
        length = int(named.get(b"content-length", b"0"))
        digest = signed_digest(self.sum.agreement.members[party].key, named, method, path, length)
        if not digest:
            message = f"the headers {SIGNATURE} and {DIGEST} are not those of a request by party {party}; run the aggregator's version"
            raise Refusal(403, "signature", message, close=True)
        return digest

    def _take(self, party: int, body: bytes, digest: str) -> None:
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
            if self._stop.is_set():
                raise Refusal(503, "stopping", "the aggregator is being stopped", retry=1, close=True)
            try:
                await asyncio.wait_for(changed.wait(), end - loop.time())
            except TimeoutError:
                return None

    def _health(self) -> bytes:
        if self._troubles:
            raise Refusal(503, "trouble", "something fails again and again; the log says what", retry=5)
        if self.sum.store.lacks_room():
            raise Refusal(503, "trouble", "the disk is full", retry=5)
        return msgspec.json.encode({"state": "ready"})

    # --- the thread that ends steps ---

    def _tend(self) -> None:
        ended: float | None = None
        while not self._stop.is_set():
            self._work.wait(self._settings.tend_seconds)
            self._work.clear()
            if not self._troubles.attempt("ending a step", self._end_step, instead=False) or self.sum.state == RUNNING:
                continue
            if ended is None:
                ended = self._clock.steady()
                self._show()
            if self.sum.everybody_told or self._clock.steady() - ended >= self._linger:
                self.leave()
                return

    def _end_step(self) -> bool:
        """End the step if it is over, and let those know who wait; True once that is done."""
        if self.sum.tend():
            self.note_step()
            self._wake()
        return True

    def note_step(self) -> None:
        """Log what the sum waits for, and until when."""
        if (found := self.sum.status())["state"] == RUNNING:
            whom = f"{found['waiting']} of {len(self.sum.agreement.members)} members"
            note(f"{found['step']}: waiting for {whom}, until {until(float(found['seconds']))} at the latest")

    def _show(self) -> None:
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


class SumServer(Server):
    """Lets those go first who wait for an answer; and has all the time it needs, since a result is still to be shown."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop answering."""
        service: SumService = self.config.app  # type: ignore[assignment]  # the one that it was made with
        service.stop()
        await super(Server, self).shutdown(sockets)


def serve_sum(
    settings: Settings, make: Callable[[], Aggregation], clock: Clock, *, linger: float, over: Callable[[Aggregation], None]
) -> None:
    """Run an aggregator until the sum is over and everybody knows, or the process is told to stop; ``over`` is called with the result."""
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


def _problem(status: int, code: str, message: str) -> Answer:
    return status, _JSON, msgspec.json.encode({"error": {"code": code, "message": message}})


def _headers(refusal: Refusal) -> list[tuple[bytes, bytes]]:
    found = [(b"retry-after", b"%d" % refusal.retry)] if refusal.retry is not None else []
    return found + ([(b"connection", b"close")] if refusal.close else [])
