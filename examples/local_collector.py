"""A collector on this machine for as long as an example runs, by the commands that an operator would type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

DENIABLE = [sys.executable, "-c", "from deniable.cli import main; main()"]
"""The ``deniable`` command of this environment."""


class Collector(NamedTuple):
    """Where it serves, the task that it has published, and its operator's token."""

    url: str
    task: str
    token: str

    def ask(self, *arguments: object) -> str:
        """Run a command about this collector, as its operator."""
        return deniable(*arguments, DENIABLE_URL=self.url, DENIABLE_TOKEN=self.token)


def deniable(*arguments: object, **environment: str) -> str:
    """Run a command to its end; what it printed."""
    done = subprocess.run([*DENIABLE, *map(str, arguments)], env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"deniable {arguments[0]} failed: {done.stderr}")
    return done.stdout


@contextmanager
def serving(*arguments: object) -> Iterator[str]:
    """The address of a command that serves, which is stopped in the end."""
    with subprocess.Popen([*DENIABLE, *map(str, arguments)], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().removeprefix("serving on ").strip()
        finally:
            process.terminate()


@contextmanager
def collector(task_file: Path) -> Iterator[Collector]:
    """A collector that has published one task. All it knows is gone in the end."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        token = deniable("token", "add", "example", "--role", "admin", "--store", store).split()[-1]
        with serving("serve", "--store", store, "--port", 0, "--public-estimates", "--log-level", "warning") as url:
            published = deniable("task", "publish", task_file, "--url", url, "--json", DENIABLE_TOKEN=token)
            yield Collector(url, json.loads(published)["id"], token)
