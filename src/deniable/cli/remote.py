"""Requests to a collector from the command line: its address, the token, and its refusals in plain words."""

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
from deniable.errors import DeniableError, ParameterError, one_of, shorten

PATIENCE = 600.0
"""Seconds for a whole exchange: counting a large period takes time, and so does receiving a long answer."""
LARGEST_ANSWER = 1 << 30
"""The largest answer in bytes: estimates of a million values are long."""
LEAST_PREFIX = 6
"""How many digits may stand for a whole id."""
HINTS = {
    401: f"set {TOKEN_VARIABLE}, or pass --token-file",
    403: "use a token with the role that this needs",
    404: "see: deniable task list",
}


class RefusedError(DeniableError):
    """A collector refused a request, in its own words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__("collector", f"{status} {code}", allowed="what this collector takes", fix=message)
        self.status, self.code = status, code
        self.exit_status = TOO_FEW if code == "too_few" else ERROR
        self.args = (f"{message} ({status} {code}{'; ' + HINTS[status] if status in HINTS else ''})",)


class Remote:
    """One collector, as the owner of a token sees it."""

    def __init__(self, url: str, transport: HTTPTransport, token: str | None) -> None:
        self._url, self._transport = url, transport
        self._headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})

    def call(self, method: str, path: str, *, body: bytes = b"", media_type: str = "", query: Mapping[str, object] | None = None) -> Any:
        """Return the JSON of the answer, None without a body; raise RefusedError unless the request succeeded."""
        headers = self._headers | ({"Content-Type": media_type} if media_type else {})
        address = f"{path}?{urlencode(query)}" if query else path
        try:
            with waiting(self._url, PATIENCE):
                answer = self._transport.request(method, address, body, headers)
        except TransportError as error:
            where = f"{shorten(self._url)} ({error.received})"
            failed = TransportError("--url", where, allowed="the address of a running collector", fix=error.fix)
            failed.args = (f"--url: got {where}; allowed: {failed.allowed}; {failed.fix}",)
            raise failed from error
        try:
            content = json.loads(answer.body) if answer.body else None
        except (UnicodeDecodeError, ValueError) as error:
            raise RefusedError(answer.status, "no_json", "check the address: this is no answer from a collector") from error
        if 200 <= answer.status < 300:
            return content
        said = content.get("error") if isinstance(content, dict) else None
        said = said if isinstance(said, dict) else {}
        raise RefusedError(answer.status, str(said.get("code", "error")), str(said.get("message", "the collector did not say why")))

    def tasks(self) -> list[dict[str, Any]]:
        """Return every task of the collector, one row each."""
        tasks: list[dict[str, Any]] = self.call("GET", "/v1/tasks")
        return tasks

    def find(self, which: str) -> dict[str, Any]:
        """Return the task of the collector that an id, the beginning of one, or a name stands for."""
        return find_task(self.tasks(), which)


def find_task(tasks: Sequence[dict[str, Any]], which: str) -> dict[str, Any]:
    """Return the task that an id, the beginning of one, or a name stands for; an open one rather than closed ones of that name."""
    begun = which if len(which) >= LEAST_PREFIX else "no id begins so"
    found = [entry for entry in tasks if which in (entry["id"], entry["name"]) or entry["id"].startswith(begun)]
    found = [entry for entry in found if not entry["closed"]] or found
    if len(found) != 1:
        known = [f"{entry['id'][:12]} {entry['name']}" for entry in (found or tasks)]
        fix = (
            "give the id: several tasks have this name" if found else "see: deniable task list; or publish it first: deniable task publish"
        )
        raise ParameterError("TASK", which, allowed=one_of(known) if known else "a task, and this collector has none", fix=fix)
    return found[0]


@contextmanager
def collector_at(url: str, token_file: Path | None = None) -> Iterator[Remote]:
    """Connect to the collector at an address, with the token from the file or the environment."""
    if not url:
        raise ParameterError("--url", url, allowed="the collector's address", fix=f"pass --url https://... or set {URL_VARIABLE}")
    token = read_token(token_file)
    try:
        transport = HTTPTransport(url, timeout=PATIENCE, largest=LARGEST_ANSWER)
    except ParameterError as error:
        raise ParameterError("--url", url, allowed=error.allowed, fix="write it as in https://collector.example.org") from error
    try:
        yield Remote(url, transport, token)
    finally:
        transport.close()


def read_token(token_file: Path | None) -> str | None:
    """Return the token; never from the command line, which other users of the machine can read."""
    token = os.environ.get(TOKEN_VARIABLE, "") if token_file is None else token_file.read_text(encoding="utf-8", errors="replace").strip()
    if not token and token_file is None:
        return None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        where = TOKEN_VARIABLE if token_file is None else token_file.name
        raise ParameterError(
            where, f"{len(token)} characters", allowed="a token: one line, without spaces", fix="put the token there, and nothing else"
        )
    return token
