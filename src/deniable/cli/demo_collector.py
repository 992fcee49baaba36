"""The demo's servers: the real ``deniable serve`` and ``deniable shuffle`` in processes and folders of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deniable.cli.extra import server_extra
from deniable.cli.stores import open_catalog

PATIENCE = 10.0
"""How many seconds a collector may take to stop; it needs less than five."""
TAIL = 2000
"""How many characters of its log to show if a collector does not start."""


class RunningCollector(NamedTuple):
    """A collector's address, the files with its two tokens, its log, and how many seconds it took to start."""

    url: str
    admin: Path
    analyst: Path
    log: Path
    process: subprocess.Popen[str]
    seconds: float


@contextmanager
def running_collector(folder: Path, log: Path) -> Iterator[RunningCollector]:
    """Run a collector on a free port of this machine while the context lasts; keep its log."""
    store = folder / "store"
    admin, analyst = (_make_token(store, role, folder / f"{role}.token") for role in ("admin", "analyst"))
    public = "--public-estimates"  # only this machine can reach it, and its people are simulated
    began = time.perf_counter()
    with _started(["serve", "--store", str(store), "--port", "0", public], log) as (url, process):
        yield RunningCollector(url, admin, analyst, log, process, time.perf_counter() - began)


@contextmanager
def running_shuffler(folder: Path, log: Path, *, collector: str, task: bytes, port: int) -> Iterator[None]:
    """Run a shuffler for one task, at the address in the task, with the keys in the folder."""
    about = ["--folder", str(folder), "--collector", collector, "--task", task.hex(), "--port", str(port), "--tend-seconds", "0.2"]
    with _started(["shuffle", *about], log):
        yield


@contextmanager
def _started(arguments: list[str], log: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a server while the context lasts; yield its address and process."""
    command = [sys.executable, "-c", "from deniable.cli.demo_collector import serve; serve()", *arguments]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")
    }  # they are meant for another collector
    with (
        log.open("w") as errors,
        subprocess.Popen(  # noqa: S603  # ourselves
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        ) as process,
    ):
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.startswith("serving on "):
                raise ChildProcessError(f"deniable {arguments[0]} did not start: {log.read_text()[-TAIL:]}")
            yield line.removeprefix("serving on ").strip(), process
        finally:
            _stop(process)


def serve() -> None:
    """Run ``deniable`` until the process that started this one is gone, even if that was killed."""
    from deniable.cli import main

    threading.Thread(target=_outlive_nobody, name="parent", daemon=True).start()
    main()


def _outlive_nobody() -> None:
    sys.stdin.buffer.read()  # nothing is ever written there: this ends when the parent process does, in whatever way
    os.kill(os.getpid(), signal.SIGTERM)


def _make_token(store: Path, role: str, file: Path) -> Path:
    """Write a file, readable by its owner alone, with a token for the collector that will use this store."""
    with server_extra("deniable demo"):
        from deniable.collect.web.access import add_token
    with open_catalog(str(store), new=True) as catalog:
        token = add_token(catalog, role, "demo " + role)
    file.touch(mode=0o600)
    file.write_text(token)
    return file


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:  # a stuck disk, perhaps
        process.kill()
