"""A page with the client for devices, and crowds of them: in Chromium from a server on this machine, in node as a process."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

from tests.answering import answering
from tests.conftest import ROOT
from tests.services import needed

PAGE = b"""<!doctype html><meta charset="utf-8"><title>device</title><link rel="icon" href="data:,">
<script type="module">import * as deniable from "/clients/js/src/index.js"; window.deniable = deniable;</script>"""
OPEN = """([url, task, options]) => {
  const ledger = new deniable.IndexedDBLedger({ lifetimeEpsilon: options.lifetimeEpsilon ?? 8 });
  window.ledger = ledger;
  window.reporter = new deniable.Reporter(url, { task, ledger, sleep: () => {}, ...options });
}"""
"""Makes a ledger and a reporter, for a collector that answers at once or not at all."""


class Files(SimpleHTTPRequestHandler):
    """The files of a folder, and no word about who asked."""

    def log_message(self, *_: object) -> None:
        pass


class _Client(Files):
    """The client's files and the vectors, and one page that loads them."""

    def do_GET(self) -> None:
        if self.path == "/":
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)
        elif self.path.startswith(("/clients/js/", "/vectors/")):
            super().do_GET()
        else:
            self.send_error(404)


@contextmanager
def serving(folder: Path, files: type[Files] = Files) -> Iterator[str]:
    """The address of a server of files on this machine."""
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), partial(files, directory=str(folder)))) as port:
        yield f"http://localhost:{port}"


@contextmanager
def serving_client() -> Iterator[str]:
    """The address of the page."""
    with serving(ROOT, _Client) as address:
        yield address


def open_device(context: BrowserContext, client: str, url: str, task: str, **options: Any) -> Page:
    """A tab whose ``ledger`` and ``reporter`` are there."""
    page = context.new_page()
    page.goto(client)
    page.wait_for_function("() => window.deniable")
    page.evaluate(OPEN, [url, task, options])
    return page


class NodeCrowd:
    """People whose devices all live in one node process, and keep their ledgers until it ends."""

    def __init__(self, url: str, task: str, people: list[dict[str, Any]]) -> None:
        node = shutil.which("node")
        needed(node, "node is not installed (on Debian: apt-get install nodejs)")
        command = [str(node), str(ROOT / "tests" / "browser" / "crowd.mjs")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._tell({"url": url, "task": task, "people": people})

    def _tell(self, line: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def report(self, now: float | None = None) -> list[dict[str, Any]]:
        """Everybody answers what is asked now; the receipts of those who were asked."""
        return [receipt for receipt in self._tell({"now": now}) if receipt is not None]

    def __enter__(self) -> NodeCrowd:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()  # type: ignore[union-attr]  # a pipe, as opened
        assert self._process.wait(60) == 0
        self._process.stdout.close()  # type: ignore[union-attr]  # a pipe, too
