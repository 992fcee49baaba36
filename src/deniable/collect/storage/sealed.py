"""A sealed file: a bucket's reports sorted by id, each once, in a layout that can be searched without reading it all.

The header is that of ``segment``, with the length of the whole file. What follows it (integers are little-endian)::

    offset    size   field
    0         4      B, the number of blocks
    4         4      CRC-32 of B and of the rest of the directory
    8         16 B   for each block: question 2, stratum 2, W (bytes of a payload) 4, n (rows, at least 1) 8
    ...       20 P   for each page of each block: the id in its first row 16, CRC-32 of its rows 4
    ...       ...    the rows of each block, n (16 + W) bytes, by ascending id

Blocks ascend by question and stratum. A page is as many rows as fit into 64 KiB, one at least. The directory says all about what lies
where, so that whatever is read can be verified: a lookup of an id reads the directory and one page of its block. The same reports give
the same bytes, so that a seal can be done again.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deniable.collect.storage.block import CHUNK, ID_BYTES, Block, Bucket
from deniable.collect.storage.files import Files, opened, read_at, write_whole
from deniable.collect.storage.segment import HEADER_BYTES, SEALED, FileHeader, damage, read_header
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

PAGE_BYTES = 1 << 16
WRITE_BYTES = 1 << 26
"""Written by one call."""
PARTIAL = ".part"
"""How the name of a file ends that is being written."""
_START = struct.Struct("<II")
_ENTRY = struct.Struct("<HHIQ")
_PAGE = struct.Struct("<16sI")
_ID = f"S{ID_BYTES}"
"""Compared as bytes are; that numpy strips zeros at the end does not matter, since all ids have one length."""
_PAGE_TYPE = np.dtype([("id", _ID), ("check", "<u4")])


class _Part(NamedTuple):
    """A block as the directory describes it."""

    question: int
    stratum: int
    row_bytes: int
    rows: int
    start: int
    pages: bytes

    @property
    def page_rows(self) -> int:
        return max(1, PAGE_BYTES // self.row_bytes)

    @property
    def page_count(self) -> int:
        return -(-self.rows // self.page_rows)

    def page_span(self, page: int) -> tuple[int, int]:
        """Where a page begins in the file, and its length."""
        first = page * self.page_rows
        return self.start + first * self.row_bytes, min(self.page_rows, self.rows - first) * self.row_bytes

    @property
    def first_ids(self) -> Array:
        return np.frombuffer(self.pages, _PAGE_TYPE)["id"]

    def verify(self, path: Path, page: int, rows: bytes | memoryview) -> None:
        _, check = _PAGE.unpack_from(self.pages, page * _PAGE.size)
        if zlib.crc32(rows) != check:
            raise damage(path, self.page_span(page)[0], "the checksum of this page is wrong")


def write_file(files: Files, path: Path, header: FileHeader, blocks: Sequence[Block]) -> int:
    """Write a file of sorted reports, so that either all of it is there under its name, durable, or what was there before; its length.

    ``header`` is what it says about itself but for the length.
    """
    _check_order(blocks)
    kept = [np.ascontiguousarray(block.rows) for block in blocks]
    directory = _pack_directory(blocks, kept)
    length = HEADER_BYTES + len(directory) + sum(rows.nbytes for rows in kept)
    head = header._replace(length=length).pack() + directory
    partial = path.with_name(path.name + PARTIAL)
    try:
        with opened(files, partial, fresh=True) as handle:
            write_whole(files, handle, head, 0)
            offset = len(head)
            for rows in kept:
                view = rows.reshape(-1).data
                for start in range(0, len(view), WRITE_BYTES):
                    write_whole(files, handle, view[start : start + WRITE_BYTES], offset + start)
                offset += len(view)
            files.sync(handle)
        files.rename(partial, path)
        files.sync_folder(path.parent)
        return length
    except OSError:
        with suppress(OSError):  # what stays is overwritten by the next attempt, or removed when the log is opened
            files.remove(partial)
        raise


def _check_order(blocks: Sequence[Block]) -> None:
    ascending = all(first.address < second.address for first, second in pairwise(blocks))
    for block in blocks:
        ascending &= bool(len(block.rows))
        for start in range(0, len(block.rows), CHUNK):  # each with the first of the next
            high, low = np.ascontiguousarray(block.rows[start : start + CHUNK + 1, :ID_BYTES]).view(">u8").T
            ascending &= bool(np.all((high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))))
    if not ascending:
        allowed = "ascending by question and stratum, each with rows of ascending ids"
        raise ParameterError("blocks", [block.address for block in blocks], allowed=allowed, fix="pass what sort_once returned")


def _pack_directory(blocks: Sequence[Block], kept: Sequence[np.ndarray]) -> bytes:
    entries, pages = [], []
    for block, rows in zip(blocks, kept, strict=True):
        count, width = rows.shape
        entries.append(_ENTRY.pack(*block.address, width - ID_BYTES, count))
        step = max(1, PAGE_BYTES // width)
        pages += [_PAGE.pack(rows[at, :ID_BYTES].tobytes(), zlib.crc32(rows[at : at + step].data)) for at in range(0, count, step)]
    content = b"".join(entries + pages)
    return _START.pack(len(blocks), zlib.crc32(content, zlib.crc32(struct.pack("<I", len(blocks))))) + content


def _read_directory(files: Files, path: Path, handle: int, expected: FileHeader) -> tuple[FileHeader, list[_Part]]:
    """The header of a file and its blocks; StorageError unless header, directory and length agree."""
    size = files.size(handle)
    head = read_at(files, handle, HEADER_BYTES + _START.size, 0)
    header = read_header(path, head)
    if header._replace(length=0, salt=0) != expected:
        raise damage(path, 0, "its header is that of another file")
    if size != header.length or len(head) < HEADER_BYTES + _START.size:
        raise damage(path, min(size, header.length), f"it has {size} bytes, of {header.length}")
    number, check = _START.unpack_from(head, HEADER_BYTES)
    content = read_at(files, handle, number * _ENTRY.size, len(head))
    parts, pages, rows = [], 0, 0
    for question, stratum, width, count in _ENTRY.iter_unpack(content[: len(content) // _ENTRY.size * _ENTRY.size]):
        part = _Part(question, stratum, ID_BYTES + width, count, rows, b"")
        parts.append(part)
        pages += part.page_count * _PAGE.size
        rows += count * part.row_bytes
    start = len(head) + number * _ENTRY.size + pages
    if start + rows != size:
        raise damage(path, HEADER_BYTES, "the lengths in its directory do not add up to its length")
    content += read_at(files, handle, pages, len(head) + len(content))
    if zlib.crc32(content, zlib.crc32(struct.pack("<I", number))) != check:
        raise damage(path, HEADER_BYTES, "the checksum of its directory is wrong")
    at = number * _ENTRY.size
    for index, part in enumerate(parts):
        end = at + part.page_count * _PAGE.size
        parts[index] = part._replace(start=start + part.start, pages=content[at:end])
        at = end
    return header, parts


def read_file(files: Files, path: Path, expected: FileHeader) -> tuple[FileHeader, list[Block]]:
    """The header of a file, which is the expected one but for length and salt, and all its reports, every page verified."""
    with opened(files, path) as handle:
        header, parts = _read_directory(files, path, handle, expected)
        data = read_at(files, handle, files.size(handle), 0)
    view = memoryview(data)
    for part in parts:
        for page in range(part.page_count):
            start, length = part.page_span(page)
            part.verify(path, page, view[start : start + length])
    return header, [
        Block(part.question, part.stratum, np.frombuffer(data, np.uint8, part.rows * part.row_bytes, part.start).reshape(part.rows, -1))
        for part in parts
    ]


def find_ids(
    files: Files, path: Path, bucket: Bucket, ids: Sequence[bytes], addresses: Sequence[tuple[int, int]] | None = None
) -> frozenset[bytes]:
    """Which of these ids a sealed file has: each in the block at its address, or without addresses in any block."""
    at: dict[tuple[int, int], set[bytes]] = {}
    for address, wanted in zip(addresses or (), ids, strict=addresses is not None):
        at.setdefault(address, set()).add(wanted)
    anywhere = sorted(set(ids)) if addresses is None else []
    found: set[bytes] = set()
    with opened(files, path) as handle:
        for part in _read_directory(files, path, handle, FileHeader(SEALED, bucket, 0))[1]:
            ordered = anywhere or sorted(at.get((part.question, part.stratum), ()))
            if ordered:
                found.update(_find_in(part, files, path, handle, ordered))
    return frozenset(found)


def _find_in(part: _Part, files: Files, path: Path, handle: int, ordered: Sequence[bytes]) -> Iterator[bytes]:
    """Those of ascending ids that a block holds. Each page that could hold some is read once."""
    wanted = np.frombuffer(b"".join(ordered), _ID)
    pages, firsts = np.unique(np.searchsorted(part.first_ids, wanted, side="right") - 1, return_index=True)
    for page, first, end in zip(pages.tolist(), firsts.tolist(), [*firsts[1:].tolist(), len(ordered)], strict=True):
        if page < 0:  # below the first id of the block
            continue
        start, length = part.page_span(page)
        rows = read_at(files, handle, length, start)
        part.verify(path, page, rows)
        there = np.frombuffer(rows, np.uint8).reshape(-1, part.row_bytes)[:, :ID_BYTES].copy().view(_ID)[:, 0]
        places = np.searchsorted(there, wanted[first:end], side="right") - 1  # at least 0: the page begins at or below each of them
        yield from (ordered[first + hit] for hit in np.flatnonzero(there[places] == wanted[first:end]))
