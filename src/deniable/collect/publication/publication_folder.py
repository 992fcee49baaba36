"""The folder of an open publication: bytes by name, whatever else an attacker has put under a name."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.errors import DeniableError, ParameterError, WireError

MANIFEST, TASK, ROUNDS, LOG, ESTIMATES = "manifest.json", "task.json", "rounds.json", "log.json", "estimates.json"
MOST_BYTES = {MANIFEST: 1 << 23, TASK: 1 << 22, ROUNDS: 1 << 26, LOG: 1 << 26, ESTIMATES: 1 << 28}
"""The largest file of each name. Parsing JSON takes up to 25 times its size; a device reads no task larger than this.

A manifest has some 230 bytes for each file of reports: it can list 36,000.
"""


class PublicationFiles:
    """The files of a folder; a missing name is an error that says so."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str, most: int | None = None) -> bytes:
        """The content of a JSON file; WireError if it is larger than ``most``, or than any file of its name can be."""
        most = MOST_BYTES[name] if most is None else most
        with self.open(name) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise WireError(name, f"more than {most:,} bytes", allowed="the files of a publication", fix="it was made up")
        return data

    def digest(self, name: str, most: int) -> str:
        """The SHA-256 of a file in hex; WireError if it is larger than it can be, or has a hole: then it can have any size for free."""
        with self.open(name) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise WireError(name, f"more than {most:,} bytes", allowed="the files of a publication", fix="the file was changed")
            if _first_hole(file, size) < size:
                raise WireError(name, "a file with holes", allowed="files that are stored in full", fix="copy the whole folder again")
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

    def check_names(self, listed: Collection[str]) -> None:
        """Refuse a file that was not signed."""
        here = {path.relative_to(self._folder).as_posix() for path in self._folder.rglob("*") if not path.is_dir()}
        for name in sorted(here - {MANIFEST} - set(listed)):
            raise WireError(name, "a file", allowed="what the manifest lists", fix="it is no part of the publication: remove it")

    def check(self, name: str, told: Any, most: int) -> None:
        """Refuse a file that is not the one that was signed, or that is missing."""
        found = self.digest(name, most)
        if found != told:
            raise WireError(name, f"SHA-256 {found}", allowed=f"SHA-256 {told}, as signed", fix="the file was changed")


def _first_hole(file: BufferedReader, size: int) -> int:
    """Where the first part of a file lies that is read as zeros but not stored; its size if there is none.

    Blocks are not counted: file systems that compress, or have not written the file yet, store an honest one in fewer.
    """
    try:
        return file.seek(0, os.SEEK_HOLE)
    except OSError:  # an empty file, or a file system that does not know
        return size
    finally:
        file.seek(0)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Raise errors inside as errors of this file."""
    try:
        yield
    except (DeniableError, pa.ArrowException, KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        if isinstance(error, WireError) and error.parameter.startswith(name):
            raise
        raise WireError(name, "something else", allowed="what was published", fix=str(error)) from error


def check_sizes(files: Mapping[str, bytes]) -> None:
    """Refuse to write what nobody could read: ParameterError naming the file that is larger than any of its name may be."""
    for name, most in MOST_BYTES.items():
        if len(files.get(name, b"")) > most:
            received, allowed = f"{name} of {len(files[name]):,} bytes", f"at most {most:,} bytes, so that anyone can verify it"
            smaller = "export fewer periods at a time, each into a folder of its own: --period"
            fix = smaller if name in (MANIFEST, ESTIMATES) else "publish what follows from the reports alone: deniable estimate"
            raise ParameterError("periods", received, allowed=allowed, fix=fix)
