"""The calls to the file system that the report log makes, and no others: a test puts a failing disk in their place."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deniable.collect.storage.log import StorageError
from deniable.contract.durable import sync_folder

READ_BYTES = 1 << 30
"""Read at a time: the system returns less than 2 GiB from one call."""


PROBE_BYTES = 1 << 12
"""Written to find out whether a disk that failed works again."""
WIPE_BYTES = 1 << 20
OLD = ".old"
"""How the name of a file ends that is being deleted."""
LEAST_FREE = 1 << 20
"""With fewer bytes on its disk a service is not ready: it is the largest body that a device may send."""


class Files:
    """The machine's file system. A closed file is named by its path, an open one by its handle."""

    def open(self, path: Path, *, fresh: bool = False) -> int:
        """A file to read and write; ``fresh`` makes it, and empties what was there."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT | os.O_TRUNC if fresh else 0), 0o600)

    def close(self, handle: int) -> None:
        """Let go of a file; says nothing about the disk."""
        os.close(handle)

    def size(self, handle: int) -> int:
        """The bytes of a file."""
        return os.fstat(handle).st_size

    def read(self, handle: int, size: int, offset: int) -> bytes:
        """At most so many bytes from an offset; none at the end."""
        return os.pread(handle, size, offset)

    def write(self, handle: int, data: bytes | memoryview, offset: int) -> int:
        """Put bytes at an offset; how many were written, which may be fewer."""
        return os.pwrite(handle, data, offset)

    def truncate(self, handle: int, size: int) -> None:
        """Cut a file."""
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        """Make a file's bytes durable. After a failure nobody knows which of those written since the last time are."""
        os.fdatasync(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, in place of what had it."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Delete a file."""
        os.unlink(path)

    def list(self, folder: Path) -> list[str]:
        """The names in a folder, sorted."""
        return sorted(os.listdir(folder))

    def make_folder(self, folder: Path) -> None:
        """Make a folder, unless it is there; the one around it must be."""
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        sync_folder(folder)

    def free(self, folder: Path) -> int:
        """The bytes that this process could still write."""
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize

    def lock(self, handle: int) -> None:
        """Hold a file alone until it is closed, or the process ends; BlockingIOError if another does."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


DISK = Files()


@contextmanager
def opened(files: Files, path: Path, *, fresh: bool = False) -> Iterator[int]:
    """A file that is closed afterwards, whatever happens."""
    handle = files.open(path, fresh=fresh)
    try:
        yield handle
    finally:
        files.close(handle)


def write_whole(files: Files, handle: int, data: bytes | memoryview, offset: int) -> None:
    """Write all of it, or OSError: a disk that is full may take a part and say so by a number only."""
    written = files.write(handle, data, offset)
    if written != len(data):
        raise OSError(errno.ENOSPC, f"a short write, {written} of {len(data)} bytes")


def read_at(files: Files, handle: int, size: int, offset: int) -> bytes:
    """So many bytes from an offset; fewer only if the file ends before."""
    parts: list[bytes] = []
    while size > 0:
        part = files.read(handle, min(size, READ_BYTES), offset)
        if not part:
            break
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_whole(files: Files, path: Path, most: int | None = None) -> bytes:
    """A file's bytes, or the first so many of them."""
    with opened(files, path) as handle:
        size = files.size(handle)
        return read_at(files, handle, size if most is None else min(size, most), 0)


def list_folder(files: Files, folder: Path) -> list[str]:
    """The names in a folder, sorted; none if it is not there."""
    try:
        return files.list(folder)
    except FileNotFoundError:
        return []


def probe(files: Files, path: Path) -> OSError | None:
    """Try to write a few bytes; why that failed, if it did."""
    try:
        with opened(files, path, fresh=True) as handle:
            try:
                write_whole(files, handle, bytes(PROBE_BYTES), 0)
                files.sync(handle)
            finally:
                files.truncate(handle, 0)  # on a full disk, it would take the space that reports are waiting for
    except OSError as error:
        return error
    return None


def make_folders(files: Files, folder: Path) -> None:
    """Make a folder and those around it that are missing, each durable in the one around it."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        files.make_folder(path)
        files.sync_folder(path.parent)


def lacks_room(files: Files, folder: Path) -> bool:
    """True if the disk behind a folder is as good as full."""
    return files.free(folder) < LEAST_FREE


def discard(files: Files, paths: Iterable[Path]) -> None:
    """Delete files that tell who came when: their bytes are overwritten first, and would otherwise stay in free blocks of the disk.

    All are renamed before the first is overwritten, in the order given: what a crash leaves of a series is whole files, and ``OLD`` ones.
    """
    renamed = [path.with_name(path.name + OLD) for path in paths]
    for path in renamed:
        files.rename(path.with_name(path.name.removesuffix(OLD)), path)
    if renamed:
        files.sync_folder(renamed[0].parent)
    wipe(files, renamed)


def wipe(files: Files, paths: Sequence[Path]) -> None:
    """Overwrite files of one folder with zeros, durably, and delete them."""
    for path in paths:
        with opened(files, path) as handle:
            size = files.size(handle)
            for start in range(0, size, WIPE_BYTES):
                write_whole(files, handle, bytes(min(WIPE_BYTES, size - start)), start)
            files.sync(handle)
        files.remove(path)
    if paths:
        files.sync_folder(paths[0].parent)


def remove_if_there(files: Files, path: Path) -> None:
    """Delete a file; one that is not there is deleted already."""
    try:
        files.remove(path)
    except FileNotFoundError:
        return


def hold(files: Files, path: Path) -> int:
    """A file that only this process holds, until it is closed; StorageError if another has it."""
    handle = files.open(path, fresh=True)
    try:
        files.lock(handle)
    except BlockingIOError as error:
        files.close(handle)
        fix = "stop the other collector, or give this one a folder of its own"
        raise StorageError(f"folder {path.parent}", "held by another process", allowed="one process at a time", fix=fix) from error
    except BaseException:
        files.close(handle)
        raise
    return handle


@contextmanager
def storage_errors(doing: str, place: Path) -> Iterator[None]:
    """What the system refuses becomes a StorageError that names the place and the reason."""
    try:
        yield
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, type(error).__name__)
        reason = f"{name}, {error.strerror or error}"
        fix = "see to the disk; it is tried anew with the next request"
        raise StorageError(f"{doing} {place}", reason, allowed="a disk with room that reads and writes", fix=fix) from error
