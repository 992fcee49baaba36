"""Byte layouts of reports, and of the images of batches and tallies.

**A report** is its columns one after the other, each as small as its information. Integers are little-endian; a column of
bits is packed with item 0 in the lowest bit of the first byte, unused high bits are zero::

    RR     bit       1 bit                      in a batch, 8 people share a byte
    GRR    symbol    1, 2 or 4 bytes
    OUE    bits      ceil(d / 8) bytes
    OLH    seed      16 or 24 bytes, then symbol, 1, 2 or 4 bytes

**An image** (a batch of reports, a tally) carries the spec it belongs to and a checksum::

    offset    size   field
    0         4      magic "DNBL"
    4         1      version, 1
    5         1      kind: 1 batch of reports, 2 tally
    6         2      zero
    8         4      L, length of the spec's canonical JSON
    12        8      n, the number of reports
    20        L      the spec
    20 + L    ...    body, its length fixed by kind, spec and n
    end - 4   4      CRC-32 of all bytes before it

Decoding is strict: anything but the one canonical form raises ``WireError``, trailing bytes included.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from deniable.errors import WireError

MAGIC = b"DNBL"
VERSION = 1
BATCH, TALLY = 1, 2
_HEADER = struct.Struct("<4sBBHIQ")


@dataclass(frozen=True)
class Column:
    """One field of a report: ``count`` items, each below ``limit``; packed bits, or integers of whole bytes.

    >>> Column("symbol", limit=1000).row_bytes, Column.of_bits("bits", 1000).row_bytes
    (2, 125)
    """

    name: str
    limit: int
    count: int = 1
    packed: bool = False
    ones: int | None = None
    increasing: bool = False
    """Whether each item must be larger than the one before: a set, which then has one form only."""
    drawn: bool = False
    """True if a device draws it uniformly without looking at the value: a seed, a cohort, a row."""

    @classmethod
    def of_bits(cls, name: str, count: int, ones: int | None = None) -> Column:
        """Return a column of single bits; exactly so many ``ones`` among them, where that is known."""
        return cls(name, limit=2, count=count, packed=True, ones=ones)

    @cached_property
    def bits(self) -> int:
        """The width of an item in storage: 1 if packed, else 8, 16, 32 or 64."""
        if self.packed:
            return 1
        needed = (self.limit - 1).bit_length()
        return next(width for width in (8, 16, 32, 64) if needed <= width)

    @cached_property
    def row_bytes(self) -> int:
        """The bytes of this column in one report on its own."""
        return -(-self.bits * self.count // 8)

    def describe(self) -> str:
        """Return what is allowed, in a few words."""
        if self.packed:
            return f"{self.count} bits, higher ones zero" + (f", exactly {self.ones} of them set" if self.ones is not None else "")
        several = f", {self.count} of them" + (", each larger than the one before" if self.increasing else "")
        return f"integers below {self.limit}" + (several if self.count > 1 else "")

    @property
    def information(self) -> int:
        """The bits that the column's content needs, storage aside."""
        return (self.limit - 1).bit_length() * self.count


Layout = tuple[Column, ...]


def encode_report(layout: Layout, report: Any) -> bytes:
    """Return the bytes of one report.

    >>> encode_report((Column("seed", 2**64, 2), Column("symbol", 4)), ((1, 2), 3)).hex()
    '0100000000000000020000000000000003'
    """
    fields = (report,) if len(layout) == 1 else report
    if not isinstance(fields, tuple) or len(fields) != len(layout):
        raise WireError("report", report, allowed=f"a tuple of {[column.name for column in layout]}", fix="pass what randomize returned")
    return b"".join(_encode(column, field) for column, field in zip(layout, fields, strict=True))


def _encode(column: Column, field: Any) -> bytes:
    items = field if column.count > 1 and not column.packed else (field,)
    end = 1 << column.count if column.packed else column.limit
    whole = isinstance(items, tuple) and len(items) * (column.count if column.packed else 1) == column.count
    valid = whole and all(type(item) is int and 0 <= item < end for item in items)
    if not valid or (column.ones is not None and field.bit_count() != column.ones) or not _in_order(column, items):
        raise WireError(column.name, field, allowed=column.describe(), fix="pass what randomize returned")
    return b"".join(item.to_bytes(column.row_bytes // len(items), "little") for item in items)


def _in_order(column: Column, items: tuple[int, ...]) -> bool:
    return not column.increasing or all(before < after for before, after in pairwise(items))


def decode_report(layout: Layout, payload: bytes) -> Any:
    """Return the report behind its bytes; WireError unless they are its one canonical form."""
    expected = sum([column.row_bytes for column in layout])
    if len(payload) != expected:
        raise WireError("report", payload, allowed=f"exactly {expected} bytes", fix=f"send it whole; {len(payload)} bytes came")
    fields: list[Any] = []
    for column in layout:
        raw, payload = payload[: column.row_bytes], payload[column.row_bytes :]
        if column.packed:
            field: Any = int.from_bytes(raw, "little")
            valid = field < 1 << column.count and column.ones in (None, field.bit_count())
        elif column.count == 1:
            field = int.from_bytes(raw, "little")
            valid = field < column.limit
        else:
            width = column.bits // 8
            items = tuple(int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width))
            valid = max(items) < column.limit and _in_order(column, items)
            field = items
        if not valid:
            raise WireError(column.name, field, allowed=column.describe(), fix="drop the report: it is damaged or forged")
        fields.append(field)
    return fields[0] if len(layout) == 1 else tuple(fields)


def write_image(kind: int, spec: bytes, n: int, body: bytes) -> bytes:
    """Return an image with header and checksum."""
    content = _HEADER.pack(MAGIC, VERSION, kind, 0, len(spec), n) + spec + body
    return content + zlib.crc32(content).to_bytes(4, "little")


def read_image(kind: int, data: bytes) -> tuple[bytes, int, bytes]:
    """Return the spec, n and body of an image; the length of the body is for the caller to check."""
    if len(data) < _HEADER.size + 4:
        raise WireError("image", data, allowed=f"at least {_HEADER.size + 4} bytes", fix="read the file to its end")
    magic, version, found, zero, length, n = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise WireError("magic", magic, allowed=repr(MAGIC), fix="read a file that deniable wrote")
    if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        raise WireError("checksum", data[-4:].hex(), allowed="the CRC-32 of the bytes before it", fix="read the image again, whole")
    if version != VERSION or zero:
        raise WireError("version", version, allowed=str(VERSION), fix="upgrade deniable to read newer images")
    if found != kind:
        raise WireError("kind", found, allowed=f"{kind} (1 batch of reports, 2 tally)", fix="use the other reader")
    end = _HEADER.size + length
    if end > len(data) - 4:
        raise WireError("spec length", length, allowed="no longer than the image", fix="read the image again, whole")
    return data[_HEADER.size : end], n, data[end:-4]
