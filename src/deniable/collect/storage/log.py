"""The report log: where reports lie between their arrival and their sealing, and after it.

Two of them: append-only segments on this machine (``embedded``), and a table in PostgreSQL that any number of collectors share
(``postgres``). Both keep the same promise: what ``append`` returned from survives a crash, and what was sealed never changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from sqlalchemy import Connection

from deniable.collect.storage.block import Block, Bucket, ids_of
from deniable.errors import DeniableError


class StorageError(DeniableError):
    """Reports could not be made durable, or what was stored is damaged. Nothing of the request was acknowledged."""


class Log(ABC):
    """Reports by bucket: appended while it is open, rewritten in the order of their ids when it is sealed."""

    @abstractmethod
    def append(self, reports: Mapping[Bucket, Sequence[Block]]) -> frozenset[Bucket]:
        """Make reports durable; StorageError if that failed, and then none of them counts.

        The buckets returned were sealed meanwhile: what came for them was not stored. A report that is there already may be stored again:
        it is counted once, when the bucket is sealed.
        """

    @abstractmethod
    def closing(self, bucket: Bucket) -> AbstractContextManager[None]:
        """While this is held, nothing is appended to the bucket; nor after it, unless it is left by an error."""

    @abstractmethod
    def read_open(self, connection: Connection, bucket: Bucket) -> list[Block]:
        """What an open bucket holds: of two reports with one id the first that came is before the other, if both are there."""

    @abstractmethod
    def write_sealed(self, connection: Connection, bucket: Bucket, blocks: Sequence[Block]) -> None:
        """Keep a bucket's reports as sealed: durable once the connection's transaction is committed."""

    @abstractmethod
    def read_sealed(self, connection: Connection, bucket: Bucket) -> list[Block]:
        """A sealed bucket's reports; StorageError naming what is damaged."""

    def sealed_ids(
        self, connection: Connection, bucket: Bucket, ids: Sequence[bytes], addresses: Sequence[tuple[int, int]] | None = None
    ) -> frozenset[bytes]:
        """Which of these ids a sealed bucket holds: each under the question and stratum of its own, or without ``addresses`` under any.

        Anyone may ask for ids, so a log that reads from a disk searches it, instead of reading the whole bucket as is done here.
        """
        held = {(block.address, each) for block in self.read_sealed(connection, bucket) for each in ids_of([block])}
        if addresses is None:
            return frozenset({each for _, each in held}.intersection(ids))
        return frozenset(each for each, address in zip(ids, addresses, strict=True) if (address, each) in held)

    @abstractmethod
    def drop_open(self, bucket: Bucket) -> None:
        """Forget an open bucket's reports and with them their order; what is not there is dropped already."""

    def compact(self) -> None:
        """Leave out repetitions where they take much room; nobody who appends waits for it."""
        return  # a log that stores an id once has none

    def repeated(self, bucket: Bucket) -> int:
        """How many repetitions of an open bucket ``compact`` has left out of what ``read_open`` returns."""
        return 0

    @abstractmethod
    def size(self, bucket: Bucket) -> int:
        """The bytes that an open bucket takes, as far as this process knows without looking."""

    def is_full(self, bucket: Bucket, most: int) -> bool:
        """True if an open bucket takes ``most`` bytes or more. A log that stores repetitions remembers ``most`` and compacts in time."""
        return self.size(bucket) >= most

    @abstractmethod
    def clean_up(self, counted: Callable[[Bucket], bool]) -> None:
        """Forget the open reports that a crash has left of buckets that are counted; what is sealed and whole is not looked at."""

    @abstractmethod
    def drop_sealed(self, connection: Connection, bucket: Bucket) -> None:
        """Delete a sealed bucket's reports; what is not there is dropped already."""

    def doubt(self) -> None:
        """Something else could not be written there: when asked for ``trouble`` next, try."""
        return

    def trouble(self) -> str | None:
        """Why reports cannot be stored or read as they should; None if all is well, or if ``append`` alone can tell."""
        return None

    def close(self) -> None:
        """Let go of files and connections, if there are any."""
        return
