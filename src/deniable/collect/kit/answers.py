"""What is answered: refusals, JSON, and what a browser may do with it.

With data a browser may do nothing at all, with a page only what comes from its own origin. The page where a task of shuffle trust is
answered may speak to its shufflers, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.responses import Response
from starlette.types import Message, Send

JSON = "application/json"


class Refusal(Exception):  # noqa: N818  # not an error of the program: how a request is answered early
    """A request is answered without having been counted.

    ``close`` if what it still sends is not worth reading, ``allow`` has the methods that are served, for a status of 405.
    """

    def __init__(
        self, status: int, code: str, message: str, *, retry: int | None = None, close: bool = False, allow: bytes = b"POST, OPTIONS"
    ) -> None:
        super().__init__(message)
        self.allow = allow
        self.status = status
        self.code = code
        self.message = message
        self.retry = retry
        self.close = close


def unknown_task() -> Refusal:
    """The answer to an id that no task has."""
    return Refusal(404, "unknown_task", "there is no task with this id")


def stopping(where: str = "collector") -> Refusal:
    """The answer to whoever comes too late, or would have to be waited for."""
    return Refusal(503, "stopping", f"the {where} is being stopped", retry=5, close=True)


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer as JSON."""
    return Response(msgspec.json.encode(content), status, headers, media_type=JSON)


NAME = b"content-security-policy"
DATA = (NAME, b"default-src 'none'")
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
