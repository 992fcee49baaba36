"""A request as its handler sees it, and the answers that several handlers give."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from deniable.collect.web.access import OPEN
from deniable.collect.web.body import JSON, Refusal


class Call(NamedTuple):
    """A request as its handler sees it: checked, and without anything about its sender."""

    task: bytes
    query: Any
    body: bytes
    role: str = OPEN
    """Of whoever asks."""


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer as JSON."""
    return Response(msgspec.json.encode(content), status, headers, media_type=JSON)


def unknown_task() -> Refusal:
    """The answer to an id that no task has."""
    return Refusal(404, "unknown_task", "there is no task with this id")
