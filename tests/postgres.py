"""A throw-away PostgreSQL for tests: a server for each test process, on a socket of its own; a database for each test."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from tests.services import needed

PORT = 5432  # only part of the socket's name: the server does not listen on the network
USER = "postgres"


def find_programs() -> Path | None:
    """The folder that holds PostgreSQL's server programs; None if there is none."""
    on_path = shutil.which("initdb")
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parent.parent.name))
    found = [Path(on_path).resolve()] if on_path else packaged[-1:]
    return found[0].parent if found else None


class Cluster:
    """A PostgreSQL server in a folder that is removed with it."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-"))  # not pytest's folder, which other users may not enter
        self.log = self.folder / "log"
        self._names = count(1)
        if os.getuid() == 0:
            shutil.chown(self.folder, USER, USER)
        self._run("initdb", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D", self.folder / "data")
        self.start()

    def start(self) -> None:
        # A start after a crash would sync a thousand files of every test's database one by one: a minute and more on a busy disk.
        recovery = "-c recovery_init_sync_method=syncfs"
        options = f"-c listen_addresses= -k {self.folder} -p {PORT} -c fsync=on -c max_connections=60 {recovery}"
        self._run("pg_ctl", "start", "-w", "-t", "300", "-D", self.folder / "data", "-l", self.log, "-o", options)

    def kill(self) -> None:
        """Stop as in a crash: nothing is flushed, and the next start recovers from the write-ahead log."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self.folder / "data")

    def remove(self) -> None:
        try:
            self.kill()
        finally:
            shutil.rmtree(self.folder)

    def new_database(self) -> str:
        """The address of an empty database. It goes with the server: to drop it would cost a checkpoint."""
        name = f"test{next(self._names)}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={PORT}"

    def _run(self, program: str, *arguments: str | Path) -> None:
        # PostgreSQL refuses to run as root. No pipe: the server would keep it open.
        account = {"user": USER, "group": USER, "extra_groups": []} if os.getuid() == 0 else {}
        with (self.folder / "output").open("w+") as output:
            streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            done = subprocess.run([self.programs / program, *arguments], check=False, cwd=self.folder, **streams, **account)
            output.seek(0)
            assert done.returncode == 0, f"{program}: {output.read()} {self.log.read_text() if self.log.exists() else ''}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A running PostgreSQL server, shared by the tests of one process."""
    programs = find_programs()
    needed(programs, "PostgreSQL's server programs are not installed (Debian and Ubuntu: apt-get install postgresql)")
    cluster = Cluster(programs)
    yield cluster
    cluster.remove()


@pytest.fixture
def postgres_address(postgres: Cluster) -> str:
    """The address of a fresh database."""
    return postgres.new_database()
