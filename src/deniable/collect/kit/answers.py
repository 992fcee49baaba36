"""What is answered: refusals, errors in the form of refusals, and what a browser may do with an answer.

With data a browser may do nothing at all, with a page only what comes from its own origin. The page where a task of shuffle trust is
answered may speak to its shufflers, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from starlette.responses import Response
from starlette.types import Message, Send

from deniable.collect.kit.log import note_error
from deniable.collect.storage.log import StorageError

JSON = "application/json"
Headers = Sequence[tuple[bytes, bytes]]
NO_STORE = (b"cache-control", b"no-store")
ANY_ORIGIN = (b"access-control-allow-origin", b"*")
RETRY_SHOWN = (b"access-control-expose-headers", b"retry-after")
NAME = b"content-security-policy"
DATA = (NAME, b"default-src 'none'")


class HTTPAnswer(NamedTuple):
    """A whole answer: its status, its content and the type of that, and the headers that not every answer has."""

    status: int
    content: bytes = b""
    kind: str = JSON
    headers: Headers = ()

    async def send(self, send: Send, *, bare: bool = False) -> None:
        """Send it; a bare answer goes without its content."""
        headers = [DATA, *self.headers]
        if self.status != 204:
            headers += [(b"content-type", self.kind.encode()), (b"content-length", b"%d" % len(self.content))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if bare else self.content})


class Refusal(Exception):  # noqa: N818  # not an error of the program: how a request is answered early
    """A request is answered without having been counted.

    ``retry`` is after how many seconds it may come again, ``close`` if what it still sends is not worth reading; ``allow`` has the methods
    that are served, for a status of 405.
    """

    def __init__(self, status: int, code: str, message: str, *, retry: int | None = None, close: bool = False, allow: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry = retry
        self.close = close
        self.allow = allow

    @property
    def answer(self) -> HTTPAnswer:
        """The answer to send."""
        headers = []
        if self.retry is not None:
            headers.append((b"retry-after", b"%d" % self.retry))
        if self.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if self.allow:
            headers.append((b"allow", self.allow))
        if self.close:
            headers.append((b"connection", b"close"))
        return HTTPAnswer(self.status, msgspec.json.encode({"error": {"code": self.code, "message": self.message}}), headers=headers)


class Failures:
    """How one process answers a request that an error has ended: a table from kinds of errors to refusals, the most specific first.

    An error without a row is a bug: the log gets it without what was sent, and the answer says no more than that. ``where`` names the
    process.
    """

    def __init__(self, where: str, rows: Mapping[type[BaseException], Callable[[Any], Refusal]]) -> None:
        self._where = where
        self._rows: dict[type[BaseException], Callable[[Any], Refusal]] = {
            Refusal: lambda refusal: refusal,
            asyncio.CancelledError: lambda _: stopping(where),  # by the server: what is durable by now may safely come again
            StorageError: lambda _: Refusal(507, "storage", "it could not be stored; send it again", retry=5),
            **rows,
        }

    def refusal(self, error: BaseException) -> Refusal:
        """Return the refusal that answers an error."""
        for kind in type(error).__mro__:
            if kind in self._rows:
                return self._rows[kind](error)
        note_error("a request failed", error)
        return Refusal(500, "bug", f"this is a bug in the {self._where}; see its log", retry=5)


def unknown_task() -> Refusal:
    """Return the answer to an id that no task has."""
    return Refusal(404, "unknown_task", "no task has this id")


def stopping(where: str) -> Refusal:
    """Return the answer to a request that comes too late, or would take too long."""
    return Refusal(503, "stopping", f"the {where} is stopping", retry=5, close=True)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return content as a JSON response."""
    return Response(msgspec.json.encode(content), status, headers, media_type=JSON)


PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""No inline script or style, no evaluation of text as script, and nothing from anywhere else."""


def page_policy(addresses: Iterable[str] = ()) -> str:
    """The policy of a page whose script may also ask these addresses: the shufflers of the task that it answers, and nobody else.

    >>> page_policy(["https://shuffler.example.org/mix"]) == PAGE.replace("connect-src 'self'", "connect-src 'self' https://shuffler.example.org")
    True
    """
    origins = ["://".join(urlsplit(address)[:2]) for address in addresses]
    return PAGE.replace("connect-src 'self'", " ".join(["connect-src 'self'", *dict.fromkeys(origins)]))


def guarded(send: Send) -> Send:
    """Sends answers on, those that bring no policy of their own with the one for data."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and not any(name == NAME for name, _ in message["headers"]):
            message = {**message, "headers": [*message["headers"], DATA]}
        await send(message)

    return sending
