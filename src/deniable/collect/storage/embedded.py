"""The report log on this machine: append-only segments for what is open, one file for each bucket that is sealed.

The folder belongs to one process at a time. What is where::

    lock                                                   held for as long as the log is open
    open/<task, hex>/<period>-<shard>-<sequence>.log       ``segment``, ``series``; with .old behind it while it is overwritten
    open/<task, hex>/<period>-<shard>-<sequence>.compact   ``compacted``; with .part behind it while it is written
    sealed/<task, hex>/<period>.reports                    ``sealed``; with .part behind it while it is written

A shard is given by the leading bits of a report's id, so that both of two reports with one id are in the same. Arrival order lives in
``open`` alone, and ends with ``drop_open``, which overwrites it. Who needs both locks of a bucket takes ``_shapes`` first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from deniable.collect.faults import fault_point
from deniable.collect.storage import sealed
from deniable.collect.storage.block import Block, Bucket, split
from deniable.collect.storage.compacted import COMPACT, LOG, UNLIMITED, by_series, numbered, spare, wipe_old
from deniable.collect.storage.files import DISK, Files, discard, hold, lacks_room, list_folder, probe, remove_if_there, storage_errors
from deniable.collect.storage.log import Log, StorageError
from deniable.collect.storage.sealed import PARTIAL
from deniable.collect.storage.segment import SEALED, FileHeader, damage
from deniable.collect.storage.series import Series
from deniable.collect.storage.turns import Turns
from deniable.errors import ParameterError

SEGMENT_BYTES = 1 << 24
"""Then another one is begun, and those before can be compacted."""
_TASK = re.compile(r"[0-9a-f]{64}")
_HALF_SEALED = re.compile(r"\d+\.reports" + re.escape(PARTIAL))


class EmbeddedLog(Log):
    """Reports in a folder. Any thread may call anything; what concerns one bucket waits for its turn.

    A bucket that is being closed is waited for too, and refused only when that went well. ``connection`` parameters are not used.
    """

    def __init__(self, folder: Path, *, files: Files = DISK, segment_bytes: int = SEGMENT_BYTES, shards: int = 1) -> None:
        if shards not in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            raise ParameterError("shards", shards, allowed="a power of two, 256 at most", fix="1 is enough for one disk")
        self._files = files
        self._folder = Path(folder)
        self._segment_bytes = segment_bytes
        self._shards = shards
        self._turns = Turns()
        self._shapes = Turns()  # of who rewrites or deletes files, or reads them; appending needs none
        self._closed: set[Bucket] = set()
        self._open: dict[Bucket, dict[int, Series]] = {}
        self._damaged: dict[Bucket, StorageError] = {}
        self._most = UNLIMITED
        self._failing = False
        self._lock: int | None = self._take_lock()
        try:
            with storage_errors("opening", self._folder):
                self._recover()
        except BaseException:
            self.close()
            raise

    # --- the log's promises ---

    def append(self, reports: Mapping[Bucket, Sequence[Block]]) -> frozenset[Bucket]:
        with self._turn(reports.keys()):
            closed = frozenset(self._closed.intersection(reports))
            staged: list[Series] = []
            try:
                with storage_errors("appending to", self._folder / "open"):
                    for bucket, blocks in reports.items():
                        for shard, part in split(blocks, self._shards) if bucket not in closed else ():
                            series = self._series(bucket, shard)
                            staged.append(series)
                            series.stage(part)
                    for series in staged:
                        series.sync()
            except BaseException:
                self._failing = True
                for series in staged:
                    series.undo()
                raise
            for series in staged:
                series.settle()
            self._failing = False
        return closed

    @contextmanager
    def closing(self, bucket: Bucket) -> Iterator[None]:
        with self._shapes.take([bucket]), self._turn([bucket]):
            yield
            self._closed.add(bucket)  # not reached if the seal failed

    def read_open(self, connection: Connection, bucket: Bucket) -> list[Block]:
        with self._shapes.take([bucket]), self._turn([bucket]), self._reading(bucket, self._task_folder("open", bucket)):
            blocks = [block for _, series in sorted(self._open.get(bucket, {}).items()) for block in series.read()]
            self._damaged.pop(bucket, None)
            return blocks

    def write_sealed(self, connection: Connection, bucket: Bucket, blocks: Sequence[Block]) -> None:
        path = self._sealed_path(bucket)
        with self._turn([bucket]), storage_errors("writing", path):
            self._files.make_folder(path.parent)
            self._files.sync_folder(path.parent.parent)
            sealed.write_file(self._files, path, FileHeader(SEALED, bucket, 0), blocks)

    def read_sealed(self, connection: Connection, bucket: Bucket) -> list[Block]:
        path = self._sealed_path(bucket)
        with self._reading(bucket, path):
            _, blocks = sealed.read_file(self._files, path, FileHeader(SEALED, bucket, 0))
            self._damaged.pop(bucket, None)
            return blocks

    def sealed_ids(
        self, connection: Connection, bucket: Bucket, ids: Sequence[bytes], addresses: Sequence[tuple[int, int]] | None = None
    ) -> frozenset[bytes]:
        path = self._sealed_path(bucket)
        with self._reading(bucket, path):
            return sealed.find_ids(self._files, path, bucket, ids, addresses)

    def drop_open(self, bucket: Bucket) -> None:
        folder = self._task_folder("open", bucket)
        with self._shapes.take([bucket]), self._turn([bucket]), storage_errors("deleting from", folder):
            if bucket not in self._open:
                return
            # The last first: what a crash leaves is the beginning of a series, and sound.
            for kind in (LOG, COMPACT):
                found = sorted(each for each in numbered(self._files, folder, kind) if each[0] == bucket.number)[::-1]
                discard(self._files, [folder / f"{period}-{shard}-{sequence}{kind}" for period, shard, sequence in found])
            wipe_old(self._files, folder, bucket.number)
            del self._open[bucket]
            self._damaged.pop(bucket, None)

    def compact(self) -> None:
        """Leave out repetitions where they could fill the disk. Others append meanwhile."""
        for bucket in sorted(self._open):
            if bucket in self._damaged:
                continue
            folder = self._task_folder("open", bucket)
            with self._shapes.take([bucket]), self._reading(bucket, folder):
                for series in list(self._open.get(bucket, {}).values()):
                    with self._turn([bucket]):
                        kept = sum(each.compacted for each in self._open[bucket].values())
                        full = series.full(spare(self._most, kept) // self._shards)
                        if not full or self._files.free(folder) <= series.size:
                            continue
                        series.end_segment()
                    made = series.compact(full)
                    fault_point("segments compacted")
                    with self._turn([bucket]):
                        old = series.replace(made)
                    discard(self._files, old)
                    fault_point("compacted segments deleted")

    def repeated(self, bucket: Bucket) -> int:
        with self._turn([bucket]):
            return sum(series.repeated for series in self._open.get(bucket, {}).values())

    def size(self, bucket: Bucket) -> int:
        return sum([series.size for series in list(self._open.get(bucket, {}).values())])

    def is_full(self, bucket: Bucket, most: int) -> bool:
        self._most = most  # for the next compaction
        return self.size(bucket) >= most

    def clean_up(self, counted: Callable[[Bucket], bool]) -> None:
        for bucket in sorted(self._open):
            if counted(bucket):
                self.drop_open(bucket)

    def drop_sealed(self, connection: Connection, bucket: Bucket) -> None:
        path = self._sealed_path(bucket)
        with storage_errors("deleting", path):
            if path.name in list_folder(self._files, path.parent):
                remove_if_there(self._files, path)
                self._files.sync_folder(path.parent)
        self._damaged.pop(bucket, None)

    def close(self) -> None:
        self._shapes.wait_for_others()
        self._turns.wait_for_others()
        lock, self._lock = self._lock, None
        if lock is not None:
            with storage_errors("closing", self._folder):
                self._files.close(lock)

    # --- what is wrong ---

    def damaged(self) -> list[StorageError]:
        """What was found damaged, when the log was opened or when it was read; empty if there is nothing."""
        return list(self._damaged.values())

    def doubt(self) -> None:
        self._failing = True

    def trouble(self) -> str | None:
        """What someone has to see to: damage, a disk that is full, or one that took no reports when last asked to, nor a few bytes now."""
        if self._failing:
            error = probe(self._files, self._folder / "probe")
            if error is not None:
                return f"{self._folder}: {error.strerror or error}"
            self._failing = False
        if lacks_room(self._files, self._folder):
            return f"{self._folder}: the disk is full"
        return str(self.damaged()[0]) if self._damaged else None

    @contextmanager
    def _reading(self, bucket: Bucket, path: Path) -> Iterator[None]:
        """Remember damage that is found. What the system refuses to read today it may read tomorrow: that is an error only."""
        with storage_errors("reading", path):
            try:
                yield
            except StorageError as error:
                self._damaged[bucket] = error
                raise
            except FileNotFoundError as error:  # not remembered: it may have been dropped a moment ago
                raise damage(Path(error.filename or path), 0, "the file is missing") from error

    @contextmanager
    def _turn(self, buckets: Collection[Bucket]) -> Iterator[None]:
        with self._turns.take(buckets):
            if self._lock is None:
                raise StorageError(f"log {self._folder}", "a call after close", allowed="calls while it is open", fix="open it again")
            yield

    # --- places ---

    def _task_folder(self, part: str, bucket: Bucket) -> Path:
        return self._folder / part / bucket.task.hex()

    def _sealed_path(self, bucket: Bucket) -> Path:
        return self._task_folder("sealed", bucket) / f"{bucket.number}.reports"

    def _series(self, bucket: Bucket, shard: int) -> Series:
        shards = self._open.setdefault(bucket, {})
        if shard not in shards:
            shards[shard] = Series(self._files, self._task_folder("open", bucket), bucket, shard, self._segment_bytes)
        return shards[shard]

    # --- opening ---

    def _take_lock(self) -> int:
        with storage_errors("opening", self._folder):
            for folder in (self._folder, self._folder / "open", self._folder / "sealed"):
                self._files.make_folder(folder)
            for folder in (self._folder.parent, self._folder):
                self._files.sync_folder(folder)
            return hold(self._files, self._folder / "lock")

    def _recover(self) -> None:
        """Take over what an earlier process left: verify and repair what is open, remove what was half sealed."""
        for task in filter(_TASK.fullmatch, list_folder(self._files, self._folder / "sealed")):
            folder = self._folder / "sealed" / task
            for name in filter(_HALF_SEALED.fullmatch, list_folder(self._files, folder)):
                self._files.remove(folder / name)
        for task in filter(_TASK.fullmatch, list_folder(self._files, self._folder / "open")):
            folder = self._folder / "open" / task
            wipe_old(self._files, folder)
            for (period, shard), found in by_series(self._files, folder).items():
                bucket = Bucket(bytes.fromhex(task), period)
                error = self._series(bucket, shard).recover(found[LOG], found[COMPACT])
                if error is not None:
                    self._damaged[bucket] = error
