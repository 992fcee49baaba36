"""Types of columns: which may be compared with each other, what they hold at most, and lists of values that are exactly of one.

Polars converts what it compares, quietly where it can, and some conversions fail on some values or bring different ones together. So types
are compared only with their own: numbers of up to 64 bits with numbers, everything else with the identical type, unit and time zone
included. A list of values has to come back from its type as it went in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from deniable.errors import ParameterError

WHOLE = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
NUMBER = "number"
SAME = (pl.Boolean, pl.String, pl.Date, pl.Time, pl.Datetime, pl.Duration)
_COUNTED: dict[Any, Any] = {pl.Date: (pl.Int32, -(2**31), 2**31 - 1), pl.Time: (pl.Int64, 0, 86_399_999_999_999)}
_LONGEST = (pl.Int64, 1 - 2**63, 2**63 - 1)


def family(kind: pl.DataType) -> Any:
    """What a type may be compared with: ``NUMBER``, or the type itself; None if with nothing."""
    if kind in (*WHOLE, pl.Float32, pl.Float64):
        return NUMBER
    return kind if kind in SAME else None


def extremes(schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """A table that nobody is in: the least and the largest value of each column's type, and a row of nulls.

    >>> extremes({"age": pl.Int8(), "city": pl.String()})["age"].to_list()
    [-128, 127, None]
    """
    return pl.DataFrame({name: _ends(kind) for name, kind in schema.items()})


def _ends(kind: pl.DataType) -> pl.Series:
    if kind in WHOLE:
        bits, signed = 8 * np.dtype(str(kind).lower()).itemsize, kind.is_signed_integer()
        return pl.Series([-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1, None], dtype=kind)
    if kind.is_temporal():
        stored, low, high = _COUNTED.get(type(kind), _LONGEST)
        return pl.Series([low, high, None], dtype=stored).cast(kind)
    ends: dict[Any, list[Any]] = {
        pl.Float32: [-np.inf, np.nan],
        pl.Float64: [-np.inf, np.nan],
        pl.Boolean: [False, True],
        pl.String: ["", "\U0010ffff" * 20],
    }
    return pl.Series([*ends.get(type(kind), [None, None]), None], dtype=kind)


def typed(parameter: str, values: Iterable[Any], kind: pl.DataType) -> pl.Series:
    """Values as a series of a type, none of them missing or changed on the way; ParameterError otherwise.

    Only floats are rounded to their type. Whether values differ is asked of the series: in Python, a time with a zone and one without do.
    """
    found = [value.item() if isinstance(value, np.generic) else value for value in values]
    try:
        if isinstance(values, pl.Series) and values.dtype != kind:
            raise TypeError(f"a series of {values.dtype}")
        if any(value is None for value in found):
            raise TypeError("a value is missing")
        if any(isinstance(value, bool) != (kind == pl.Boolean) for value in found):
            raise TypeError("booleans are not numbers here")
        made = pl.Series(found, dtype=kind, strict=True)
        if made.dtype != kind or not (kind.is_float() or made.to_list() == found):
            raise TypeError("some would be rounded or converted")
        if isinstance(values, pl.Series) and not made.equals(values, check_names=False):
            raise TypeError("some are finer than Python's own types")
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        why = str(error).partition("\n")[0]
        raise ParameterError(parameter, values, allowed=f"values of the column's type, {kind}", fix=f"check their type: {why}") from error
    return made
