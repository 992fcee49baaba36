r"""A file that only grows: one record in each line, chained, durable before anyone acts on it, shared by any number of processes.

::

    {"body":{...},"chain":"<64 hexadecimal digits>"}\n      chain = SHA-256(chain of the line before, as bytes + canonical JSON of body)

Every step takes the file's lock before it looks, so that two processes never both see the last of a budget. A crash in the middle of an
append leaves a last line without its line break: nobody has acted on it, since acting waits for the disk, so the next append cuts it off
and says so in a record of its own. Any other damage stops all spending; starting afresh would forget what was spent, and is left to a
person. No file can know that it was put back to an older copy of itself.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deniable.contract.canonical import canonical_json, parse_canonical, read_object
from deniable.contract.durable import sync, sync_folder
from deniable.errors import DeniableError, WireError

START = hashlib.sha256(b"deniable budget ledger, version 1").digest()
TORN = "torn"
"""The kind of the record that says that an unfinished line was cut off."""


class JournalError(DeniableError):
    """The error of a ledger that cannot be read or written; nothing was released."""


class OpenJournal:
    """The file, alone and open: its records, and the right to append."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle, self._path = handle, path
        with open(handle, "rb", closefd=False) as file:
            content = file.read()
        *lines, self._tail = content.split(b"\n")
        self._end = len(content) - len(self._tail)
        self._chain = START
        self.records = [self._checked(i, line) for i, line in enumerate(lines, start=1)]

    @property
    def torn(self) -> int:
        """The bytes of a last line that was never finished; 0 for a sound file."""
        return len(self._tail)

    def append(self, body: dict[str, Any]) -> None:
        """Add a record; returns once it is on the disk."""
        try:
            if self._tail:
                cut, self._tail = len(self._tail), b""
                os.ftruncate(self._handle, self._end)
                if self.records:
                    self._write({"kind": TORN, "bytes": cut})
            self._write(body)
        except OSError as error:
            fix = f"{error.strerror}; nothing was released. What was written of this record will be cut off"
            raise JournalError("ledger", str(self._path), allowed="a file on a disk with room", fix=fix) from error

    def _write(self, body: dict[str, Any]) -> None:
        chain = _chained(self._chain, body)
        line = canonical_json({"body": body, "chain": chain.hex()}) + b"\n"
        written = 0
        while written < len(line):
            written += os.pwrite(self._handle, line[written:], self._end + written)
        sync(self._handle)
        self._end, self._chain = self._end + len(line), chain
        self.records.append(body)

    def _checked(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = read_object("record", parse_canonical(line), {"body", "chain"})
            body = record["body"]
            self._chain = _chained(self._chain, body)
            if record["chain"] != self._chain.hex():
                raise WireError(
                    "chain",
                    record["chain"],
                    allowed=self._chain.hex(),
                    fix="restore the file from a backup: this line, or one before it, was changed",
                )
        except (WireError, ValueError) as error:
            fix = f"{error}. Do not delete it: an empty ledger would forget what was spent"
            raise JournalError("ledger", f"{self._path}, line {number}", allowed="the lines as they were written", fix=fix) from error
        return dict(body)


@contextmanager
def open_journal(path: Path, *, create: bool = False, write: bool = True) -> Iterator[OpenJournal]:
    """Hold the file, alone, for one step; with ``create``, made if it was not there, for its owner's eyes only."""
    try:
        new = create and not path.exists()
        handle = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
    except OSError as error:
        fix = f"{path}: {error.strerror}; create the folder first, or name another file"
        raise JournalError("ledger", path.name, allowed="a file that this program may read and write", fix=fix) from error
    try:
        import fcntl  # not on every system; accounting without a ledger does not need it

        fcntl.flock(handle, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
        if new:
            sync_folder(path.parent)  # the name must survive as well
        yield OpenJournal(handle, path)
    finally:
        os.close(handle)  # gives up the lock


def _chained(before: bytes, body: Any) -> bytes:
    return hashlib.sha256(before + canonical_json(body)).digest()
