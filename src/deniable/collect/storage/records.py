"""Rows of a collector's database, as the store hands them out."""

from __future__ import annotations

from typing import NamedTuple

from deniable.collect.storage.block import Bucket


class StoredTask(NamedTuple):
    """A published task as it is kept."""

    id: bytes
    canonical: bytes
    signature: bytes
    closed: bool


class StoredRound(NamedTuple):
    """An opened round as it is kept; ``state`` is the protocol's."""

    number: int
    opened: int
    state: bytes
    canonical: bytes
    signature: bytes


class StoredBucket(NamedTuple):
    """What is known about a bucket."""

    bucket: Bucket
    state: str
    reports: int
    repeated: int
    sealed: int | None


class StoredBatch(NamedTuple):
    """A shuffled batch that was taken, and what it is worth; ``rows`` until its reports are in the log."""

    id: bytes
    period: int
    digest: bytes
    reports: int
    epsilon: float
    rows: bytes | None
