"""The ``deniable`` command in tests: real processes, forked from one that has read everything already (``tests.system.nursery``)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.system.nursery import nursery

COMMAND = [str(Path(sys.executable).parent / "deniable")]
"""The installed command, where its own start is of interest."""


class Started:
    """A command that runs; its output is kept until it is asked for."""

    def __init__(self, *arguments, cwd=None, **environment):
        self._folder = tempfile.TemporaryDirectory()
        self._out = Path(self._folder.name) / "out"
        self._arguments = tuple(map(str, arguments))
        given = {name: str(value) for name, value in environment.items()}
        self._process = nursery().start(*self._arguments, out=self._out, environment=given, folder=cwd or Path.cwd())

    @property
    def errors(self):
        """What it has written to its standard error so far."""
        file = self._out.with_suffix(".err")
        return file.read_text() if file.exists() else ""

    def kill(self):
        """As ``kill -9``; what it had written to its standard error."""
        os.kill(self._process, signal.SIGKILL)
        return self.end(-signal.SIGKILL).stderr

    def end(self, status=0):
        """Wait for its end; what it wrote. ``status`` is what it must end with, None for anything."""
        with self._folder:
            returned = nursery().status(self._process)
            read = self._out.read_text(), self._out.with_suffix(".err").read_text()
        done = subprocess.CompletedProcess(self._arguments, returned, *read)
        assert status is None or done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done


def run(*arguments, cwd=None, status=0, **environment):
    """Run a command to its end; what it wrote."""
    return Started(*arguments, cwd=cwd, **environment).end(status)
