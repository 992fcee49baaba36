"""Populations that were observed: a column of a file, and the words of a language."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from deniable.contract.arguments import typed
from deniable.errors import DomainError, MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.populations.base import LARGEST_TABLE, Population, is_integer, require


@typed
@dataclass(frozen=True)
class FileColumn(Population):
    r"""The values of the column of a ``name`` in a CSV or Parquet file, ``path``, one row a person.

    They are drawn with replacement: n need not be the number of rows. Rows without a value are refused, or dropped (``drop_missing``).

    Integers stay integers in Parquet; everything else, and all of a CSV file, is text exactly as it stands, unless ``integers=True``.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "people.csv")
    >>> _ = path.write_text("drink\n" + "tea\n" * 3 + "coffee\n")
    >>> drinks = FileColumn(path, "drink")
    >>> drinks.values, drinks.probabilities.tolist(), drinks.describe()
    (['coffee', 'tea'], [0.25, 0.75], "column 'drink' of people.csv")
    >>> folder.cleanup()
    """

    path: str | PathLike[str]
    name: str
    integers: bool = False
    drop_missing: bool = False

    def table(self) -> tuple[Any, Array]:
        values = self._read()
        missing = values.null_count()
        if missing and not self.drop_missing:
            row = int(values.is_null().arg_max() or 0) + 1
            fix = f"fill the {missing} missing values, or pass drop_missing=True"
            raise DomainError(f"{self.name}, row {row} of {len(values)}", None, allowed="an answer in every row", fix=fix)
        counted = values.drop_nulls().rename("value").value_counts(name="people").sort("value")
        if not len(counted):
            raise DomainError(self.name, "no values", allowed="one or more", fix="pass a column with at least one value")
        weights = counted["people"].to_numpy().astype(float)
        return counted["value"].to_numpy() if values.dtype == pl.Int64 else counted["value"].to_list(), weights

    def _read(self) -> pl.Series:
        path = Path(self.path)
        try:
            if path.suffix.lower() == ".csv":
                table = pl.scan_csv(path, infer_schema=False)
            elif path.suffix.lower() == ".parquet":
                table = pl.scan_parquet(path)
            else:
                raise ParameterError("path", str(path), allowed="a .csv or .parquet file", fix="convert the file first")
            names = table.collect_schema().names()
            if self.name not in names:
                raise ParameterError("name", self.name, allowed=f"one of {names}", fix="check the spelling")
            values = table.select(self.name).collect()[self.name]
            if values.dtype.is_float():
                values = values.fill_nan(None)
            return values.cast(pl.Int64) if self.integers or values.dtype.is_integer() else values.cast(pl.String)
        except pl.exceptions.PolarsError as error:
            raise ParameterError(
                "path", str(path), allowed="a table with a column of plain values", fix=str(error).splitlines()[0]
            ) from error

    def describe(self) -> str:
        return f"column {self.name!r} of {Path(self.path).name}"

    def identity(self) -> str:
        content = sha256(Path(self.path).read_bytes()).hexdigest()  # another file under the same name is another crowd
        return f"Column({content}, {self.name!r}, {self.integers}, {self.drop_missing})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", fspath(self.path))


@dataclass(frozen=True)
class Words(Population):
    """The ``count`` most frequent words of a language, as likely as people use them (the package ``wordfreq``, extra ``lab``).

    >>> words = Words(count=1000)
    >>> words.values[:3], words.probabilities[:3].round(4).tolist()
    (['the', 'to', 'and'], [0.0781, 0.0391, 0.0374])
    """

    language: str = "en"
    count: int = 10_000

    def __post_init__(self) -> None:
        good = is_integer(self.count) and 2 <= self.count <= LARGEST_TABLE
        require(good, "count", self.count, f"an integer from 2 to {LARGEST_TABLE}", "try 10,000, which covers most speech")

    def table(self) -> tuple[Any, Array]:
        wordfreq = _wordfreq()
        known = sorted(wordfreq.available_languages())
        require(self.language in known, "language", self.language, f"one of {known}", "pass a two-letter code such as 'en'")
        words = wordfreq.top_n_list(self.language, self.count)
        require(len(words) == self.count, "count", self.count, f"at most {len(words)} for {self.language!r}", "ask for fewer words")
        frequencies = wordfreq.get_frequency_dict(self.language)
        return words, np.array([frequencies[word] for word in words])

    def describe(self) -> str:
        return f"{self.count:,} words of {self.language!r}"

    def identity(self) -> str:
        _wordfreq()
        return f"{self!r}, wordfreq {version('wordfreq')}"  # another edition is another crowd


def _wordfreq() -> Any:
    try:
        import wordfreq
    except ModuleNotFoundError as error:
        raise MissingExtra("Words", "lab", error.name) from error
    return wordfreq
