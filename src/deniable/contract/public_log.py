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
from typing import Any, NamedTuple

from deniable.contract.canonical import canonical_json, parse_canonical, read_number, read_object
from deniable.contract.ed25519 import verify
from deniable.errors import WireError

LOG_CONTEXT = b"deniable log 1\n"
"""What stands before a record when it is signed."""
KINDS = ("task", "round", "closed")
NOTHING = bytes(32)
"""What the first record names as the one before it."""
_HEX = frozenset("0123456789abcdef")


class Head(NamedTuple):
    """Where a log stood: its last entry's number and hash. Whoever remembers it notices if the past is written anew."""

    sequence: int
    hash: bytes


class LogEntry(NamedTuple):
    """A record and the collector's signature of it."""

    record: bytes
    signature: bytes

    @property
    def hash(self) -> bytes:
        """What the next record names as the one before it."""
        return hashlib.sha256(self.record).digest()

    @property
    def content(self) -> dict[str, Any]:
        """What the record says; WireError if it is none."""
        content = read_object(
            "record", parse_canonical(self.record), {"sequence", "kind", "task", "content", "previous"}, frozenset({"period"})
        )
        for name in ("sequence", "period"):
            if name in content and read_number(name, content[name]) < 0:
                raise WireError(name, content[name], allowed="an integer from 0 on", fix="the record is damaged or made up")
        hashes = (content[name] for name in ("task", "content", "previous"))
        if content["kind"] not in KINDS or not all(isinstance(text, str) and len(text) == 64 and set(text) <= _HEX for text in hashes):
            raise WireError(
                "record", content, allowed=f"a kind of {list(KINDS)}, and hashes in hex", fix="the record is damaged or made up"
            )
        return content

    def to_json(self) -> dict[str, Any]:
        """The entry as the collector serves it."""
        sequence = self.content["sequence"]
        return {"sequence": sequence, "record": self.record.decode(), "signature": self.signature.hex(), "hash": self.hash.hex()}

    @classmethod
    def from_json(cls, data: object) -> LogEntry:
        """The entry behind ``to_json``; WireError if it is none, or if number and hash are not the record's."""
        parts = read_object("entry", data, {"sequence", "record", "signature", "hash"})
        read_number("sequence", parts["sequence"])  # false is no number 0
        try:
            entry = cls(parts["record"].encode(), bytes.fromhex(parts["signature"]))
        except (AttributeError, TypeError, ValueError) as error:
            raise WireError("entry", data, allowed="a record as text and a signature in hex", fix=str(error)) from error
        if entry.to_json() != parts:
            raise WireError("entry", data, allowed="the number and the hash of its record", fix="ask the collector again")
        return entry


def log_record(sequence: int, kind: str, task: bytes, content: bytes, previous: bytes = NOTHING, *, period: int | None = None) -> bytes:
    """The record of something published: ``content`` is its canonical form, ``previous`` the hash of the record before."""
    digest = hashlib.sha256(content).hexdigest()
    record = {"sequence": sequence, "kind": kind, "task": task.hex(), "content": digest, "previous": previous.hex()}
    return canonical_json(record if period is None else record | {"period": period})


def verify_chain(entries: Sequence[LogEntry], key: bytes, *, head: Head | None = None) -> None:
    """Return if these are a collector's entries, all of them and in order; WireError naming the first that is not.

    They begin with the first entry ever, or with the ``head`` remembered from an earlier visit. With a head it must be among them: a log
    that was cut or written anew since then is refused.
    """
    begun = bool(entries) and head is not None and entries[0].hash == head.hash
    expected, previous = (head.sequence, None) if head is not None and begun else (0, NOTHING)
    published: set[str] = set()
    for number, entry in enumerate(entries, start=expected):
        content = _read(number, entry)
        if content["sequence"] != number:
            raise _refuse(number, f"number {content['sequence']}", f"number {number}", "an entry was taken out, put in or moved")
        if previous is not None and content["previous"] != previous.hex():
            raise _refuse(
                number, content["previous"], f"the hash of the entry before it, {previous.hex()}", "an entry before it was changed"
            )
        if not verify(key, LOG_CONTEXT + entry.record, entry.signature):
            raise _refuse(number, entry.signature.hex(), "a signature under the collector's key", "somebody else wrote it")
        if content["kind"] == "task" and content["content"] != content["task"]:
            raise _refuse(number, content["content"], "the id of the task that it publishes", "a task's id is its hash")
        if not begun and content["kind"] != "task" and content["task"] not in published:
            raise _refuse(number, content["task"], "a task that was published before it", "an entry is missing")
        if head is not None and number == head.sequence and entry.hash != head.hash:
            raise _refuse(
                number, entry.hash.hex(), f"the remembered hash {head.hash.hex()}", "the log was written anew since your last visit"
            )
        published.add(content["task"])
        previous = entry.hash
    if head is not None and expected + len(entries) <= head.sequence:
        raise _refuse(head.sequence, f"{len(entries)} entries", f"the remembered entry {head.sequence}", "the end of the log was cut off")


def head_of(entries: Sequence[LogEntry]) -> Head | None:
    """What to remember of a log that was verified."""
    return Head(entries[-1].content["sequence"], entries[-1].hash) if entries else None


def _read(number: int, entry: LogEntry) -> dict[str, Any]:
    try:
        return entry.content
    except WireError as error:
        raise _refuse(number, entry.record, "a record of this version", str(error)) from error


def _refuse(number: int, received: object, allowed: str, fix: str) -> WireError:
    return WireError(f"log entry {number}", received, allowed=allowed, fix=fix)
