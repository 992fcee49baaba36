"""Numbers as the rationals that they are; an epsilon that has two readings is read toward privacy.

A float is a binary number, and also the decimal that it prints as; an epsilon is the smaller of the two. Data are taken as the binary
numbers that they are: the sensitivity must hold for the numbers as they are passed, and sums of floats are rounded. Pass integers or
fractions where you can.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite
from typing import Any

import numpy as np

from deniable.contract.probability import exact_epsilon
from deniable.errors import DomainError, ParameterError


def exact_utilities(utilities: Sequence[Any] | np.ndarray[Any, Any]) -> list[Fraction]:
    """The utilities as the rationals that they are; DomainError, with its place, for what is none."""
    listed = utilities.tolist() if isinstance(utilities, np.ndarray) else list(utilities)
    if not listed:
        raise ParameterError("utilities", listed, allowed="one or more", fix="there must be something to choose from")
    for place, utility in enumerate(listed):
        if isinstance(utility, bool) or not _rational(utility):
            fix = "say how good each candidate is, by a finite number"
            raise DomainError("utilities", f"{utility!r} at {place}", allowed="integers, fractions or finite floats", fix=fix)
    return [_fraction(utility) for utility in listed]


def exact_number(name: str, value: object) -> Fraction:
    """A number as the rational that it is; DomainError for what is none."""
    if isinstance(value, bool) or not _rational(value):
        raise DomainError(name, value, allowed="an integer, fraction or finite float", fix="compute it first")
    return _fraction(value)


def exact_rate(epsilon: float) -> Fraction:
    """The epsilon that a float promises, as a rational: the smaller of the decimal and the binary reading."""
    return Fraction(exact_epsilon(epsilon))


def _rational(value: object) -> bool:
    return isinstance(value, int | Fraction | np.integer) or (isinstance(value, float | Decimal | np.floating) and isfinite(value))


def _fraction(value: Any) -> Fraction:
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def on_grid(value: Fraction, grid: Fraction) -> int:
    """The nearest point of a grid, in its steps; half-way points go up, always.

    So numbers that are d apart become integers that are at most d / grid apart, rounded up. Rounding half to even would break this: 0.5
    and 1.5 would become 0 and 2.

    >>> on_grid(Fraction(1, 2), Fraction(1)), on_grid(Fraction(3, 2), Fraction(1)), on_grid(Fraction(-1, 2), Fraction(1))
    (1, 2, 0)
    """
    return floor(value / grid + Fraction(1, 2))
