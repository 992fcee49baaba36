"""The files of one bucket and shard: segments as they came, and one file that segments were compacted into.

A compacted file is laid out like a sealed one: sorted reports, each id once, the first that came. It takes the place of all segments before
the one that its name says. It is durable before those are deleted, and recovery deletes what a crash has left of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from deniable.collect.storage.block import Block, Bucket
from deniable.collect.storage.files import OLD, Files, list_folder, wipe
from deniable.collect.storage.sealed import PARTIAL, read_file, write_file
from deniable.collect.storage.segment import COMPACTED, FileHeader

LOG, COMPACT = ".log", ".compact"
"""How the names of segments and of compacted files end."""
MOST_REPEATED = 0xFFFFFFFF
UNLIMITED = 1 << 62
LEAST_PART = 8
"""Near the cap of a bucket, an eighth of the cap must be new before it is compacted. So for each byte that arrives at most about eight are
written again and eight overwritten, and repetitions keep nobody out before different reports take 7/8 of the cap."""
_NUMBERS = re.compile(r"(\d+)-(\d+)-(\d+)")
_UNFINISHED = re.compile(rf"(\d+)-\d+-\d+({'|'.join(map(re.escape, (LOG + OLD, COMPACT + OLD, COMPACT + PARTIAL)))})")


class Compacted(NamedTuple):
    """What is known about a compacted file: the first segment that is not in it, its length, and the repetitions that were left out."""

    next: int = 0
    size: int = 0
    repeated: int = 0


class Shelf(NamedTuple):
    """Where the files of one bucket and shard are."""

    files: Files
    folder: Path
    bucket: Bucket
    shard: int

    def segment(self, sequence: int) -> Path:
        """The file of a segment."""
        return self.folder / f"{self.bucket.number}-{self.shard}-{sequence}{LOG}"

    def compacted(self, following: int) -> Path:
        """The file of the segments before one."""
        return self.folder / f"{self.bucket.number}-{self.shard}-{following}{COMPACT}"

    def write(self, following: int, blocks: Sequence[Block], repeated: int) -> Compacted:
        """Write sorted reports in place of the segments before one."""
        repeated = min(repeated, MOST_REPEATED)
        header = FileHeader(COMPACTED, self.bucket, 0, self.shard, following, repeated)
        return Compacted(following, write_file(self.files, self.compacted(following), header, blocks), repeated)

    def read(self, following: int) -> tuple[Compacted, list[Block]]:
        """What is in place of the segments before one; StorageError if it is damaged."""
        if not following:
            return Compacted(), []
        expected = FileHeader(COMPACTED, self.bucket, 0, self.shard, following)
        header, blocks = read_file(self.files, self.compacted(following), expected)
        return Compacted(following, header.length, header.salt), blocks


def numbered(files: Files, folder: Path, kind: str) -> list[tuple[int, int, int]]:
    """Period, shard and sequence of the files of a kind in a task's folder."""
    matches = [_NUMBERS.fullmatch(name.removesuffix(kind)) for name in list_folder(files, folder) if name.endswith(kind)]
    return [(int(match[1]), int(match[2]), int(match[3])) for match in matches if match]


def by_series(files: Files, folder: Path) -> dict[tuple[int, int], dict[str, list[int]]]:
    """The sequences of both kinds in a task's folder, by period and shard."""
    found: dict[tuple[int, int], dict[str, list[int]]] = {}
    for kind in (LOG, COMPACT):
        for period, shard, sequence in numbered(files, folder, kind):
            found.setdefault((period, shard), {LOG: [], COMPACT: []})[kind].append(sequence)
    return found


def spare(cap: int, compacted: int) -> int:
    """Return how many new bytes a bucket may take before it is compacted: half the room that is left, so that others append meanwhile."""
    return max(cap // LEAST_PART, (cap - compacted) // 2)


def wipe_old(files: Files, folder: Path, period: int | None = None) -> None:
    """Delete what was being deleted, and what was being compacted, when a process ended or a disk failed."""
    found = filter(None, map(_UNFINISHED.fullmatch, list_folder(files, folder)))
    wipe(files, [folder / match[0] for match in found if period in (None, int(match[1]))])
