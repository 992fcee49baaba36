"""From rows to exact integers: counts, sums on a grid, ranks. What is computed here never leaves without noise.

Nothing here may fail on a value, nor look at one before it is asked: a null, or a number that is none (NaN), does not match; what lies
outside of the declared range counts as its nearest end; numbers are rounded to the grid. All of that is decided row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10
from typing import Any

import numpy as np
import polars as pl

from deniable.central.condition import column_type
from deniable.central.kinds import WHOLE, typed
from deniable.client.budget import exact
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

LARGEST_KEY = 1 << 29
MOST_ROWS = 1 << 31
"""A sum, also one of distances in half steps, then stays below 2^61, whatever people hold: none can fail for being too large."""
NUMERIC = (*WHOLE, pl.Float32, pl.Float64, pl.Boolean)
SMALLEST = 1e-300
"""Ends of ranges and steps are no smaller in size, unless 0, and their inverses no larger: floats can be computed with."""
FINER = 6
"""Without a grid, numbers that are not whole are rounded to so many digits below the size of their range."""


@dataclass(frozen=True)
class Clip:
    """A declared range on a grid: steps from ``first`` to ``last``."""

    step: Fraction
    first: int
    last: int
    whole: bool
    """Whether nothing is rounded."""

    @classmethod
    def of(cls, kind: pl.DataType, low: Any, high: Any, grid: Any) -> Clip:
        """The range behind ``low=``, ``high=`` and ``grid=`` for a column of a type."""
        ends = [_finite(name, value) for name, value in (("low", low), ("high", high))]
        if not ends[0] < ends[1]:
            raise ParameterError("high", high, allowed=f"above low, {low!r}", fix="declare the range that values are clipped to")
        integers = kind.is_integer() or kind == pl.Boolean
        if grid is None and integers and all(end.denominator == 1 for end in ends):
            step = Fraction(1)
        elif grid is None:
            step = Fraction(10) ** (floor(log10(float(ends[1] - ends[0]))) - FINER)
        else:
            step = _finite("grid", grid)
        if step <= 0 or max(abs(ends[0]), abs(ends[1])) / step > LARGEST_KEY - 1:
            raise ParameterError("grid", grid, allowed=f"above 0, and at most {LARGEST_KEY:,} steps from 0", fix="choose a coarser grid")
        whole = integers and step.numerator == 1
        return cls(step, floor(ends[0] / step), ceil(ends[1] / step), whole)

    @property
    def width(self) -> int:
        """The steps from end to end."""
        return self.last - self.first

    @property
    def identity(self) -> tuple[str, int, int]:
        """What tells it from another."""
        return str(self.step), self.first, self.last

    def keys(self, values: Array) -> Array:
        """Each value in steps: the nearest one, from ``first`` to ``last``."""
        low, high = float(self.first * self.step), float(self.last * self.step)
        if self.step == 1 and values.dtype.kind in "iu":
            values = np.minimum(values, np.uint64(1 << 62)).astype(np.int64) if values.dtype == np.uint64 else values.astype(np.int64)
            return np.asarray(np.clip(values, self.first, self.last))
        steps = np.floor(np.clip(values.astype(np.float64), low, high) / float(self.step) + 0.5)
        return np.asarray(np.clip(steps, self.first, self.last).astype(np.int64))

    def note(self) -> str:
        """What it does to values, in words."""
        rounded = "" if self.whole else f", and are rounded to {_decimal(self.step)}"
        return (
            f"values outside of {_decimal(self.first * self.step)} to {_decimal(self.last * self.step)} count as the nearest end{rounded}"
        )


def numbers(table: pl.DataFrame, column: str, matching: Array) -> Array:
    """The numbers in a column among the matching rows, those that have one."""
    series = table[column].filter(pl.Series(matching)).drop_nulls()
    if series.dtype.is_float():
        series = series.drop_nans()
    return np.asarray(series.to_numpy().astype(np.int64) if series.dtype == pl.Boolean else series.to_numpy())


def numeric(table: pl.DataFrame, column: str) -> pl.DataType:
    """The type of a column of numbers."""
    kind = column_type(column, table.schema)
    if kind not in NUMERIC:
        allowed = "a column of integers of up to 64 bits, floats or booleans"
        raise ParameterError("column", f"{column!r} of type {kind}", allowed=allowed, fix="convert the column before the session opens")
    return kind


def listed(table: pl.DataFrame, column: str, values: Sequence[Any]) -> pl.Series:
    """The values to count, each once: a series of the column's own type, so that no two of them can mean the same rows."""
    held = column_type(column, table.schema)
    kind: Any = held.inner if isinstance(held, pl.List) else held
    if kind.is_nested() or kind.is_float():
        allowed = "a column of values that can be counted"
        raise ParameterError("column", f"{column!r} of type {held}", allowed=allowed, fix="add a column of groups before the session opens")
    made = typed("values", values if isinstance(values, list | tuple | range | np.ndarray | pl.Series) else (), kind)
    if not made.len() or made.n_unique() != made.len():
        allowed = "a list of different values"
        raise ParameterError("values", values, allowed=allowed, fix="list the values that may occur: which ones do occur is private")
    return made


def counts(table: pl.DataFrame, column: str, matching: Array, values: pl.Series) -> Array:
    """How many matching rows hold each value; of a list, whether it is in it."""
    series = table[column].filter(pl.Series(matching))
    if isinstance(series.dtype, pl.List):
        series = series.list.unique().list.explode()
    found = pl.DataFrame({"value": series}).group_by("value").len("people")
    joined = pl.DataFrame({"value": values}).with_row_index("place").join(found, on="value", how="left").sort("place")
    return joined["people"].fill_null(0).to_numpy().astype(np.int64)


def grid_points(low: Any, high: Any, steps: int) -> list[Any]:
    """The points from low to high, so many steps apart."""
    start, end = _finite("low", low), _finite("high", high)
    if not start < end:
        raise ParameterError("high", high, allowed=f"above low, {low!r}", fix="declare the range that quantiles are chosen from")
    found = [start + (end - start) * i / steps for i in range(steps + 1)]
    return [int(point) for point in found] if all(point.denominator == 1 for point in found) else [float(point) for point in found]


def places(values: Array, points: list[Any]) -> Array:
    """How many values are counted at each point: the first one at or above them, the last one for what is above all."""
    found = np.minimum(np.searchsorted(np.asarray(points, dtype=float), values.astype(float), side="left"), len(points) - 1)
    return np.bincount(found, minlength=len(points))


def _finite(name: str, value: Any) -> Fraction:
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) not in (int, float) or not (plain == 0 or SMALLEST <= abs(plain) <= 1 / SMALLEST):
        allowed = f"a finite number: 0, or {SMALLEST:g} to {1 / SMALLEST:g} in size"
        raise ParameterError(name, value, allowed=allowed, fix="declare it: looking it up in the data would not be private")
    return exact(plain)


def _decimal(number: Fraction) -> str:
    return f"{float(number):.10g}"
