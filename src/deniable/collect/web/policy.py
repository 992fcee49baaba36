"""What a browser may do with an answer: with data nothing at all, with a page only what comes from its own origin.

The page where a task of shuffle trust is answered may speak to its shufflers, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import Message, Send

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
