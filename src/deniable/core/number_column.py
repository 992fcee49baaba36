"""From a column of people's numbers to positions on the grid, checked as a whole before anything is drawn.

Rounding must be exact, and fast. A kernel computes each position in double precision, with an error of at most ``slack``. Where the random
word leaves any doubt about which way a value goes, about once in 2^30 values, the kernel stops, and that person is served by the scalar
code, in exact arithmetic and from the same words (``ArraySource``). So scalar and bulk agree always, not almost always.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, inf, nextafter
from typing import Any

import numpy as np

from deniable.contract.numbers import Numbers
from deniable.errors import DomainError
from deniable.kernels.compiled import Array

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """Allowed numbers: nearly as doubles, exactly one by one, and how positions follow from the doubles."""

    domain: Numbers
    given: Array
    """Doubles, or 64-bit integers."""
    exactly: Callable[[int], Fraction]
    exact: bool = False
    """Whether the doubles are the very numbers."""

    @cached_property
    def nearly(self) -> Array:
        """The numbers as doubles."""
        return np.asarray(self.given, dtype=np.float64)

    def exact_place(self, person: int) -> Fraction:
        """A person's exact position on the grid."""
        place = self.domain.place(self.exactly(person))
        if place is None:
            raise self.domain.refuse(None, person)
        return place

    def grid(self) -> tuple[float, float, float, float]:
        """What ``kernels.numbers.draw_point`` takes: start, scale, steps and slack."""
        return self.start, self.scale, float(self.domain.steps), self.slack

    @property
    def start(self) -> float:
        """What to subtract from a double ..."""
        return float(self.domain.start)

    @property
    def scale(self) -> float:
        """... and what to multiply it with then, for its position."""
        return float(self.domain.steps / self.domain.width)

    @property
    def slack(self) -> float:
        """How far a position so computed, less a random number below 1, may be off.

        Each of the value, start, their difference, the scale, the product and the random number is rounded once, by 2^-53 of itself.
        """
        largest = max(abs(self.domain.start), abs(self.domain.start + self.domain.width))
        return float((largest / self.domain.width + 2) * self.domain.steps / 2**51)


def number_column(domain: Numbers, values: Any) -> NumberColumn:
    """A column of numbers, or a DomainError that names the first bad value and its position.

    >>> number_column(Numbers(0, 10), [1, 2.5, 10]).nearly
    array([ 1. ,  2.5, 10. ])
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise domain.refuse(None, int(np.ma.getmaskarray(values).argmax()))
    column = _array(values)
    if column.ndim != 1:
        raise DomainError("values", f"an array of shape {column.shape}", allowed="one value per person", fix="pass one column")
    if column.size == 0:
        return NumberColumn(domain, np.zeros(0), Fraction)
    listed = isinstance(values, list | tuple)
    if domain.times and column.dtype.kind == "M":
        return _times(domain, column)
    truths = column.dtype.kind == "b" and (domain.low, domain.high) == (0, 1)
    if (
        domain.times
        or not (column.dtype.kind in "iuf" or truths)
        or column.dtype.itemsize > 8
        or (listed and not _uniform(values, column.dtype.kind))
    ):
        return _one_by_one(domain, values if listed else column.tolist() if column.dtype.kind != "O" else list(column))
    ends = (column.min(), column.max())  # nan is both, where there is one
    inside = _inside(domain, *(end.item() for end in ends)) if np.all(np.isfinite(ends)) else False
    if not inside:
        position = int(np.argmax(_bad(domain, column)))
        raise domain.refuse(column[position].item(), position)
    given = np.ascontiguousarray(column, dtype=np.int64 if _fits(column.dtype) else np.float64)
    exact = column.dtype.kind in "fb" or max(abs(end.item()) for end in ends) <= 2**53
    return NumberColumn(domain, given, lambda i: Fraction(column[i].item()), exact)


def nearest_points(domain: Numbers, values: Any) -> Array:
    """The nearest grid point of each value, as ``Numbers.key`` has it; for checks and histograms."""
    column = number_column(domain, values)
    with np.errstate(over="ignore"):  # what is too large for doubles lies beyond the range, and is clipped
        place = np.clip((column.nearly - column.start) * column.scale, 0.0, domain.steps) + 0.5
    points = np.floor(place)
    for i in np.flatnonzero(np.abs(place - np.rint(place)) <= column.slack):  # too near to the middle of two points for doubles
        points[i] = floor(column.exact_place(int(i)) + Fraction(1, 2))
    return points.astype(np.uint64)


def _array(values: Any) -> Array:
    """The column as an array, whatever holds it; things that are no numbers stay as they are."""
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise DomainError("values", type(values).__name__, allowed="a column with one value per person", fix="pass a list or an array")
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    try:
        column = np.asarray(values)
    except (ValueError, OverflowError, TypeError):  # lists in lists, integers of many digits
        column = np.empty(0, dtype=object)
    if column.ndim != 1 or column.dtype.kind not in "iufb":
        column = np.empty(len(values), dtype=object)
        column[:] = values
    return column


def _uniform(values: Any, made: str) -> bool:
    """Whether an array of the kind that was made holds the very numbers of a list; among others it would change 2^60 + 1, and True."""
    kinds = set(map(type, values))
    if kinds <= {float} or kinds <= {bool} or (kinds <= {int} and made in "iu"):
        return True
    return kinds <= {int, float} and all(abs(value) <= 2**53 for value in values)


def _fits(dtype: np.dtype[Any]) -> bool:
    """Whether these are integers, all of which 64 bits with a sign hold."""
    return dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize < 8)


def _inside(domain: Numbers, low: Any, high: Any) -> bool:
    return domain.clip or (domain.start <= Fraction(low) and Fraction(high) <= domain.start + domain.width)


def _bad(domain: Numbers, column: Array) -> Array:
    """Which values are refused; the limits are the outermost doubles in range."""
    if column.dtype.kind == "f" or domain.clip:
        first, last = float(domain.start), float(domain.start + domain.width)
        first = nextafter(first, inf) if Fraction(first) < domain.start else first
        last = nextafter(last, -inf) if Fraction(last) > domain.start + domain.width else last
        with np.errstate(invalid="ignore"):
            return ~np.isfinite(column) if domain.clip else ~((column >= first) & (column <= last))
    return np.array([not _inside(domain, number, number) for number in column.tolist()])


def _one_by_one(domain: Numbers, values: list[Any]) -> NumberColumn:
    """Decimals, Fractions, datetimes, and columns that mix them."""
    nearly = np.empty(len(values))
    for position, value in enumerate(values):
        try:
            domain.position(value)
        except DomainError:
            raise domain.refuse(value, position) from None
        nearly[position] = _double(domain.number(value))
    return NumberColumn(domain, nearly, lambda i: domain.number(values[i]))


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:  # clipped
        return inf if number > 0 else -inf


def _times(domain: Numbers, column: Array) -> NumberColumn:
    """NumPy's points in time, which have no time zone of their own: they are in the domain's."""
    unit = np.datetime_data(column.dtype)[0]
    if unit not in _UNITS:
        column, unit = column.astype("datetime64[us]"), "us"
    ticks, second = column.astype(np.int64), _UNITS[unit]
    bad = np.isnat(column)
    if not domain.clip:
        bad |= (ticks < ceil(domain.start * second)) | (ticks > floor((domain.start + domain.width) * second))
    if np.any(bad):
        position = int(np.argmax(bad))
        raise domain.refuse(str(column[position]), position)
    return NumberColumn(domain, ticks / second, lambda i: Fraction(int(ticks[i]), second))
