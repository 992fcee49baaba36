"""The ``deniable`` command in tests: real processes, forked from one that has read everything already (``tests.system.nursery``)."""

from __future__ import annotations

import atexit
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.system.nursery import Nursery

COMMAND = [str(Path(sys.executable).parent / "deniable")]
"""The installed command, where its own start is of interest."""


@cache
def nursery() -> Nursery:
    """One for all tests of a process."""
    made = Nursery()
    atexit.register(made.close)
    return made


def run(*arguments, cwd=None, status=0, **environment):
    """Run a command to its end; what it wrote. ``status`` is what it must end with, None for anything."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        given = {name: str(value) for name, value in environment.items()}
        process = nursery().start(*map(str, arguments), out=out, environment=given, folder=cwd or Path.cwd())
        returned = nursery().status(process)
        done = subprocess.CompletedProcess(arguments, returned, out.read_text(), out.with_suffix(".err").read_text())
    assert status is None or done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done
