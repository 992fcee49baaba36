"""A series of open segments: the reports of one bucket and shard, in files that are begun when the last one is full or has failed.

An append has steps, so that several series succeed or fail together: ``stage`` all, ``sync`` all, and then ``settle`` or ``undo`` all.
What a failure leaves behind never stands in the way of what follows:

- A write that fails or is short: the segment is cut to where it was. If that fails too, it is not appended to again.
- A sync that fails: nobody knows which bytes are on the disk, and trying again would report success. It is not appended to again.
- A new segment's header says how many bytes of the one before count. What lies behind those is ignored, today and after a crash.
- A file that could not be begun is begun again under the same name. One with no more than a torn header is removed by recovery.

Repetitions would fill a disk. So the segments are compacted (``compacted``) once they are as long as what was compacted before, or as long
as the log allows. Segments follow as before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from deniable.collect.storage.block import Block, Bucket, sort_once
from deniable.collect.storage.compacted import Compacted, Shelf
from deniable.collect.storage.files import Files, discard, opened, read_whole, write_whole
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.segment import (
    HEADER_BYTES,
    MARK_BYTES,
    OPEN,
    FileHeader,
    Segment,
    damage,
    is_damage,
    pack_frames,
    pack_mark,
    read_header,
    scan,
)
from deniable.contract.source import SYSTEM


class Series:
    """The segments of one bucket and shard. Not for two threads at once, but for ``compact``."""

    def __init__(self, files: Files, folder: Path, bucket: Bucket, shard: int, segment_bytes: int) -> None:
        self._files = files
        self._folder = folder
        self._bucket = bucket
        self._shard = shard
        self._shelf = Shelf(files, folder, bucket, shard)
        self._segment_bytes = segment_bytes
        self._compacted = Compacted()
        self._segments: list[Segment] = []
        self._handle: int | None = None
        self._staged = 0

    @property
    def size(self) -> int:
        """What it has on disk."""
        return self._compacted.size + sum([segment.good for segment in self._segments])

    @property
    def compacted(self) -> int:
        """The bytes of its compacted file."""
        return self._compacted.size

    @property
    def repeated(self) -> int:
        """Repetitions that were left out by compaction."""
        return self._compacted.repeated

    # --- appending ---

    def stage(self, blocks: Iterable[Block]) -> None:
        """Write blocks behind what is there; OSError if that failed. Not durable before ``sync``."""
        last = self._segments[-1] if self._segments else None
        if last is None or not last.usable or last.end >= self._segment_bytes:
            last = self._begin(last)
        mark = b"" if last.marked or last.good == HEADER_BYTES else pack_mark(last.good, last.salt)
        data = mark + pack_frames(blocks, last.salt)
        self._handle = self._files.open(self._shelf.segment(last.sequence))
        self._staged = last.end + len(data)
        write_whole(self._files, self._handle, data, last.end)

    def sync(self) -> None:
        """Make what was staged durable; OSError if that failed."""
        assert self._handle is not None  # noqa: S101  # between stage and settle there is one
        try:
            self._files.sync(self._handle)
        except OSError:
            self._segments[-1].usable = False
            raise

    def settle(self) -> None:
        """Count what was staged and synced, and mark it."""
        assert self._handle is not None  # noqa: S101  # between stage and settle there is one
        last = self._segments[-1]
        last.good, last.marked = self._staged, False
        mark = pack_mark(last.good, last.salt)
        with suppress(OSError):  # the reports are durable; a mark that is not written now, or in part, the next append writes
            last.marked = self._files.write(self._handle, mark, last.good) == len(mark)
        self._let_go()

    def undo(self) -> None:
        """Forget what was staged, if anything was."""
        if self._handle is None:
            return
        last = self._segments[-1]
        try:
            self._files.truncate(self._handle, last.end)
        except OSError:
            last.usable = False
        self._let_go()

    def _let_go(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(OSError):  # what had to be durable was synced before
                self._files.close(handle)

    def _begin(self, last: Segment | None) -> Segment:
        """A new segment, durable with its name."""
        salt = SYSTEM.word() & 0xFFFFFFFF
        segment = Segment(last.sequence + 1 if last else self._compacted.next, salt, HEADER_BYTES)
        header = FileHeader(OPEN, self._bucket, last.good if last else 0, self._shard, segment.sequence, salt)
        path = self._shelf.segment(segment.sequence)
        if last is None:
            self._files.make_folder(self._folder)
            self._files.sync_folder(self._folder.parent)
        with opened(self._files, path, fresh=True) as handle:
            write_whole(self._files, handle, header.pack(), 0)
            self._files.sync(handle)
        self._files.sync_folder(self._folder)
        self._segments.append(segment)
        return segment

    # --- compacting ---

    def full(self, most: int) -> list[Segment]:
        """Return all segments once they are as long as what was compacted before, or ``most`` bytes."""
        enough = min(max(self._segment_bytes, self._compacted.size), most)
        return list(self._segments) if sum([segment.good for segment in self._segments]) >= enough else []

    def end_segment(self) -> None:
        """Make the next append begin a segment, so that those before can be compacted."""
        self._segments[-1].usable = False

    def compact(self, segments: Sequence[Segment]) -> Compacted:
        """Write these segments and what was compacted before into one file, while others append; for ``replace``."""
        following = segments[-1].sequence + 1
        arrived = self._shelf.read(self._compacted.next)[1] + [block for segment in segments for block in self._read_segment(segment)]
        kept = sort_once(arrived)
        repeated = sum(len(block.rows) for block in arrived) - sum(len(block.rows) for block in kept)
        return self._shelf.write(following, kept, self._compacted.repeated + repeated)

    def replace(self, made: Compacted) -> list[Path]:
        """Go on with what was compacted; the files that are now to be deleted."""
        old = [self._shelf.segment(segment.sequence) for segment in self._segments if segment.sequence < made.next]
        if self._compacted.next:
            old.append(self._shelf.compacted(self._compacted.next))
        self._segments = [segment for segment in self._segments if segment.sequence >= made.next]
        self._compacted = made
        return old

    # --- reading ---

    def read(self) -> list[Block]:
        """All that counts, what was compacted and then the rest in the order of arrival; StorageError naming what is damaged."""
        _, blocks = self._shelf.read(self._compacted.next)
        for expected, segment in enumerate(self._segments, self._compacted.next):
            if segment.sequence != expected:
                raise self._missing(expected)
            blocks += self._read_segment(segment)
        return blocks

    def _read_segment(self, segment: Segment) -> list[Block]:
        data = read_whole(self._files, self._shelf.segment(segment.sequence), segment.good)
        return self._verified(segment, data, self._header(segment.sequence, data).salt)

    def _header(self, sequence: int, data: bytes) -> FileHeader:
        path = self._shelf.segment(sequence)
        header = read_header(path, data)
        if header != FileHeader(OPEN, self._bucket, header.length, self._shard, sequence, header.salt):
            raise damage(path, 0, "its header is that of another file")
        return header

    def _verified(self, segment: Segment, data: bytes, salt: int) -> list[Block]:
        """The blocks in bytes that all count."""
        path, found = self._shelf.segment(segment.sequence), scan(data, salt)
        if found.fault:
            raise damage(path, found.stop, found.fault)
        if len(data) < segment.good:
            raise damage(path, len(data), f"it has {len(data)} bytes, of {segment.good}")
        return found.blocks

    def _missing(self, sequence: int) -> StorageError:
        return damage(self._shelf.segment(sequence), 0, "the file is missing, and one after it is there")

    # --- recovery ---

    def recover(self, sequences: Collection[int], compacted: Collection[int] = ()) -> StorageError | None:
        """Take over the files that an earlier process left, and cut a torn tail; the damage found, if any."""
        first = max(compacted, default=0)
        old = [self._shelf.segment(sequence) for sequence in sequences if sequence < first]
        discard(self._files, old + [self._shelf.compacted(following) for following in compacted if following < first])
        error: StorageError | None = None
        self._compacted = Compacted(first)
        try:
            self._compacted, _ = self._shelf.read(first)
        except StorageError as found:
            error = found
        counted: int | None = None
        # Backwards, for each header says how much of the segment before counts.
        for sequence in sorted((sequence for sequence in sequences if sequence >= first), reverse=True):
            data = read_whole(self._files, self._shelf.segment(sequence))
            if not self._segments and self._never_begun(data):
                self._files.remove(self._shelf.segment(sequence))
                continue
            if self._segments and self._segments[0].sequence != sequence + 1:
                error, counted = self._missing(sequence + 1), None
            # Until it is found sound it counts whole, so that damage stays damage when another segment follows.
            segment = Segment(sequence, 0, max(len(data), counted or 0), usable=False)
            self._segments.insert(0, segment)
            known, counted = counted, None
            try:
                header = self._header(sequence, data)
                counted = header.length
                if known is None:
                    self._adopt(segment, data, header.salt)
                else:
                    segment.good = known
                    self._verified(segment, data[:known], header.salt)
            except StorageError as found:
                error = found
        if self._segments and self._segments[0].sequence != first:
            error = self._missing(first)
        return error

    def _never_begun(self, data: bytes) -> bool:
        """Whether a last segment is no more than a torn header, which was to be durable before anything followed it."""
        try:
            read_header(self._folder, data)
        except StorageError:
            return len(data) <= HEADER_BYTES
        return False

    def _adopt(self, segment: Segment, data: bytes, salt: int) -> None:
        """Find out how much of the last segment counts, and make it fit to be appended to."""
        path, found = self._shelf.segment(segment.sequence), scan(data, salt)
        if found.fault and is_damage(data, salt, found):
            raise damage(path, found.stop, found.fault)
        segment.salt, segment.good, segment.usable = salt, found.stop, len(self._segments) == 1
        segment.marked = found.stop == found.marked > HEADER_BYTES
        if segment.marked:
            segment.good -= MARK_BYTES
        if not segment.usable or (segment.end == len(data) and (segment.marked or segment.good == HEADER_BYTES)):
            return
        try:
            with opened(self._files, path) as handle:
                self._files.truncate(handle, segment.end)
                if not segment.marked and segment.good > HEADER_BYTES:
                    # Written again, for if their sync had failed before the crash, only the page cache would have them.
                    tail = data[found.marked : found.stop] + pack_mark(segment.good, salt)
                    write_whole(self._files, handle, tail, found.marked)
                    self._files.sync(handle)
                    segment.marked = True
        except OSError:
            segment.usable = False  # what was read counts all the same; the next append begins a segment
