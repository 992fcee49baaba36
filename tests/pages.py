"""A page of the docs, run as a reader would run it: from top to bottom, in one empty folder.

What is run, in the order of the page:

- Python with prompts, as a doctest.
- Python without prompts, as it stands. If a block marked ``text`` follows directly, it is what the code prints.
- Blocks marked ``console``: each line after ``$`` is a command, and what follows is its output. Servers and commands that end with ``&``
  run until ``kill %1`` stops the first of them, or the page ends; ``wait`` waits for the commands. What ``export`` sets stays set.
- Blocks with a title, such as ``toml title="tea.toml"``: files, written into the folder.

Outputs compare as doctests do: ``...`` stands for anything, and spaces are not counted. Randomness comes from the page's name instead of
the system, so that numbers repeat. Ports from 8000 to 8099 stand for ports that are free.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import shake_256
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from typer.testing import CliRunner

from deniable.cli import console
from deniable.cli.app import command_line, outline
from deniable.cli.commands import COMMANDS
from deniable.contract.source import SYSTEM

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PORT = re.compile(r"(127\.0\.0\.1:|localhost:|--port |http\.server )(80\d\d)\b")
SERVES = re.compile(r"deniable (serve|shuffle --|aggregate run)|python -m http.server")
WAITING = re.compile(r"^waiting for .*\n", re.MULTILINE)
"""What a command says when the collector takes longer than a second."""
PATIENCE = 30.0
BIN = Path(sys.executable).parent
TERMINAL = {"COLUMNS": "100", "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "CHECKOUT": str(Path(__file__).parents[1])}
APART = "from tests.pages import apart; apart()"
SHELL = {"|", ">", ">>", "&&", ";"}


class Block(NamedTuple):
    """One fence of a page."""

    language: str
    title: str | None
    text: str
    line: int
    follows: bool
    """True if nothing but empty lines is between it and the block before."""


def blocks(page: str) -> list[Block]:
    """All fences of a page that name a language."""
    found, end = [], 0
    for fence in FENCE.finditer(page):
        between = page[end : fence.start()]
        found.append(Block(fence[1], fence[2], fence[3], page.count("\n", 0, fence.start(3)) + 1, not between.strip()))
        end = fence.end()
    return found


class Randomness:
    """What ``os.urandom`` gives our own modules while a page runs: a stream that depends on the name of the page.

    Other libraries get the system's: how often they ask depends on what is cached.
    """

    def __init__(self, name: str) -> None:
        self.name, self.calls, self.system = name, 0, os.urandom

    def __call__(self, count: int) -> bytes:
        if not sys._getframe(1).f_globals["__name__"].startswith("deniable."):
            return self.system(count)
        self.calls += 1
        return shake_256(f"{self.name} {self.calls}".encode()).digest(count)


@contextlib.contextmanager
def repeatable(name: str):
    """Take all randomness from a name for a while."""
    real, os.urandom = os.urandom, Randomness(name)
    SYSTEM._buffer.clear()
    try:
        yield
    finally:
        os.urandom = real
        SYSTEM._buffer.clear()


@contextlib.contextmanager
def wide():
    """Print as wide as TERMINAL says: consoles read the width once, when they are imported."""
    with mock.patch.object(console.out, "_width", 100), mock.patch.object(console.err, "_width", 100):
        yield


def apart() -> None:
    """Run a command of ``deniable`` in this process of its own, with randomness from the name that comes first."""
    from deniable.cli import main

    name = sys.argv.pop(1)
    with repeatable(name):
        main()


class Page:
    """A page while it runs: its names, its folder and its servers."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.ports: dict[str, str] = {}
        self.servers: list[subprocess.Popen[str]] = []
        self.jobs: list[subprocess.Popen[str]] = []

    def run(self, until: str | None = None, visit: Callable[[Page], object] = bool, before: str = "") -> dict[str, Any]:
        """Run all blocks, or those up to the one that gives a name; return the names.

        ``visit`` is called while servers are up: at the heading ``before``, or at the end.
        """
        text = PORT.sub(self._port, self.path.read_text())
        found, stop = blocks(text), text[: text.index(before)].count("\n") if before else len(text)
        try:
            with contextlib.chdir(self.folder), repeatable(self.path.name), mock.patch.dict(os.environ, TERMINAL), wide():
                for i, block in enumerate(found):
                    if block.line > stop:
                        visit(self)
                        stop = len(text)
                    after = found[i + 1] if i + 1 < len(found) else None
                    self._run(block, after.text if after and after.follows and after.language == "text" else None)
                    if until in self.names:
                        break
                if not before:
                    visit(self)
        finally:
            for server in self.servers:
                server.terminate()
                server.communicate()
        return self.names

    def _run(self, block: Block, printed: str | None) -> None:
        if block.title:
            Path(block.title).write_text(block.text)
        elif block.language == "console":
            for command, output in commands(block.text):
                self._compare(block, command, output, WAITING.sub("", self._command(command, output)))
        elif block.text.startswith(("# src/", "# tests/")):
            return  # a file that CONTRIBUTING adds: its tests add it, too
        elif block.language == "python" and ">>> " in block.text:
            for example in doctest.DocTestParser().get_examples(block.text):
                self._example(block, example)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * (block.line - 1) + block.text, self.path, "exec"), self.names)
            self._compare(block, block.text, printed or "", out.getvalue())

    def _example(self, block: Block, example: doctest.Example) -> None:
        test = doctest.DocTest([example], self.names, self.path.name, str(self.path), block.line - 1, None)
        test.globs = self.names  # a copy otherwise
        out = io.StringIO()
        if doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=out.write, clear_globs=False).failed:
            raise AssertionError(out.getvalue())

    def _command(self, command: str, expected: str) -> str:
        """What a command prints: deniable's and Python's run in this process, whose randomness is known; all others in a shell."""
        if exported := re.match(r"export (\w+)=", command):
            return self._export(command, exported[1])
        words = shlex.split(os.path.expandvars(command))
        if words[0] == "kill":
            return self._stop(int(words[1].removeprefix("%")))
        if command == "wait":
            return "".join(str(job.wait(PATIENCE) or "") for job in self.jobs)
        if command.endswith(" &"):
            end = words.index(">") if ">" in words else -1
            name = f"{self.path.name} {len(self.jobs)}"
            printed = self._start([sys.executable, "-c", APART, name, *words[1:end]], expected)
            self.jobs.append(self.servers[-1])
            return printed
        if SHELL & set(words):
            return self._shell(command)
        if SERVES.match(command):
            return self._start([str(BIN / words[0]), *words[1:]], expected)
        if words[0] == "deniable":
            app = command_line(words[1]) if words[1] in COMMANDS else outline()
            return CliRunner().invoke(app, words[1:]).output
        if words[0] == "python" and words[1].endswith(".py"):
            with contextlib.redirect_stdout(io.StringIO()) as out, mock.patch.object(sys, "argv", words[1:]):
                runpy.run_path(words[1], run_name="__main__")
            return out.getvalue()
        return self._shell(command)

    def _shell(self, command: str) -> str:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(command, shell=True, text=True, timeout=120, check=False, **streams).stdout

    def _export(self, command: str, name: str) -> str:
        printed = self._shell(f'{command}\nprintf %s "${name}" > .exported')
        os.environ[name] = Path(".exported").read_text()
        return printed

    def _start(self, words: list[str], expected: str) -> str:
        """Start a command that goes on, and read what is expected of it."""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
        environment["DENIABLE_PORT"] = self.ports.get("8000") or self._free("8000")
        log = self.folder / f".server-{len(self.servers)}"
        with log.open("w") as out:
            server = subprocess.Popen(words, env=environment, stdout=out, stderr=out, text=True)
        self.servers.append(server)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and server.poll() is None:
            if doctest.OutputChecker().check_output(expected, log.read_text(), FLAGS):
                break
            time.sleep(0.05)
        return log.read_text()

    def _stop(self, job: int) -> str:
        """End a server as a shell does: its first has the number 1."""
        self.servers[job - 1].terminate()
        self.servers[job - 1].communicate()
        return ""

    def _compare(self, block: Block, source: str, want: str, got: str) -> None:
        checker = doctest.OutputChecker()
        if not checker.check_output(want, got, FLAGS):
            difference = checker.output_difference(doctest.Example(source, want), got, FLAGS)
            raise AssertionError(f"{self.path}, the block of line {block.line}:\n{source}\n{difference}")

    def _port(self, found: re.Match[str]) -> str:
        return found[1] + (self.ports.get(found[2]) or self._free(found[2]))

    def _free(self, port: str) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.ports[port] = str(probe.getsockname()[1])
        return self.ports[port]


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a block and what each prints; a line that ends with a backslash goes on."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        found.append((command, output))
    return found
