"""The pages of a Parquet file, checked by their headers before any of them is unpacked.

A page is unpacked whole, into as much memory as its header declares: a gigabyte of equal bytes takes a hundred kilobytes in a file. The
sizes in the footer are no help, since readers do not go by them. So every header is read here, as readers will read it, and a page that is
too large, or packed in another way than ``export`` packs it (dictionaries and prefixes unpack to more than the page), is refused.
"""

from __future__ import annotations

from io import BufferedReader
from typing import Any

from deniable.errors import WireError

LARGEST_PAGE = 1 << 26
"""The most that a page may unpack to; a wider report may have a page to itself. ``export`` writes pages of at most 2 MiB."""
LARGEST_HEADER = 1 << 16
"""Bytes of a header: two statistics of 4 KiB, and some numbers."""
SPARE_PAGES, ROWS_PER_PAGE = 1024, 256
"""At most so many pages, and one more for so many rows of a column: reading the headers takes no longer than reading the rows."""
LARGEST_CELL = 16
"""Bytes that a value takes in a page at most, above its own width. All pages together unpack to no more than their values and one page:
a file of 1 MiB could hold 64 GiB in pages without values, and keep a reader busy."""
TYPE, UNPACKED, PACKED, VALUES, ENCODING = (1,), (2,), (3,), (5, 1), (5, 2)
"""Paths of fields in a page's header; type 0 is a page of data, encoding 0 is plain."""
LAST_FIELD = 127
"""Parquet's writers number fields up to 8."""
_FLAGS, _I32, _I64, _BINARY, _STRUCT = (1, 2), 5, 6, 8, 12  # types of the compact protocol


def check_pages(file: BufferedReader, metadata: Any, width: int) -> None:
    """Raise WireError unless all pages of a file of reports, ``width`` bytes each, are such as ``export`` writes."""
    most, cells = max(LARGEST_PAGE, 2 * width), metadata.num_rows * metadata.num_columns
    left, room = SPARE_PAGES + cells // ROWS_PER_PAGE, most + cells * (width + LARGEST_CELL)
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            if chunk.has_dictionary_page or chunk.file_path:
                raise _refusal("a dictionary, or another file")
            at, values = chunk.data_page_offset, 0
            end = at + chunk.total_compressed_size
            while at < end:
                file.seek(at)
                header, size = read_header(file.read(min(LARGEST_HEADER, end - at)))
                if any(header.get(path) != 0 for path in (TYPE, ENCODING)):
                    raise _refusal("a page in another encoding")
                unpacked, packed, here = (header.get(path, -1) for path in (UNPACKED, PACKED, VALUES))
                left, room, at, values = left - 1, room - unpacked, at + size + packed, values + here
                if min(left, packed, here) < 0 or not 0 <= unpacked <= most:
                    raise _refusal(f"a page of {unpacked:,} bytes" if left >= 0 else "too many pages")
                if room < 0:
                    raise _refusal("pages that unpack to much more than their rows")
            if (at, values) != (end, chunk.num_values):
                raise _refusal("pages that do not fill their column")


def read_header(data: bytes) -> tuple[dict[tuple[int, ...], int], int]:
    """The 32-bit numbers in a page's header by the path of their fields, and its length; WireError if Parquet's writers write no such one.

    It is a struct in Thrift's compact protocol. Numbers of fields only rise here, and stay below those where
    16 bits would start again from 0: a field that came twice could be read in two ways.

    >>> read_header(bytes.fromhex("1500 1520 1518 2c 1510 1500 00 00"))
    ({(1,): 0, (2,): 16, (3,): 12, (5, 1): 8, (5, 2): 0}, 13)
    """
    found: dict[tuple[int, ...], int] = {}
    try:
        return found, _read_struct(data, 0, (), found)
    except (IndexError, ValueError) as error:
        raise _refusal("a header that cannot be read") from error


def _read_struct(data: bytes, at: int, path: tuple[int, ...], found: dict[tuple[int, ...], int]) -> int:
    number = 0
    while data[at]:
        delta, kind = divmod(data[at], 16)
        at, number = at + 1, number + delta
        if delta == 0 or number > LAST_FIELD or len(path) > 2:
            raise ValueError("no field of a page's header")
        if kind == _STRUCT:
            at = _read_struct(data, at, (*path, number), found)
        elif kind in (_I32, _I64, _BINARY):
            word, at = _read_varint(data, at)
            if kind == _BINARY:
                at += word
            elif kind == _I32:
                if word >= 1 << 32:
                    raise ValueError("a number of 32 bits")
                found[(*path, number)] = (word >> 1) ^ -(word & 1)
        elif kind not in _FLAGS:
            raise ValueError("no type of a page's header")
    return at + 1


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    word = 0
    for shift in range(0, 70, 7):
        word |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return word, at
    raise ValueError("a number of 64 bits")


def _refusal(received: str) -> WireError:
    allowed = f"pages of plain values, of up to {LARGEST_PAGE:,} bytes each"
    return WireError("pages", received, allowed=allowed, fix="this is no file of a publication: ask for another copy")
