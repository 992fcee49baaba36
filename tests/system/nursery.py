"""Processes by the dozen: one that has imported everything forks one for every command, which then is a process like any other.

Run as ``python -m tests.system.nursery``. Each line of its input is a JSON object: ``{"run": [arguments], "environment": {}, "out": file,
"err": file, "folder": path or null}`` starts ``deniable`` with these arguments and is answered with its process id; ``{"ended": id}`` is
answered with its exit status, or null while it runs. Whatever still runs when the input ends is killed.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

PATIENCE, PAUSE = 300.0, 0.02
"""How long a process may take, and how often it is looked after, in seconds."""


class Nursery:
    """The test's end of it."""

    def __init__(self) -> None:
        arguments = [sys.executable, "-m", "tests.system.nursery"]
        self._parent = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def close(self) -> None:
        self._parent.stdin.close()
        self._parent.wait(60)
        self._parent.stdout.close()

    def start(self, *arguments: str, out: Path, environment: dict[str, str] | None = None, folder: Path | None = None) -> int:
        """Start a command, in a folder; its process id. Output goes to the file, errors beside it."""
        quiet = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}
        names = {"out": str(out), "err": str(out.with_suffix(".err")), "folder": None if folder is None else str(folder)}
        return self._ask({"run": arguments, "environment": quiet | (environment or {}), **names})

    def ended(self, process: int) -> int | None:
        return self._ask({"ended": process})

    def status(self, process: int) -> int:
        """Wait until a process ends; its exit status."""
        deadline = time.monotonic() + PATIENCE
        while (status := self.ended(process)) is None:
            assert time.monotonic() < deadline
            time.sleep(PAUSE)
        return status

    def _ask(self, request: dict[str, Any]) -> Any:
        self._parent.stdin.write(json.dumps(request) + "\n")
        self._parent.stdin.flush()
        return json.loads(self._parent.stdout.readline())


def child(request: dict[str, Any]) -> None:
    """Become the command."""
    from deniable.cli import main

    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for handle, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), handle)
        os.environ.clear()
        os.environ.update(request["environment"])
        if request["folder"] is not None:
            os.chdir(request["folder"])
        sys.argv = ["deniable", *request["run"]]
        sys.modules["__main__"].__package__ = None  # like the script that is installed: help names it
        main()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    import deniable.collect.summing.numbers
    import deniable.collect.summing.service
    import deniable.collect.summing.taking_part  # noqa: F401  # once for all
    from deniable.cli.app import command_line

    command_line()
    gc.freeze()  # what was imported is not looked at, and so not copied, in every child
    running: dict[int, int | None] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "run" in request:
            process = os.fork()
            if process == 0:
                child(request)
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
