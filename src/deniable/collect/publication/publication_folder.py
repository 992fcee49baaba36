"""The folder of an open publication: bytes by name, whatever else an attacker has put under a name."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.errors import DeniableError, WireError

MANIFEST, TASK, ROUNDS, LOG, ESTIMATES = "manifest.json", "task.json", "rounds.json", "log.json", "estimates.json"
MOST_BYTES = 1 << 28
"""The largest file that is not one of reports."""
WIDEST = 1 << 23
"""The most bytes that one report takes: a bit for each counter that a collector has room for."""


class PublicationFiles:
    """The files of a folder; a name that is not there is told as such."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """The content of a file."""
        with self.open(name) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise WireError(name, f"more than {most:,} bytes", allowed="the files of a publication", fix="it was made up")
        return data

    def digest(self, name: str, most: int) -> str:
        """The SHA-256 of a file in hex; WireError if it is larger than it can be: a file with a hole can have any size."""
        with self.open(name) as file:
            if os.fstat(file.fileno()).st_size > most:
                raise WireError(name, f"more than {most:,} bytes", allowed="the files of a publication", fix="the file was changed")
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def open(self, name: str) -> Iterator[BufferedReader]:
        """A file of the folder: a device, a pipe or a folder under its name could be read for ever."""
        try:
            handle = os.open(self._folder / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe is not waited for
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise WireError(name, "no ordinary file", allowed="the files of a publication", fix="copy the whole folder")
                yield file
        except OSError as error:
            raise WireError(
                name, "no file", allowed="the files of a publication", fix=f"copy the whole folder ({error.strerror})"
            ) from error

    def check(self, listed: Mapping[str, Any], reports: Mapping[str, int]) -> None:
        """Refuse a file that is not the one that was signed, that is missing, or that was not signed; of some it is said what they hold."""
        here = {path.relative_to(self._folder).as_posix() for path in self._folder.rglob("*") if not path.is_dir()}
        for name in sorted(here - {MANIFEST} - set(listed)):
            raise WireError(name, "a file", allowed="what the manifest lists", fix="it is no part of the publication: remove it")
        for name, told in listed.items():
            found = self.digest(name, MOST_BYTES + reports.get(name, 0) * WIDEST)
            if found != told:
                raise WireError(name, f"SHA-256 {found}", allowed=f"SHA-256 {told}, as signed", fix="the file was changed")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Whatever is wrong inside is told as an error of this file."""
    try:
        yield
    except (DeniableError, pa.ArrowException, KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        if isinstance(error, WireError) and error.parameter.startswith(name):
            raise
        raise WireError(name, "something else", allowed="what was published", fix=str(error)) from error
