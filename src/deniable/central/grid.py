"""Where answers stand before noise is added: on a grid, with a sensitivity in steps of it.

**Rounding up at a half.** An answer becomes floor(answer / grid + 1/2), in exact arithmetic. Two answers at most D steps apart then stay
within ceil(D) steps. Rounding to even would not keep that: 0.5 and 1.5 would become 0 and 2.

**Vectors.** Rounding moves every entry separately, so a change that is small in each of d entries may become a whole step in each. Vectors
of integers on a grid that they stand on anyway are not moved. Others are accepted only where ``entries`` was stated, which pays for it:
ceil(D) + d - 1 steps of absolute change at most, D + sqrt(d) of Euclidean.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import floor, nextafter
from typing import Any

import numpy as np

from deniable.accounting.event import positive_integer
from deniable.central.rationals import is_rational
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array

LARGEST_STEP = 1 << 61
"""Answers beyond so many steps from 0 are refused: answer and noise must fit 64 bits together."""
SMALLEST, LARGEST = Fraction(1, 1 << 200), Fraction(1 << 200)
"""Of sensitivities and grids, some 60 digits: floats then hold their ratios, squared as well."""


def rational(name: str, value: object) -> Fraction:
    """A sensitivity or a grid as an exact number: of a float, the larger of the binary number it is and the decimal it prints as."""
    number = value.item() if isinstance(value, np.generic) else value
    exact = Fraction(number) if isinstance(number, int | Fraction | Decimal | float) and is_rational(number) else Fraction(0)
    if not SMALLEST <= exact <= LARGEST:
        raise ParameterError(name, value, allowed="a finite number above 0, from 2^-200 to 2^200", fix="check the units")
    return max(exact, Fraction(repr(number))) if isinstance(number, float) else exact


def float_below(value: Fraction) -> float:
    """The largest float that is not above a fraction, read as the binary number that it is and as the decimal that it prints as."""
    nearest = float(value)
    while max(Fraction(nearest), Fraction(repr(nearest))) > value and Fraction(repr(nearest)) != value:
        nearest = nextafter(nearest, 0.0)
    return nearest


def check_entries(entries: object) -> None:
    """Raise unless this is a number of entries."""
    if entries is not None and (type(entries) is not int or not 1 <= entries <= LARGEST_STEP):
        raise ParameterError("entries", entries, allowed="an integer from 1 on, or None", fix="say how many numbers a release has")


def check_count(name: str, value: int) -> None:
    """Refuse what is not an integer from 1 on, or too large to work with."""
    positive_integer(name, value)
    if value > LARGEST_STEP:
        raise ParameterError(name, value, allowed=f"at most {LARGEST_STEP}", fix="choose a smaller number")


def as_numbers(name: str, values: Any) -> Array:
    """An array of integers or of floats up to 64 bits, or a DomainError: longer floats would be rounded where nobody counts on it."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):  # rows of different lengths, numbers of hundreds of digits
        array = np.array(None)
    if array.dtype.kind not in "iu" and array.dtype.char not in "efd":
        raise DomainError(name, values, allowed="integers or floats of 64 bits, in rows of one length", fix="pass numbers, or an array")
    return array


def to_steps(values: Any, grid: Fraction, entries: int | None, *, single: bool = True) -> Array:
    """Answers in steps of the grid, as 64-bit integers; refused where the stated sensitivity would not hold for them.

    ``single`` says whether one number off the grid is accepted without ``entries``.
    """
    array = as_numbers("values", values)
    moved = array.dtype.kind == "f" or grid.numerator != 1
    if entries is not None and array.size > entries:
        raise DomainError(
            "values",
            f"{array.size} numbers",
            allowed=f"at most {entries}, the number in entries=",
            fix="state entries=, the largest number",
        )
    if moved and entries is None and (array.ndim or not single):
        fix = "round them and release integers, or give entries=, their number: rounding changes the sensitivity"
        raise DomainError(
            "values", f"{array.size} numbers off the grid", allowed="integers" + " in an array, or a single number" * single, fix=fix
        )
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise DomainError("values", values, allowed="finite numbers", fix="clamp the data before adding it up")
    limit = Fraction(LARGEST_STEP) * grid
    if array.size and (Fraction(array.max().item()) > limit or Fraction(array.min().item()) < -limit):
        raise DomainError("values", values, allowed=f"within {LARGEST_STEP} steps of 0", fix="choose a coarser grid")
    if not moved and grid.denominator <= LARGEST_STEP:
        return array.astype(np.int64) * grid.denominator
    if array.dtype.kind == "f" and _exact_power(grid):
        return _round_floats(array.astype(np.float64), float(grid))
    rounded = [floor(Fraction(value) / grid + Fraction(1, 2)) for value in array.ravel().tolist()]
    return np.array(rounded, dtype=np.int64).reshape(array.shape)


def from_steps(steps: Array, grid: Fraction, *, whole: bool) -> Any:
    """Grid points as numbers: integers where all of them are, and integers came in."""
    if whole and grid.denominator == 1:
        if steps.size and max(int(np.abs(steps).max()), 1) * grid.numerator >= 1 << 63:
            raise DomainError("grid", float(grid), allowed="so coarse that 64 bits hold all numbers", fix="release floats, or thousands")
        result = steps * grid.numerator
    else:  # as near as floats come; what is rounded here has its noise already
        result = steps / float(grid.denominator) if grid.numerator == 1 else steps * float(grid)
    return result if steps.ndim else result.item()


def _round_floats(values: Array, grid: float) -> Array:
    """Division by a power of two is exact, and so is the part after the point."""
    steps = values / grid
    low = np.floor(steps)
    return (low + (steps - low >= 0.5)).astype(np.int64)


def _exact_power(grid: Fraction) -> bool:
    """Whether the grid is a power of two, not so small or large that dividing by it could leave the range of floats."""
    top, bottom = grid.numerator, grid.denominator
    return (top & (top - 1)) == 0 and (bottom & (bottom - 1)) == 0 and max(top, bottom) <= 1 << 100
