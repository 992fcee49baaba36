"""A batch of reports as columns: packed in memory as it is on the wire, and in Arrow.

The columns and their bytes are those of ``contract.wire``; a batch's body is the columns one after the other, each contiguous. A
column of one bit a person is packed across people, eight to a byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.contract.spec import Spec, spec_from_json
from deniable.contract.wire import BATCH, Column, decode_report, read_image, write_image
from deniable.errors import WireError
from deniable.kernels.compiled import Array

METADATA = b"deniable"
"""Where the schema of an Arrow table or a Parquet file names the spec of its reports."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Many people's reports under one spec: ``n`` of them, in the columns of its layout.

    >>> from deniable.client import OUE
    >>> reports = OUE(domain_size=1024, epsilon=1.0).privatize(np.zeros(1000, dtype=int))
    >>> len(reports), reports.nbytes
    (1000, 128000)
    >>> Reports.from_bytes(reports.to_bytes()) == reports
    True
    """

    spec: Spec
    n: int
    columns: dict[str, Array]

    @classmethod
    def empty(cls, spec: Spec, n: int) -> Reports:
        """Return an empty batch with room for n reports, for a kernel to fill."""
        return cls(spec, n, {column.name: np.zeros(_shape(column, n), _dtype(column)) for column in spec.layout})

    @classmethod
    def collect(cls, spec: Spec, reports: Iterable[Any]) -> Reports:
        """Return a batch from single reports."""
        if isinstance(reports, bytes | str | Mapping) or not isinstance(reports, Iterable) or getattr(reports, "ndim", 1) == 0:
            raise WireError("reports", type(reports).__name__, allowed="a list of reports", fix="use from_rows for bytes")
        rows = [spec.encode(report) for report in reports]
        return cls.from_rows(spec, b"".join(rows))

    @classmethod
    def from_rows(cls, spec: Spec, rows: bytes) -> Reports:
        """Return a batch from ``rows``, encoded reports laid end to end."""
        width = sum(column.row_bytes for column in spec.layout)
        n, rest = divmod(len(rows), width)
        if rest:
            raise WireError("rows", f"{len(rows)} bytes", allowed=f"a multiple of {width} bytes", fix="send whole reports")
        table = np.frombuffer(rows, np.uint8).reshape(n, width)
        parts, start = {}, 0
        for column in spec.layout:
            part = np.ascontiguousarray(table[:, start : start + column.row_bytes])
            start += column.row_bytes
            if _is_single_bit(column):
                if n and part.max() > 1:
                    decode_report(spec.layout, table[int(part.ravel().argmax())].tobytes())  # raises, naming the column
                part = np.packbits(part.ravel(), bitorder="little")
            parts[column.name] = part.view(_dtype(column)).reshape(_shape(column, n))
        return cls(spec, n, parts)._checked()

    def __len__(self) -> int:
        return self.n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports):
            return NotImplemented
        same = self.spec == other.spec and self.n == other.n
        return same and all(np.array_equal(column, other.columns[name]) for name, column in self.columns.items())

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def __repr__(self) -> str:
        return f"Reports({self.spec!r}, n={self.n:,}, {self.nbytes:,} bytes)"

    def __getitem__(self, position: int) -> Any:
        """Return one report, as from ``randomize``."""
        position = index(position)  # a slice is refused here: batches are split before they are made
        return self.spec.decode(self.rows()[position].tobytes())

    def rows(self) -> Array:
        """Return the encoded reports as a matrix, one row of bytes each."""
        parts = []
        for column in self.spec.layout:
            items = self.columns[column.name]
            if _is_single_bit(column):
                items = np.unpackbits(items, count=self.n, bitorder="little")
            parts.append(np.ascontiguousarray(items).view(np.uint8).reshape(self.n, column.row_bytes))
        return np.hstack(parts)

    @property
    def nbytes(self) -> int:
        """The size of the reports in memory, in bytes."""
        return sum(column.nbytes for column in self.columns.values())

    def to_bytes(self) -> bytes:
        """Return the batch as bytes, with spec and checksum."""
        body = b"".join(np.ascontiguousarray(self.columns[column.name]).tobytes() for column in self.spec.layout)
        return write_image(BATCH, self.spec.canonical, self.n, body)

    @classmethod
    def from_bytes(cls, data: bytes) -> Reports:
        """Return the batch from ``data`` of ``to_bytes``; WireError unless every report in it is well formed."""
        canonical, n, body = read_image(BATCH, data)
        spec = spec_from_json(canonical)
        sizes = [_body_bytes(column, n) for column in spec.layout]
        if len(body) != sum(sizes):
            raise WireError("body", f"{len(body)} bytes", allowed=f"{sum(sizes)} bytes for {n} reports", fix="read the image again, whole")
        columns, start = {}, 0
        for column, size in zip(spec.layout, sizes, strict=True):
            part = np.frombuffer(body, np.uint8, size, start)
            columns[column.name] = part.view(_dtype(column)).reshape(_shape(column, n))
            start += size
        return cls(spec, n, columns)._checked()

    def to_arrow(self) -> Any:
        """Return the batch as a pyarrow Table without copying; the spec is in the schema's metadata."""
        arrays = [_to_arrow(column, self.columns[column.name], self.n) for column in self.spec.layout]
        names = [column.name for column in self.spec.layout]
        return pa.table(arrays, names).replace_schema_metadata({METADATA: self.spec.canonical})

    @classmethod
    def from_arrow(cls, table: Any) -> Reports:
        """Return the batch from a table of ``to_arrow``, for instance read back from Parquet."""
        metadata = table.schema.metadata or {}
        if METADATA not in metadata:
            raise WireError("schema", table.schema.names, allowed="metadata with the key 'deniable'", fix="keep the schema's metadata")
        spec = spec_from_json(metadata[METADATA])
        if table.schema.names != [column.name for column in spec.layout]:
            raise WireError("schema", table.schema.names, allowed=f"the columns of {spec!r}", fix="write the table with to_arrow()")
        rows = {column.name: _from_arrow(column, table.column(column.name)) for column in spec.layout}
        return cls(spec, table.num_rows, rows)._checked()

    def check_shapes(self) -> None:
        """Refuse columns that do not fit n and the spec, or symbols that counters have no place for."""
        for column in self.spec.layout:
            items = self.columns.get(column.name)
            if items is None or items.shape != _shape(column, self.n) or items.dtype != _dtype(column):
                raise WireError(
                    column.name, None if items is None else items.shape, allowed=f"the column of {self.n} reports", fix="use from_rows"
                )
            if not column.packed and column.limit < 1 << column.bits and int(items.max(initial=0)) >= column.limit:
                raise WireError(column.name, int(items.max()), allowed=column.describe(), fix="a report was damaged or made up")

    def _checked(self) -> Reports:
        self.check_shapes()
        for column in self.spec.layout:
            items = self.columns[column.name]
            if column.increasing and column.count > 1 and np.any(items[:, 1:] <= items[:, :-1]):
                raise WireError(column.name, "another order", allowed=column.describe(), fix="a report was damaged or made up")
            if not column.packed or items.size == 0:
                continue
            used = column.count % 8 if column.count > 1 else self.n % 8
            bad = bool(used) and int(items[..., -1].max()) >> used != 0
            if column.ones is not None:
                bad = bad or bool(np.any(np.bitwise_count(items).sum(axis=-1, dtype=np.int64) != column.ones))
            if bad:
                raise WireError(column.name, "other bits", allowed=column.describe(), fix="a report was damaged or made up")
        return self


def _is_single_bit(column: Column) -> bool:
    return column.packed and column.count == 1


def _dtype(column: Column) -> np.dtype[Any]:
    return np.dtype(f"<u{max(column.bits // 8, 1)}")


def _shape(column: Column, n: int) -> tuple[int, ...]:
    if _is_single_bit(column):
        return (-(-n // 8),)
    per_report = column.row_bytes if column.packed else column.count
    return (n,) if per_report == 1 and not column.packed else (n, per_report)


def arrow_type(column: Column) -> Any:
    """A column's type in Arrow."""
    if _is_single_bit(column):
        return pa.bool_()
    return pa.binary(column.row_bytes) if len(_shape(column, 0)) > 1 else pa.from_numpy_dtype(_dtype(column))


def _body_bytes(column: Column, n: int) -> int:
    return -(-n // 8) if _is_single_bit(column) else n * column.row_bytes


def _to_arrow(column: Column, items: Array, n: int) -> Any:
    return pa.Array.from_buffers(arrow_type(column), n, [None, pa.py_buffer(np.ascontiguousarray(items))])


def _from_arrow(column: Column, chunked: Any) -> Array:
    if chunked.null_count:
        raise WireError(column.name, "null", allowed="a value in every row", fix="drop the damaged rows and count them")
    n = len(chunked)
    kind = arrow_type(column)
    if chunked.type != kind:
        raise WireError(column.name, str(chunked.type), allowed=str(kind), fix="write the table with to_arrow()")
    whole = chunked.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # no chunk at all
        return np.zeros(_shape(column, n), _dtype(column))
    if kind == pa.bool_():
        return _bits(whole)
    width = column.row_bytes
    flat = np.frombuffer(whole.buffers()[1], np.uint8, n * width, whole.offset * width)
    return flat.view(_dtype(column)).reshape(_shape(column, n))


def _bits(array: Any) -> Array:
    """The packed bits of an array of booleans, in place where they begin and end on a byte."""
    n = len(array)
    if array.offset % 8 or n % 8:  # the neighboring bits are not theirs
        return np.packbits(array.to_numpy(zero_copy_only=False), bitorder="little")
    return np.frombuffer(array.buffers()[1], np.uint8, n // 8, array.offset // 8)
