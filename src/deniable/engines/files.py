"""One file of rows, Parquet or Arrow's own: what its footer says, and some of its groups of rows read by the fastest reader.

Single bits and integers of local Parquet files are read by Polars, all else by pyarrow: reports of HCMS (two integers of 16 bits, one bit)
take Polars 3.1 ns of one core each, pyarrow 15 ns and DuckDB 17 ns. But Polars has no binary of fixed size, and reads remote files whole.
``benchmarks/billion.py`` measures it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs, ipc

from deniable.errors import WireError

PARQUET, ARROW = (".parquet",), (".arrow", ".feather", ".ipc")
"""How names of files end."""


@dataclass(frozen=True)
class File:
    """Where a file is, what it was when the dataset was opened, and the rows of its groups."""

    filesystem: Any
    path: str
    size: int
    modified: int | None
    schema: Any
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Partition:
    """Some groups of rows of one file, which one worker reads at a time."""

    file: File
    groups: range

    @property
    def rows(self) -> int:
        """How many rows it has; of Arrow's own files, about."""
        return sum(self.file.groups[group] for group in self.groups)

    def read(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Some columns, in Arrow tables or batches of at most so many rows; of Arrow's own files, whole."""
        file, schema = self.file, self.file.schema
        if any(schema.names.count(name) != 1 for name in names):
            raise WireError(
                file.path, schema.names, allowed=f"the columns {sorted(names)}, each once", fix="name columns that the file has"
            )
        local = isinstance(file.filesystem, fs.LocalFileSystem)
        with readable(file.path):
            if file.path.endswith(ARROW):
                yield from self._by_group(names)
            elif local and all(pa.types.is_integer(field.type) or pa.types.is_boolean(field.type) for field in map(schema.field, names)):
                yield from self._by_polars(names, rows)
            else:
                yield from self._by_pyarrow(names, rows)
        now = file.filesystem.get_file_info(file.path)
        if now.size != file.size or (local and now.mtime_ns != file.modified):  # other stores list times more finely than they tell one
            raise WireError(
                file.path,
                "a file that was changed",
                allowed="the file that was opened",
                fix="wait until the file is written, then count again",
            )

    def _by_group(self, names: Sequence[str]) -> Iterator[Any]:
        with opened(self.file.filesystem, self.file.path) as source:
            yield pa.Table.from_batches(map(ipc.open_file(source).get_batch, self.groups), self.file.schema).select(list(names))

    def _by_polars(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        lazy = pl.scan_parquet(self.file.path, glob=False, hive_partitioning=False).select(names)
        first = sum(self.file.groups[: self.groups.start])
        for start in range(first, first + self.rows, rows):
            yield lazy.slice(start, min(rows, first + self.rows - start)).collect().to_arrow()

    def _by_pyarrow(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        with opened(self.file.filesystem, self.file.path) as source, pq.ParquetFile(source) as parquet:
            if self.rows <= rows:
                yield parquet.read_row_groups(list(self.groups), list(names), use_threads=False)
            else:
                yield from parquet.iter_batches(rows, list(self.groups), list(names), use_threads=False)


def look(filesystem: Any, info: Any) -> File:
    """Return the contents of a file's footer, without reading rows."""
    with readable(info.path), opened(filesystem, info.path) as source:
        if info.path.endswith(ARROW):
            reader = ipc.open_file(source)
            rows, count = reader.count_rows(), reader.num_record_batches
            schema = reader.schema
            groups = tuple(end - start for start, end in pairwise(rows * i // count for i in range(count + 1))) if count else ()
        else:
            footer = pq.read_metadata(source)
            schema = footer.schema.to_arrow_schema()
            groups = tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    return File(filesystem, info.path, info.size, info.mtime_ns, schema, groups)


def opened(filesystem: Any, path: str) -> Any:
    """Return an open file with random access."""
    return pa.memory_map(path) if isinstance(filesystem, fs.LocalFileSystem) else filesystem.open_input_file(path)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Convert a reader's errors to a WireError that names the file."""
    try:
        yield
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        told = str(error).splitlines()[0]
        raise WireError(path, told, allowed="a Parquet or Arrow file", fix="write the file again, or move it away") from error
