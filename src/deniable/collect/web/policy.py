"""What a browser may do with an answer: with data nothing at all, with a page only what comes from its own origin."""

from __future__ import annotations

from starlette.types import Message, Send

NAME = b"content-security-policy"
DATA = (NAME, b"default-src 'none'")
PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""No inline script or style, no evaluation of text as script, and nothing from anywhere else."""


def guarded(send: Send) -> Send:
    """Sends answers on, those that bring no policy of their own with the one for data."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and not any(name == NAME for name, _ in message["headers"]):
            message = {**message, "headers": [*message["headers"], DATA]}
        await send(message)

    return sending
