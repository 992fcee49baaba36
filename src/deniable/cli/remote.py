"""Talking to a collector from the command line: address, token, and its refusals in plain words."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from deniable.cli.console import waiting
from deniable.cli.exits import ERROR, TOO_FEW
from deniable.cli.options import TOKEN_VARIABLE, URL_VARIABLE
from deniable.client.transport import HTTPTransport, TransportError
from deniable.errors import DeniableError, ParameterError

PATIENCE = 600.0
"""Seconds for a whole exchange: a period with many reports takes its time to be counted, and a long answer its time to arrive."""
LARGEST_ANSWER = 1 << 30
"""The most bytes that are read of an answer: estimates of a million values are long."""
LEAST_PREFIX = 6
"""How many digits of an id are taken for the beginning of one."""
HINTS = {401: f"set {TOKEN_VARIABLE} or pass --token-file", 403: "this token is for something else", 404: "see: deniable task list"}


class RefusedError(DeniableError):
    """A collector said no, in its own words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__("collector", f"{status} {code}", allowed="what this collector takes", fix=message)
        self.status, self.code = status, code
        self.exit_status = TOO_FEW if code == "too_few" else ERROR
        self.args = (f"{message} ({status} {code}{'; ' + HINTS[status] if status in HINTS else ''})",)


class Remote:
    """One collector, as seen by whoever holds a token for it."""

    def __init__(self, url: str, transport: HTTPTransport, token: str | None) -> None:
        self._url, self._transport = url, transport
        self._headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})

    def call(self, method: str, path: str, *, body: bytes = b"", media_type: str = "", query: Mapping[str, object] | None = None) -> Any:
        """The JSON that a request is answered with, None if there is no body; RefusedError if the answer is no success."""
        headers = self._headers | ({"Content-Type": media_type} if media_type else {})
        address = f"{path}?{urlencode(query)}" if query else path
        try:
            with waiting(self._url, PATIENCE):
                answer = self._transport.request(method, address, body, headers)
        except TransportError as error:
            raise TransportError("--url", self._url, allowed="the address of a collector that runs", fix=error.fix) from error
        try:
            content = json.loads(answer.body) if answer.body else None
        except (UnicodeDecodeError, ValueError) as error:
            raise RefusedError(answer.status, "no_json", "this is no answer of a collector: check the address") from error
        if 200 <= answer.status < 300:
            return content
        told = content.get("error") if isinstance(content, dict) else None
        told = told if isinstance(told, dict) else {}
        raise RefusedError(answer.status, str(told.get("code", "error")), str(told.get("message", "the collector did not say why")))

    def tasks(self) -> list[dict[str, Any]]:
        """Every task of the collector, in a line each."""
        tasks: list[dict[str, Any]] = self.call("GET", "/v1/tasks")
        return tasks

    def find(self, which: str) -> dict[str, Any]:
        """The one task of the collector that ``find_task`` finds."""
        return find_task(self.tasks(), which)


def find_task(tasks: Sequence[dict[str, Any]], which: str) -> dict[str, Any]:
    """The one task that an id, the beginning of one, or a name stands for; a closed one of a name only if none of that name is open."""
    begun = which if len(which) >= LEAST_PREFIX else "no id begins so"
    found = [entry for entry in tasks if which in (entry["id"], entry["name"]) or entry["id"].startswith(begun)]
    found = [entry for entry in found if not entry["closed"]] or found
    if len(found) != 1:
        allowed = f"one of {[entry['id'][:12] + ' ' + entry['name'] for entry in (found or tasks)]}"
        fix = "several are called so: give the id" if found else "see: deniable task list; or publish it first: deniable task publish"
        raise ParameterError("task", which, allowed=allowed, fix=fix)
    return found[0]


@contextmanager
def collector_at(url: str, token_file: Path | None = None) -> Iterator[Remote]:
    """The collector at an address, with the token of the file or the environment."""
    if not url:
        raise ParameterError("--url", url, allowed="the collector's address", fix=f"pass --url https://... or set {URL_VARIABLE}")
    token = read_token(token_file)
    transport = HTTPTransport(url, timeout=PATIENCE, largest=LARGEST_ANSWER)
    try:
        yield Remote(url, transport, token)
    finally:
        transport.close()


def read_token(token_file: Path | None) -> str | None:
    """The token, never taken from the command line, where other users of the machine could read it."""
    token = os.environ.get(TOKEN_VARIABLE, "") if token_file is None else token_file.read_text(encoding="utf-8", errors="replace").strip()
    if not token and token_file is None:
        return None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        where = TOKEN_VARIABLE if token_file is None else token_file.name
        raise ParameterError(where, f"{len(token)} characters", allowed="one line, without spaces", fix="put nothing but the token there")
    return token
