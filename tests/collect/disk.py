"""A disk in memory that fails on demand: at any call, by a crash of the process, or by a loss of power that keeps what it likes."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import numpy as np

from deniable.collect.storage.block import Block, Bucket, sort_once
from deniable.collect.storage.files import Files

ROOT = Path("/disk")
LOG = ROOT / "log"
A, B = Bucket(bytes(range(32)), 7), Bucket(bytes(range(32)), 8)


class CrashError(BaseException):
    """The process is dead; no handler may take this for a failed call."""


class Inode:
    """A file: what a process sees, what is on the platter, and what was written since."""

    def __init__(self, data: bytes = b"") -> None:
        self.seen, self.durable, self.pending = bytearray(data), bytearray(data), []


class Folder:
    """A folder: the names a process sees, and those on the platter."""

    def __init__(self) -> None:
        self.seen: dict[str, Inode | Folder] = {}
        self.durable: dict[str, Inode | Folder] = {}


class Disk(Files):
    """A disk with faults: ``faults[k]`` happens at the k-th call.

    "fail": an error and no effect, but a failed sync forgets what was to be written, as Linux does. "short": a write takes the first half.
    "half": it takes the first half and fails. "crash": before the call; "crash half": after the first half of a write.
    """

    def __init__(self, root: Folder | None = None) -> None:
        self.root = root or Folder()
        self.handles: dict[int, Inode] = {}
        self.calls = 0
        self.faults: dict[int, str] = {}
        self.room: int | None = None
        self.dead = False

    # --- faults ---

    def _fault(self, halves: bool = False) -> str:
        self.calls += 1
        fault = self.faults.get(self.calls, "")
        if self.dead or fault == "crash" or (fault == "crash half" and not halves):
            self.dead = True
            raise CrashError
        if fault == "fail" or (fault == "half" and not halves):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return fault

    def restart(self) -> Disk:
        """The disk as the next process finds it: all that was written is there."""
        return Disk(self.root)

    def after_power_loss(self, *, names: bool, keep: str) -> Disk:
        """The disk as the machine finds it. Of what was not synced: the ``names`` or not; of each write "none", "all", "first", "last"."""
        return Disk(_survives(self.root, names, keep))

    # --- the calls ---

    def open(self, path, *, fresh=False):
        self._fault()
        folder = self._folder(path.parent)
        if fresh:
            inode = folder.seen.setdefault(path.name, Inode())
            inode.seen.clear()
            inode.pending.append(("cut", 0))
        elif path.name not in folder.seen:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        handle = max(self.handles, default=0) + 1
        self.handles[handle] = folder.seen[path.name]
        return handle

    def close(self, handle):
        if not self.dead:
            del self.handles[handle]
        self._fault()

    def size(self, handle):
        self._fault()
        return len(self.handles[handle].seen)

    def read(self, handle, size, offset):
        self._fault()
        return bytes(self.handles[handle].seen[offset : offset + size])

    def write(self, handle, data, offset):
        fault = self._fault(halves=True)
        data, inode = bytes(data), self.handles[handle]
        if fault:
            data = data[: len(data) // 2]
        if self.room is not None:
            data = data[: max(0, self.room - self.used() + max(0, len(inode.seen) - offset))]
        _apply(inode.seen, (offset, data))
        inode.pending.append((offset, data))
        if fault == "crash half":
            self.dead = True
            raise CrashError
        if fault == "half":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if not data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(data)

    def truncate(self, handle, size):
        self._fault()
        _apply(self.handles[handle].seen, ("cut", size))
        self.handles[handle].pending.append(("cut", size))

    def sync(self, handle):
        inode = self.handles[handle]
        try:
            self._fault()
        except OSError:
            inode.pending.clear()  # the pages count as clean now, and are never written
            raise
        for operation in inode.pending:
            _apply(inode.durable, operation)
        inode.pending.clear()

    def rename(self, old, new):
        self._fault()
        self._folder(new.parent).seen[new.name] = self._folder(old.parent).seen.pop(old.name)

    def remove(self, path):
        self._fault()
        if self._folder(path.parent).seen.pop(path.name, None) is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))

    def list(self, folder):
        self._fault()
        return sorted(self._folder(folder).seen)

    def make_folder(self, folder):
        self._fault()
        self._folder(folder.parent).seen.setdefault(folder.name, Folder())

    def sync_folder(self, folder):
        self._fault()
        found = self._folder(folder)
        found.durable = dict(found.seen)

    def free(self, folder):
        self._fault()
        return 1 << 40 if self.room is None else max(0, self.room - self.used())

    def lock(self, handle):
        self._fault()

    # --- looking at it ---

    def _folder(self, path: Path) -> Folder:
        folder = self.root
        for name in path.relative_to(ROOT).parts:
            folder = folder.seen.get(name)
            if folder is None:
                raise FileNotFoundError(errno.ENOENT, "no such folder", str(path))
        return folder

    def files(self, folder: Path = LOG) -> dict[Path, Inode]:
        """Every file, by its path."""
        found = {}
        for name, node in self._folder(folder).seen.items():
            found |= self.files(folder / name) if isinstance(node, Folder) else {folder / name: node}
        return found

    def used(self) -> int:
        return sum(len(inode.seen) for inode in self.files().values())

    def with_file(self, path: Path, data: bytes) -> Disk:
        """A copy of the disk with other bytes in one file."""
        copy = self.after_power_loss(names=True, keep="all")
        copy._folder(path.parent).seen[path.name] = Inode(data)
        return copy


def _apply(data: bytearray, operation) -> None:
    offset, content = operation
    if offset == "cut":
        del data[content:]
        data.extend(bytes(content - len(data)))
        return
    data.extend(bytes(max(0, offset - len(data))))
    data[offset : offset + len(content)] = content


def _survives(node, names: bool, keep: str):
    if isinstance(node, Folder):
        found = Folder()
        found.seen = {name: _survives(child, names, keep) for name, child in (node.seen if names else node.durable).items()}
        found.durable = dict(found.seen)
        return found
    data = bytearray(node.durable)
    for offset, content in node.pending if keep != "none" else ():
        if offset == "cut" or keep == "all":
            _apply(data, (offset, content))
        elif keep == "first":
            _apply(data, (offset, content[: len(content) // 2]))
        else:
            _apply(data, (offset + len(content) // 2, content[len(content) // 2 :]))
    return Inode(bytes(data))


# --- reports ---


def row(number: int, width: int = 3) -> bytes:
    """A report that is like no other, with an id that says nothing about its order."""
    digest = hashlib.sha256(b"%d" % number).digest()
    return digest[: 16 + width]


def block(*numbers: int, question: int = 0, stratum: int = 0, width: int = 3) -> Block:
    return Block.of(question, stratum, width, b"".join(row(number, width) for number in numbers))


def reports(blocks) -> list[tuple[int, int, bytes]]:
    """The reports in blocks, one by one, with question and stratum."""
    return [(*found.address, one.tobytes()) for found in blocks for one in found.rows]


def seal(log, bucket: Bucket) -> None:
    """What the store does, without a database."""
    with log.closing(bucket):
        log.write_sealed(None, bucket, sort_once(log.read_open(None, bucket)))
    log.drop_open(bucket)


def concatenated(blocks) -> bytes:
    return b"".join(np.ascontiguousarray(found.rows).tobytes() for found in blocks)
