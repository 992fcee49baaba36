"""Numbers as the rationals that they are; an epsilon that has two readings is read toward privacy.

A float is a binary number, and also the decimal that it prints as; an epsilon is the smaller of the two. Data are taken as the binary
numbers that they are: the sensitivity must hold for the numbers as they are passed, and sums of floats are rounded. Pass integers or
fractions where you can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite
from typing import Any

import numpy as np

from deniable.contract.probability import exact_epsilon
from deniable.errors import DomainError, ParameterError

MOST_DIGITS = 1000
"""Of a decimal number, before or after the point."""


def exact_utilities(utilities: Sequence[Any] | np.ndarray[Any, Any]) -> list[Fraction]:
    """The utilities as the rationals that they are; DomainError, with its place, for what is none."""
    found = listed("utilities", utilities)
    if not found:
        raise ParameterError("utilities", found, allowed="at least one", fix="pass at least one candidate")
    for place, utility in enumerate(found):
        if not is_rational(utility):
            fix = "give each candidate a finite number that says how good it is"
            raise DomainError("utilities", f"{utility!r} at {place}", allowed="integers, fractions or finite floats", fix=fix)
    return [_fraction(utility) for utility in found]


def listed(name: str, values: Any) -> list[Any]:
    """The entries of a sequence or an array; DomainError for what has none."""
    found = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(found, Iterable):
        raise DomainError(name, values, allowed="a list or an array", fix="write [5] for a single one")
    return list(found)


def exact_number(name: str, value: object) -> Fraction:
    """A number as the rational that it is; DomainError for what is none."""
    if not is_rational(value):
        raise DomainError(name, value, allowed="an integer, fraction or finite float", fix="compute it first")
    return _fraction(value)


def exact_rate(epsilon: float) -> Fraction:
    """The epsilon that a float promises, as a rational: the smaller of the decimal and the binary reading."""
    return Fraction(exact_epsilon(epsilon))


def is_rational(value: object) -> bool:
    """Whether a value is a finite number, of Python or NumPy, and not a truth value."""
    if isinstance(value, Decimal):  # of 1e1000000000 the fraction would fill the memory
        return value.is_finite() and abs(value.adjusted()) <= MOST_DIGITS
    if isinstance(value, float | np.floating):
        return bool(isfinite(value) if isinstance(value, float) else np.isfinite(value))
    return isinstance(value, int | Fraction | np.integer) and not isinstance(value, bool)


def _fraction(value: Any) -> Fraction:
    return (
        Fraction(*value.as_integer_ratio())
        if isinstance(value, np.floating)
        else Fraction(int(value) if isinstance(value, np.integer) else value)
    )


def on_grid(value: Fraction, grid: Fraction) -> int:
    """The nearest point of a grid, in its steps; half-way points go up, always.

    So numbers that are d apart become integers that are at most d / grid apart, rounded up. Rounding half to even would break this: 0.5
    and 1.5 would become 0 and 2.

    >>> on_grid(Fraction(1, 2), Fraction(1)), on_grid(Fraction(3, 2), Fraction(1)), on_grid(Fraction(-1, 2), Fraction(1))
    (1, 2, 0)
    """
    return floor(value / grid + Fraction(1, 2))
