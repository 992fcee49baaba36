"""A collector as its operator runs it: ``deniable serve`` in a process of its own, on a free port, with a store in a folder."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import sqlite3
import ssl
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.storage.backends import find_backend
from deniable.collect.web.access import add_token, list_tokens
from deniable.contract.envelope import MEDIA_TYPE, Envelope
from deniable.contract.spec import MECHANISMS
from deniable.contract.task import Task
from tests.cli.running import run
from tests.system.nursery import COMMAND as PROGRAM
from tests.system.nursery import Child, Nursery, nursery

COMMAND = str(Path(sys.executable).parent / "deniable")
TIMEOUT = 300.0
"""Seconds after which a test that waits for a process has failed, on however slow a machine."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        return self.json["error"]["code"]


class NotStartedError(AssertionError):
    """A process that did not say where it serves: how it ended, and what it wrote."""

    def __init__(self, status: int, written: str) -> None:
        super().__init__(f"it did not start: it ended with {status}, and wrote: {written}")
        self.status = status


class Server:
    """One collector. Used in a ``with`` statement it is running inside and gone outside.

    ``testing`` switches on the identity and a clock that can be set ahead (``ahead``); ``cafile`` is trusted for https. ``program``
    is the module that is run.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        store: str | Path | None = None,
        testing: bool = True,
        cafile: str | None = None,
        program: str = PROGRAM,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.store = str(store or folder / "store")
        self.options = options
        self.cafile = cafile
        self.program = program
        self.errors = folder / "stderr"
        self.offset = folder / "clock"
        self.ahead(0)
        quiet = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}
        self.environment = quiet | ({"DENIABLE_TESTING": "1", "DENIABLE_TEST_CLOCK": str(self.offset)} if testing else {})
        self.process: Child | None = None
        self.url = ""

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.kill()

    # --- the process ---

    def start(self) -> None:
        """Start it, and wait until it says where it serves."""
        self.launch("serve", "--store", self.store, "--port", "0", *self.options)

    def launch(self, *arguments: str) -> None:
        """Run a command that serves, and wait until it says where."""
        self.process = nursery().serve(*arguments, err=self.errors, environment=self.environment, program=self.program)
        line = self.process.stdout.readline()
        if not line.startswith("serving on "):
            raise NotStartedError(self._end(signal.SIGKILL), line + self.errors.read_text())
        self.url = line.removeprefix("serving on ").strip()

    def stop(self) -> int:
        """Ask it to end, and return its exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it without asking."""
        self._end(signal.SIGKILL)

    def died(self) -> int:
        """Wait until it ends by itself, and return its exit status."""
        return self._end(None)

    def _end(self, how: signal.Signals | None) -> int:
        if how is not None:
            self.process.send_signal(how)
        status = self.process.wait()
        self.process.stdout.close()
        self.process = None
        return status

    def restart(self) -> None:
        """Kill it and start it again on the same store; its port changes."""
        self.kill()
        self.start()

    def run(self, *arguments: str, status: int = 0) -> str:
        """Another command, under the same environment; what it printed."""
        return run(*arguments, status=status, **self.environment).stdout

    def token(self, role: str) -> str:
        """A new token, made beside the server as the command makes it."""
        with closing(find_backend(self.store).open_catalog()) as catalog:
            return add_token(catalog, role, f"{role} {len(list_tokens(catalog))}")

    def ahead(self, seconds: float, *, wrong: float = 0) -> None:
        """Let so many seconds more have passed than for the machine; by so many its time of day is wrong besides."""
        new = self.offset.with_suffix(".new")
        new.write_text(f"{seconds} {wrong}")
        new.replace(self.offset)

    def states(self) -> dict[int, str]:
        """The state of every period, as an embedded store has it; for collectors with one task."""
        with closing(sqlite3.connect(Path(self.store) / "collector.sqlite")) as database:
            return dict(database.execute("SELECT number, state FROM bucket"))

    def log(self) -> list[dict[str, Any]]:
        """What it has logged since it was made."""
        return [json.loads(line) for line in self.errors.read_text().splitlines()]

    # --- the network ---

    def connection(self, timeout: float = TIMEOUT) -> http.client.HTTPConnection:
        """A connection to it, to be closed by the caller."""
        parts = urlsplit(self.url)
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=timeout, context=ssl.create_default_context(cafile=self.cafile)
            )
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def request(self, method: str, path: str, body: bytes = b"", *, token: str = "", **headers: str) -> Answer:
        """One request on a connection of its own; underscores in names of headers stand for hyphens."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | ({"Authorization": f"Bearer {token}"} if token else {})
        connection = self.connection()
        try:
            connection.request(method, path, body or None, sent)
            response = connection.getresponse()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str, token: str = "") -> Answer:
        return self.request("GET", path, token=token)

    def fault(self, point: str) -> None:
        """Name the point at which the next process dies: see ``deniable.collect.faults``; none if empty."""
        self.environment["DENIABLE_TEST_FAULT"] = point

    def seal(self, task: bytes, period: int, token: str) -> Answer:
        """Count a period now."""
        return self.request("POST", f"/v1/tasks/{task.hex()}/seal?period={period}", token=token)

    def task(self, toml: str, token: str) -> Task:
        """Publish a task, and read it as a device would."""
        return Task.from_json(self.get(f"/v1/tasks/{self.publish(toml, token)}").json["task"].encode())

    def publish(self, toml: str, token: str) -> str:
        """Publish a task; its id."""
        answer = self.request("POST", "/v1/tasks", toml.encode(), token=token, Content_Type="application/toml")
        assert answer.status == 201, answer.body
        return hashlib.sha256(answer.json["task"].encode()).hexdigest()

    def send(self, *envelopes: Envelope) -> Answer:
        """Hand in reports."""
        return self.request("POST", "/v1/reports", b"".join(envelope.pack() for envelope in envelopes), Content_Type=MEDIA_TYPE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A collector with an embedded store of its own."""
    with Server(tmp_path / "collector") as running:
        yield running


@pytest.fixture(name="nursery")
def shared_nursery() -> Nursery:
    """Where processes are made."""
    return nursery()


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process reads tasks that ask for answers in the clear, too."""
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
