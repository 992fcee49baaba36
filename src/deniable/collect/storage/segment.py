"""The bytes of an open segment: reports in the order of their arrival, checksummed, with marks behind what is known to be durable.

A segment belongs to one bucket and one shard. Integers are little-endian. **The header**, which sealed files have too::

    offset    size   field
    0         4      magic "DNRL"
    4         1      version, 1
    5         1      kind: 1 open segment, 2 sealed file (``sealed``), 3 compacted segments (as 2, ``series``)
    6         2      shard
    8         4      sequence: its place among the segments of this bucket and shard, from 0; compacted: that of the next segment
    12        4      salt: the checksums of all records begin with it; random, so that no payload can pass for a record; compacted: how many
                     repetitions were left out, 2^32 - 1 at most
    16        8      period
    24        8      open: how many bytes of the segment before count, 0 in the first; sealed: the length of this file
    32        32     task id
    64        4      CRC-32 of the bytes before

**Records** follow, one after the other. A frame has reports on one question from one stratum, n rows of an id and W bytes of payload::

    0         4      length of the rows, n (16 + W), at least 1 row
    4         4      CRC-32, begun with the salt, of all that follows
    8         2      question
    10        2      stratum
    12        4      W
    16        4      n
    20        ...    rows

**A mark** says that all bytes before it were durable when it was written; it stands behind each append once that is synced, and before
the next one at the latest. It need not be durable itself::

    0         4      "MARK", which is longer than any frame may be
    4         4      CRC-32, begun with the salt, of the offset
    8         8      its own offset in the segment

**What is told apart.** Damage is a record that is not sound with a mark behind it, or in a part that the next segment's header counts:
no crash does that, it is reported and never read. A torn tail is a record that is not sound with no mark behind it: the end of an
append that a crash cut short. It was never acknowledged, and is cut. Frames that are sound count, with a mark or without.

**What cannot be told apart.** (a) Damage in the very last append, where the power failed before its mark reached the disk, looks like a
torn tail. (If only the process died, the mark is there: it is written before the append is acknowledged.) (b) A last segment that was
cut short by someone else looks like an earlier state of itself, as does a series whose last segments were deleted. (c) Damage that leaves
a CRC-32 right: 1 in 2^32 of those that are not a single burst of 32 bits or fewer. Assumed is that a sector which is written again with
the same bytes in front and new ones behind never loses the old ones.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deniable.collect.storage.block import ID_BYTES, Block, Bucket
from deniable.collect.storage.log import StorageError

MAGIC = b"DNRL"
VERSION = 1
OPEN, SEALED, COMPACTED = 1, 2, 3
TAG = b"MARK"
FRAME_BYTES = 1 << 26
"""Rows of a frame; more are split."""
_HEADER = struct.Struct("<4sBBHIIQQ32s")
_CHECK = struct.Struct("<I")
_START = struct.Struct("<II")
_ADDRESS = struct.Struct("<HHII")
_MARK = struct.Struct("<4sIQ")
_OFFSET = struct.Struct("<Q")
HEADER_BYTES = _HEADER.size + _CHECK.size
FRAME_HEAD = _START.size + _ADDRESS.size
MARK_BYTES = _MARK.size


@dataclass
class Segment:
    """An open segment, as far as it counts."""

    sequence: int
    salt: int
    good: int
    """The bytes that count: durable and acknowledged, or found sound by recovery."""
    marked: bool = False
    """Whether a mark follows them."""
    usable: bool = True
    """Whether it can be appended to."""

    @property
    def end(self) -> int:
        """Where the next append begins."""
        return self.good + (MARK_BYTES if self.marked else 0)


class FileHeader(NamedTuple):
    """What a file says about itself."""

    kind: int
    bucket: Bucket
    length: int
    shard: int = 0
    sequence: int = 0
    salt: int = 0

    def pack(self) -> bytes:
        """The header as bytes."""
        task, period = self.bucket
        if len(task) != 32:
            raise StorageError("task", task, allowed="an id of 32 bytes", fix="pass the id of a published task")
        content = _HEADER.pack(MAGIC, VERSION, self.kind, self.shard, self.sequence, self.salt, period, self.length, task)
        return content + _CHECK.pack(zlib.crc32(content))


def read_header(path: Path, data: bytes) -> FileHeader:
    """The header of a file; StorageError if it is damaged or of another version."""
    content = data[: _HEADER.size]
    if len(data) < HEADER_BYTES:
        raise damage(path, len(data), "it ends within its header")
    if data[_HEADER.size : HEADER_BYTES] != _CHECK.pack(zlib.crc32(content)):
        raise damage(path, 0, "the checksum of its header is wrong")
    magic, version, kind, shard, sequence, salt, period, length, task = _HEADER.unpack(content)
    if magic != MAGIC or version != VERSION:
        raise StorageError(f"{path}, version", version, allowed=str(VERSION), fix="it was written by a newer deniable: upgrade this one")
    return FileHeader(kind, Bucket(task, period), length, shard, sequence, salt)


def pack_frames(blocks: Iterable[Block], salt: int) -> bytes:
    """Blocks as frames, in this order."""
    parts: list[bytes | memoryview] = []
    for block in blocks:
        rows = np.ascontiguousarray(block.rows)
        width = rows.shape[1]
        step = max(1, FRAME_BYTES // width)
        for start in range(0, len(rows), step):
            piece = rows[start : start + step]
            address = _ADDRESS.pack(block.question, block.stratum, width - ID_BYTES, len(piece))
            check = zlib.crc32(piece.data, zlib.crc32(address, salt))
            parts += (_START.pack(piece.nbytes, check), address, piece.data)
    return b"".join(parts)


def pack_mark(offset: int, salt: int) -> bytes:
    """The mark that stands at an offset."""
    return _MARK.pack(TAG, zlib.crc32(_OFFSET.pack(offset), salt), offset)


class Scan(NamedTuple):
    """What a segment holds, up to the first record that is not sound."""

    blocks: list[Block]
    stop: int
    """Where that record begins, or the end."""
    fault: str
    """What is wrong there, or nothing."""
    marked: int
    """Where the last mark before it ends, or the header."""


def scan(data: bytes, salt: int) -> Scan:
    """Read a segment's records for as long as they are sound."""
    view = memoryview(data)
    blocks: list[Block] = []
    offset = marked = HEADER_BYTES
    fault = ""
    while offset < len(data) and not fault:
        if data.startswith(TAG, offset):
            if view[offset : offset + MARK_BYTES] == pack_mark(offset, salt):
                offset = marked = offset + MARK_BYTES
            else:
                fault = "this mark is not the one that belongs here"
            continue
        rows = offset + FRAME_HEAD
        if rows > len(data):
            fault = "the head of this frame is cut off"
            continue
        length, check = _START.unpack_from(data, offset)
        question, stratum, width, count = _ADDRESS.unpack_from(data, offset + _START.size)
        if length != count * (ID_BYTES + width) or not count:
            fault = "the lengths in the head of this frame contradict each other"
        elif rows + length > len(data):
            fault = "the rows of this frame are cut off"
        elif zlib.crc32(view[offset + _START.size : rows + length], salt) != check:
            fault = "the checksum of this frame is wrong"
        else:
            blocks.append(Block(question, stratum, np.frombuffer(data, np.uint8, length, rows).reshape(count, -1)))
            offset = rows + length
    return Scan(blocks, offset, fault, marked)


def is_damage(data: bytes, salt: int, found: Scan) -> bool:
    """Whether what stopped a scan has a mark behind it, so that it was sound once."""
    place = data.find(TAG, found.stop)
    while place >= 0:
        if data[place : place + MARK_BYTES] == pack_mark(place, salt):
            return True
        place = data.find(TAG, place + 1)
    return False


def damage(path: Path, offset: int, what: str) -> StorageError:
    """The error for a file that is not what was written."""
    allowed = "the bytes that were written"
    return StorageError(
        f"{path} at byte {offset}", what, allowed=allowed, fix="restore the file from a copy: nothing of it is read till then"
    )
