"""The checkpoint of a tally on disk: the sum so far, and the partitions in it.

One small file, replaced as a whole and durable before the next partition counts as done; whatever stops the process or the machine, there
is the old one or the new one. It fits one dataset, one spec and one list of candidates, and is refused for any other::

    offset   size   field
    0        32     SHA-256 of all that follows
    32       32     the dataset's identity
    64       8      p, the number of partitions
    72       p      one byte for each partition: 1 if it is in the sum
    72 + p   rest   the sum's image (``core.tally``), with the spec and the digest of the candidates
"""

from __future__ import annotations

import hashlib
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from deniable.contract.durable import write_durably
from deniable.core.tally import Tally
from deniable.errors import ParameterError, WireError
from deniable.kernels.compiled import Array

NAME, LOCK = "sum.tally-so-far", ".lock"
RARELY = 20
"""Saving takes this share of the time at most: a large tally is saved less often."""


class Checkpoint:
    """The sum over some partitions of a dataset, kept in a folder if there is one; no other run may have it until this is closed."""

    def __init__(self, folder: Path | None, identity: bytes, partitions: int, nobody: Tally) -> None:
        """What the folder has, or nothing yet; ParameterError if it belongs to another dataset, MergeError if to another spec."""
        self.total = nobody
        self.done: Array = np.zeros(partitions, dtype=np.uint8)
        self._path = None if folder is None else folder / NAME
        self._identity = identity
        self._next = 0.0
        self._lock = None if folder is None else _locked(folder)
        if self._path is not None and self._path.exists():
            with ExitStack() as refused:
                refused.callback(self.close)
                self._read(self._path)
                refused.pop_all()

    def close(self) -> None:
        """Release the folder. Partitions added later are not saved."""
        self._path = None
        if self._lock is not None:
            self._lock.close()

    def _read(self, path: Path) -> None:
        data = path.read_bytes()
        seal, body = data[:32], data[32:]
        if hashlib.sha256(body).digest() != seal:
            raise WireError(
                str(path),
                "bytes that differ from what was saved",
                allowed="the file as it was saved",
                fix="delete the file, and start again",
            )
        count = int.from_bytes(body[32:40], "little")
        self.total += Tally.from_bytes(body[40 + count :])
        if body[:32] != self._identity or count != self.done.size:
            fix = "delete the file, or choose another folder, and start again"
            raise ParameterError(str(path), "a sum over other files", allowed="the unchanged files that the run started with", fix=fix)
        self.done[:] = np.frombuffer(body, np.uint8, count, 40)

    def add(self, partition: int, part: Tally) -> None:
        """Take a partition into the sum; it is durable now, or after one of the next."""
        self.total += part
        self.done[partition] = 1
        began = time.monotonic()
        if self._path is not None and (began >= self._next or self.done.all()):
            self._save(self._path)
            self._next = began + RARELY * (time.monotonic() - began)

    def _save(self, path: Path) -> None:
        body = self._identity + self.done.size.to_bytes(8, "little") + self.done.tobytes() + self.total.to_bytes()
        write_durably(path, hashlib.sha256(body).digest() + body, alone=True)


def _locked(folder: Path) -> IO[bytes]:
    """A file that is held alone until it is closed, or the process ends: two runs would write over each other's sum."""
    import fcntl  # not on every system, and not needed where nothing is kept

    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / LOCK).open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        allowed = "a folder that no other run counts into"
        raise ParameterError("resume", str(folder), allowed=allowed, fix="wait until that run is done, or choose another folder") from error
    return file
