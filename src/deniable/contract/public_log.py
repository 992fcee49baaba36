"""The public log: every task and round that a collector ever published, as a chain that anyone can check.

Each record names the SHA-256 of the one before it, so that none can be changed, taken out or put in without changing all that follow; each
is signed, so that nobody but the collector can have written it. A record is canonical JSON with ``sequence`` (from 0 on), ``kind`` ("task",
"round" or "closed"), ``task`` (its id), ``content`` (SHA-256 of what was published), ``previous`` and, for a round, ``period``.

A chain shows what is in it. That nothing was cut off its end, or that others are shown the same one, only shows by comparison: remember
the head, or ask others for theirs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from deniable.contract.ed25519 import verify
from deniable.contract.form import TEXT
from deniable.contract.record import Document, Plain, wire
from deniable.errors import ParameterError, WireError

LOG_CONTEXT = b"deniable log 1\n"
"""What stands before a record when it is signed."""
KINDS = ("task", "round", "closed")
NOTHING = bytes(32)
"""What the first record names as the one before it."""


class Head(NamedTuple):
    """Where a log stood: its last entry's number and hash. Anyone who remembers it notices if the past is rewritten."""

    sequence: int
    hash: bytes


@dataclass(frozen=True, kw_only=True)
class LogRecord(Document):
    """What was published and where in the chain; of the task and of what was ``published`` the SHA-256."""

    noun = "record"
    sequence: int
    kind: str
    task: bytes
    published: bytes = field(metadata=wire(name="content"))
    previous: bytes = NOTHING
    period: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(
                "kind", self.kind, allowed=f"one of {list(KINDS)}", fix="do not trust this log: the record is damaged or forged"
            )
        for name, number in (("sequence", self.sequence), ("period", self.period or 0)):
            if number < 0:
                raise ParameterError(
                    name, number, allowed="an integer from 0 on", fix="do not trust this log: the record is damaged or forged"
                )
        for name, digest in (("task", self.task), ("content", self.published), ("previous", self.previous)):
            if len(digest) != len(NOTHING):
                raise ParameterError(
                    name, digest.hex(), allowed="a SHA-256 in hex", fix="do not trust this log: the record is damaged or forged"
                )


@dataclass(frozen=True)
class LogEntry(Plain):
    """A record and the collector's signature of it; in JSON with the record's number and hash."""

    noun = "entry"
    derived = ("sequence", "hash")
    record: bytes = field(metadata=wire(form=TEXT))
    signature: bytes

    @cached_property
    def content(self) -> LogRecord:
        """What the record says; WireError if it is none."""
        return LogRecord.from_json(self.record)

    @property
    def sequence(self) -> int:
        """The record's number."""
        return self.content.sequence

    @property
    def hash(self) -> bytes:
        """What the next record names as the one before it."""
        return hashlib.sha256(self.record).digest()


def log_record(sequence: int, kind: str, task: bytes, content: bytes, previous: bytes = NOTHING, *, period: int | None = None) -> bytes:
    """Return the record of something published: ``content`` is its canonical form, ``previous`` the hash of the record before."""
    published = hashlib.sha256(content).digest()
    return LogRecord(sequence=sequence, kind=kind, task=task, published=published, previous=previous, period=period).canonical


def verify_chain(entries: Sequence[LogEntry], key: bytes, *, head: Head | None = None) -> None:
    """Raise a WireError unless these are all of a collector's entries in order; it names the first that is not.

    They begin with the first entry ever, or with the ``head`` remembered from an earlier visit. With a head it must be among them: a log
    that was cut or written anew since then is refused.
    """
    begun = bool(entries) and head is not None and entries[0].hash == head.hash
    expected, previous = (head.sequence, None) if head is not None and begun else (0, NOTHING)
    published: set[bytes] = set()
    for number, entry in enumerate(entries, start=expected):
        content = _read(number, entry)
        if content.sequence != number:
            raise _refuse(number, f"number {content.sequence}", f"number {number}", "an entry was taken out, put in or moved")
        if previous is not None and content.previous != previous:
            raise _refuse(
                number, content.previous.hex(), f"the hash of the entry before it, {previous.hex()}", "an entry before it was changed"
            )
        if not verify(key, LOG_CONTEXT + entry.record, entry.signature):
            raise _refuse(number, entry.signature.hex(), "a signature under the collector's key", "somebody else wrote it")
        if content.kind == "task" and content.published != content.task:
            raise _refuse(number, content.published.hex(), "the id of the task that it publishes", "a task's id is its hash")
        if not begun and content.kind != "task" and content.task not in published:
            raise _refuse(number, content.task.hex(), "a task that was published before it", "an entry is missing")
        if head is not None and number == head.sequence and entry.hash != head.hash:
            raise _refuse(
                number, entry.hash.hex(), f"the remembered hash {head.hash.hex()}", "the log was written anew since your last visit"
            )
        published.add(content.task)
        previous = entry.hash
    if head is not None and expected + len(entries) <= head.sequence:
        raise _refuse(head.sequence, f"{len(entries)} entries", f"the remembered entry {head.sequence}", "the end of the log was cut off")


def head_of(entries: Sequence[LogEntry]) -> Head | None:
    """Return what to remember of a log that was verified."""
    return Head(entries[-1].sequence, entries[-1].hash) if entries else None


def _read(number: int, entry: LogEntry) -> LogRecord:
    try:
        return entry.content
    except WireError as error:
        raise _refuse(number, entry.record, "a record of this version", str(error)) from error


def _refuse(number: int, received: object, allowed: str, fix: str) -> WireError:
    return WireError(f"log entry {number}", received, allowed=allowed, fix=fix)
