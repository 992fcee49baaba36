"""Durable files: they are always whole, whatever happens to the process or to the machine.

The new content goes into a draft next to the file, and the draft is on the disk before it takes the file's name; the name is on the disk
before ``write_durably`` returns. A crash in between leaves the old content or the new, and never a part of either. It may also leave a
draft, whose name starts with a dot and ends with ``.part``, so that readers skip it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from deniable.contract.source import SYSTEM

PART = ".part"
"""How the name of a draft ends; it starts with a dot."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # the last is Windows's: without it lines would be translated


def write_durably(path: Path, data: bytes | memoryview, *, mode: int = 0o666, alone: bool = False, date: int | None = None) -> None:
    """Write ``data`` to ``path``, replacing what is there; OSError if that failed.

    ``mode`` is what the file allows, less the process's umask. ``alone`` means that nobody else writes this file: its draft has a fixed
    name, and a draft that a crash left is removed, which matters if it is secret. Otherwise every draft has its own name, and the last
    writer wins. ``date`` is the file's date, in seconds since 1970.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_durably(Path(folder) / "answer", b"tea", mode=0o600)
    ...     (Path(folder) / "answer").read_bytes()
    b'tea'
    """
    draft = path.with_name(f".{path.name}{PART}" if alone else f".{SYSTEM.word():016x}{PART}")
    if alone:
        _remove(draft)
    handle = os.open(draft, _NEW, mode)
    try:
        try:
            _fill(handle, memoryview(data))
            sync(handle)
        finally:
            os.close(handle)
        if date is not None:
            os.utime(draft, (date, date))
        os.replace(draft, path)
    except BaseException:
        _remove(draft)
        raise
    sync_folder(path.parent)


def sync(handle: int) -> None:
    """Make what was written to an open file durable, by its ``handle``. After a failure, nobody knows how much is durable."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # past the disk's own cache
    else:
        os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where folders can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folders(folder: Path) -> None:
    """Create a folder and its missing parents, each durable in its parent."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def _fill(handle: int, data: memoryview) -> None:
    while data.nbytes:
        data = data[os.write(handle, data) :]  # one call may take less than all


def _remove(path: Path) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
