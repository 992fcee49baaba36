"""A dataset: files of rows on any file system, cut into partitions that fit into memory.

It is one Parquet or Arrow file, a folder of them or a pattern; on this machine, at a URL that pyarrow or fsspec knows (``s3://``, ``gs://``,
``memory://``), or given as (path, filesystem). Names that begin with ``_`` or ``.`` are left out: engines mark their own with it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from errno import ENAMETOOLONG
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
from pyarrow import fs

from deniable.contract.canonical import canonical_json
from deniable.contract.spec import Spec, spec_from_json
from deniable.core.reports import METADATA
from deniable.core.stream import in_parallel
from deniable.engines.files import ARROW, PARQUET, File, Partition, look
from deniable.errors import ParameterError, WireError


@dataclass(frozen=True)
class Dataset:
    """Files of one kind of rows, in the order of their names."""

    files: tuple[File, ...]

    @classmethod
    def open(cls, dataset: Any) -> Dataset:
        """Open the dataset at a path or URL, which may have wildcards, or at (path, filesystem); no row is read yet."""
        if isinstance(dataset, Dataset):
            return dataset
        filesystem, base, pattern = locate(dataset)
        try:
            found = filesystem.get_file_info(base)
        except OSError as error:
            if error.errno != ENAMETOOLONG:
                raise
            raise ParameterError("dataset", dataset, allowed="a path that the system accepts", fix="shorten the path") from error
        infos = [found] if found.is_file and not pattern and base.endswith(PARQUET + ARROW) else []
        if found.type == fs.FileType.Directory:
            below = filesystem.get_file_info(fs.FileSelector(base, recursive=True))
            infos = [info for info in below if info.is_file and _wanted(_below(info.path, base), pattern)]
        if not infos:
            allowed = f"a file, a folder or a pattern of files that end in {', '.join(PARQUET + ARROW)}"
            raise ParameterError("dataset", dataset, allowed=allowed, fix="check the path; * stands for one folder level")
        infos.sort(key=lambda info: info.path)
        return cls(tuple(in_parallel(lambda info: look(filesystem, info), infos)))

    @property
    def rows(self) -> int:
        """The number of rows in all files."""
        return sum(sum(file.groups) for file in self.files)

    def identity(self, parts: Sequence[Partition]) -> bytes:
        """SHA-256 of what changes with the dataset or its cut: names, sizes and times of files, groups of rows, where parts begin."""
        files = [[file.path, str(file.size), str(file.modified), *map(str, file.groups)] for file in self.files]
        cuts = [[part.file.path, str(part.groups.start), str(part.groups.stop)] for part in parts]
        return hashlib.sha256(canonical_json([files, cuts])).digest()

    def spec(self, given: Spec | None = None) -> Spec:
        """Return the given spec, or the one that all files name; WireError with the file that names another one, or none."""
        stated: list[Any] = [(file.schema.metadata or {}).get(METADATA) for file in self.files]
        if given is None and None in stated:
            path = self.files[stated.index(None)].path
            raise WireError(path, "no spec in its metadata", allowed="files that name the spec of their reports", fix="pass the spec")
        known = spec_from_json(stated[0]) if given is None else given
        for file, text in zip(self.files, stated, strict=True):
            if text not in (None, known.canonical):
                raise WireError(file.path, text.decode(), allowed=known.canonical.decode(), fix="count reports of each spec separately")
        return known

    def partitions(self, rows: int) -> list[Partition]:
        """Return the files cut between groups: at most so many rows each, or one group. The same files are always cut alike."""
        parts = []
        for file in self.files:
            start, held = 0, 0
            for group, more in enumerate(file.groups):
                if held and held + more > rows:
                    parts.append(Partition(file, range(start, group)))
                    start, held = group, 0
                held += more
            if held:
                parts.append(Partition(file, range(start, len(file.groups))))
        return parts


def locate(dataset: Any) -> tuple[Any, str, list[str]]:
    """The file system, a path in it without wildcards, and the rest of the path from the first wildcard on."""
    where, filesystem = dataset if isinstance(dataset, tuple) and len(dataset) == 2 else (dataset, None)
    if not isinstance(where, str | os.PathLike) or not os.fspath(where):
        raise ParameterError("dataset", where, allowed="a path, a URL or (path, filesystem)", fix="pass the place of the files")
    parts = os.fspath(where).split("/")
    wild = next((i for i, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    base = "/".join(parts[:wild])
    if filesystem is None and "://" in base:
        filesystem, base = _at_url(base)
    elif filesystem is None:
        filesystem, base = fs.LocalFileSystem(), os.path.abspath(base or ("/" if wild else "."))
    elif not isinstance(filesystem, fs.FileSystem):
        filesystem = fs.PyFileSystem(fs.FSSpecHandler(filesystem))
    return filesystem, base, parts[wild:]


def _at_url(url: str) -> Any:
    try:
        return fs.FileSystem.from_uri(url)
    except pa.ArrowInvalid:  # no scheme of pyarrow's own
        try:
            return fs.FileSystem.from_uri(f"fsspec+{url}")
        except (ImportError, ValueError) as error:
            allowed = "file://, s3://, gs://, hdfs:// or a scheme of fsspec's"
            raise ParameterError("dataset", url, allowed=allowed, fix=f"install the package that fsspec needs: {error}") from error


def _below(path: str, base: str) -> PurePosixPath:
    """A path without the folder that it was looked for in. Some file systems put a slash before it, and some take one away."""
    return PurePosixPath(path.lstrip("/")).relative_to(base.lstrip("/"))


def _wanted(path: PurePosixPath, pattern: list[str]) -> bool:
    """Whether a file holds rows, and it or a folder around it fits the pattern."""
    fits = len(path.parts) >= len(pattern) and all(map(fnmatchcase, path.parts, pattern))
    return fits and path.suffix in PARQUET + ARROW and not any(part.startswith(("_", ".")) for part in path.parts)
