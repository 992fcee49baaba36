"""Processes by the dozen: one that has imported everything forks one for every command, which then is a process like any other.

Run as ``python -m tests.system.nursery``. Each line of its input is a JSON object: ``{"run": [arguments], "program": module,
"environment": {}, "out": file, "err": file, "folder": path or null}`` calls the module's ``main`` with these arguments, in a process whose
id is the answer; ``{"ended": id}`` is answered with its exit status, or null while it runs. Whatever still runs when the input ends is
killed.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tests.conftest import ROOT

PATIENCE, PAUSE = 300.0, 0.02
"""How long a process may take, and how often it is looked after, in seconds."""
COMMAND = "deniable.cli"
"""What is run unless something else is named."""
ONCE = ("deniable.collect.server", "deniable.collect.publication.open_tally", "deniable.collect.shuffler.service", "tests.system.receiver")
ONCE += tuple(f"deniable.collect.sums.{part}" for part in ("numbers", "service", "participation"))
ONCE += ("pydantic", "uvloop", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.lifespan.on")
"""Modules that some command reads when it needs them: here they are read once for all."""


class Nursery:
    """The test's end of it."""

    def __init__(self) -> None:
        arguments = [sys.executable, "-m", "tests.system.nursery"]
        self._parent = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self._one_at_a_time = threading.Lock()

    def close(self) -> None:
        self._parent.stdin.close()
        self._parent.wait(60)
        self._parent.stdout.close()

    def start(
        self,
        *arguments: str,
        out: Path,
        environment: dict[str, str] | None = None,
        folder: Path | None = None,
        program: str = COMMAND,
    ) -> int:
        """Start a command, in a folder; its process id. Output goes to the file, errors beside it."""
        return self._start(arguments, out, out.with_suffix(".err"), quiet() | (environment or {}), folder, program)

    def serve(self, *arguments: str, err: Path, environment: dict[str, str] | None = None, program: str = COMMAND) -> Child:
        """Start a program whose output is read while it runs. Errors are added to the file."""
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "pipe"
            os.mkfifo(pipe)
            reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # somebody reads, or the other end could not be opened
            process = self._start(arguments, pipe, err, quiet() if environment is None else environment, None, program)
        os.set_blocking(reading, True)
        return Child(self, process, os.fdopen(reading))

    def ended(self, process: int) -> int | None:
        return self._ask({"ended": process})

    def status(self, process: int) -> int:
        """Wait until a process ends; its exit status."""
        deadline = time.monotonic() + PATIENCE
        while (status := self.ended(process)) is None:
            assert time.monotonic() < deadline, f"it still runs after {PATIENCE} seconds"
            time.sleep(PAUSE)
        return status

    def _start(self, run: tuple[str, ...], out: Path, err: Path, environment: dict[str, str], folder: Path | None, program=COMMAND) -> int:
        place = None if folder is None else str(folder)
        request = {"run": run, "program": program, "environment": environment, "out": str(out), "err": str(err), "folder": place}
        return self._ask(request)

    def _ask(self, request: dict[str, Any]) -> Any:
        with self._one_at_a_time:
            self._parent.stdin.write(json.dumps(request) + "\n")
            self._parent.stdin.flush()
            return json.loads(self._parent.stdout.readline())


class Child:
    """A process that was forked, and what it says; used as a ``subprocess.Popen`` is."""

    def __init__(self, nursery: Nursery, pid: int, stdout: IO[str]) -> None:
        self.pid, self.stdout = pid, stdout
        self._nursery = nursery

    def send_signal(self, which: signal.Signals) -> None:
        os.kill(self.pid, which)  # it is that process: nobody else gets the number before its status was asked for

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        return self._nursery.status(self.pid)


def quiet() -> dict[str, str]:
    """The environment, without what is meant for the command."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}


@cache
def nursery() -> Nursery:
    """One for all tests of a process."""
    made = Nursery()
    atexit.register(made.close)
    return made


def child(request: dict[str, Any], out: int, err: int) -> None:
    """Become the command."""
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.environ.clear()
        os.environ.update(request["environment"])
        if request["folder"] is not None:
            os.chdir(request["folder"])
        sys.argv = ["deniable", *request["run"]]
        sys.modules["__main__"].__package__ = None  # like the script that is installed: help names it
        import_module(request["program"]).main()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    from deniable.cli.app import command_line
    from deniable.client import GRR

    command_line()
    for name in ONCE:
        import_module(name)
    GRR(domain_size=2, epsilon=1.0).tally([0])  # with its first kernel the compiler reads most of itself
    gc.freeze()  # what was imported is not looked at, and so not copied, in every child
    running: dict[int, int | None] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "run" in request:
            handles = [os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for name in ("out", "err")]
            process = os.fork()
            if process == 0:
                child(request, *handles)
            for handle in handles:
                os.close(handle)
            running[process] = None
            answer: int | None = process
        else:
            process = request["ended"]
            if running[process] is None:
                found, status = os.waitpid(process, os.WNOHANG)
                running[process] = os.waitstatus_to_exitcode(status) if found else None
            answer = running[process]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for process, status in running.items():
        if status is None:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


if __name__ == "__main__":
    main()
