"""The keeper's table, as a session holds it: one row for each person, columns that filters and questions understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from deniable.central.rows import MOST_ROWS
from deniable.errors import ParameterError


def read_table(data: Any, complete: Sequence[str]) -> pl.DataFrame:
    """The table behind ``data=``: an Arrow table or batch, a Polars frame, or a dict of columns.

    Errors here are for the keeper, who sees the table anyway; afterwards nothing depends on what is in it but answers.
    """
    if isinstance(data, pl.DataFrame):
        table = data
    elif isinstance(data, pa.Table | pa.RecordBatch):
        table = pl.DataFrame(pl.from_arrow(data))
    elif isinstance(data, Mapping):
        try:
            table = pl.DataFrame(dict(data))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            told = str(error).partition("\n")[0]
            raise ParameterError("data", list(data), allowed="columns of one length, each of one type", fix=told) from error
    else:
        allowed = "an Arrow table, a Polars DataFrame or a dict of columns"
        raise ParameterError("data", type(data).__name__, allowed=allowed, fix="collect() a lazy frame first")
    if not table.width or table.height > MOST_ROWS:
        allowed = f"at least one column, and at most {MOST_ROWS:,} rows"
        raise ParameterError("data", f"{table.width} columns, {table.height} rows", allowed=allowed, fix="split the table")
    for name, kind in table.schema.items():
        if _opaque(kind):
            allowed = "columns of a type that values can be compared in"
            raise ParameterError("data", f"{name!r} of type {kind}", allowed=allowed, fix="give it a type, or leave it out")
    for name in complete:
        if (
            isinstance(complete, str)
            or name not in table.columns
            or table[name].null_count()
            or (table[name].dtype.is_float() and table[name].is_nan().any())
        ):
            allowed = "columns in which every row has a value"
            raise ParameterError("complete", name, allowed=allowed, fix="fill in what is missing, or leave the column out of complete=")
    coded = [name for name, kind in table.schema.items() if kind in (pl.Categorical, pl.Enum)]
    return table.with_columns(pl.col(coded).cast(pl.String)) if coded else table


def _opaque(kind: pl.DataType | pl.datatypes.DataTypeClass) -> bool:
    """Whether a type holds Python's own objects, which may fail on anything, or none: that nobody has a value would be told by the type."""
    if isinstance(kind, pl.List | pl.Array):
        return _opaque(kind.inner)
    if isinstance(kind, pl.Struct):
        return any(_opaque(field.dtype) for field in kind.fields)
    return kind in (pl.Object, pl.Null)
