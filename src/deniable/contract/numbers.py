"""Numbers and points in time in a declared range, and the grid that stands for them on the wire.

The grid has ``steps`` equal steps from low to high; its points are the keys 0..steps. A value between two points goes to one of them at
random, to the nearer one more often, so that on average it is exactly what it was. All of this is exact: a float is the rational number
that it stores, and the draw has exactly that number's probability.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar

from deniable.contract.domain import DOMAINS, Domain, _integer
from deniable.contract.form import Form
from deniable.contract.record import wire
from deniable.contract.source import Source
from deniable.errors import ParameterError, WireError

USUAL_STEPS = 1 << 15
"""Fine enough for rounding to cost next to nothing, coarse enough for a noisy point to fit 16 bits."""
LARGEST_STEPS = 1 << 16
_LONGEST = 2200
"""The bits of the largest exact numerator or denominator: more than any sum of two doubles has."""
_LARGEST = Fraction(1 << 500)
"""Beyond it, or closer together than its inverse, the squares of distances would not fit a double."""
_RATIO = re.compile(r"(0|-?[1-9][0-9]*)(/[1-9][0-9]*)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _read_bound(noun: str, text: object) -> Any:
    try:
        if isinstance(text, str) and len(text) <= _LONGEST:
            if "T" in text:
                return _bound(datetime.fromisoformat(text))
            if _RATIO.fullmatch(text):  # Fraction would also take "1e999999999", and not come back
                return Fraction(text)
    except (ValueError, OverflowError):
        pass  # reported below
    raise WireError(noun, text, allowed="a fraction such as '-1' or '1/2', or a datetime in ISO 8601", fix="publish it again")


BOUND = Form(lambda bound: bound.isoformat() if isinstance(bound, datetime) else str(bound), _read_bound)
"""An end of a range: an exact fraction, or a point in time."""


@DOMAINS.add
@dataclass(frozen=True, repr=False)
class Numbers(Domain):
    """Numbers from low to high, both included, on a grid of ``steps`` steps; or points in time, where both are datetimes.

    Integers, floats, Decimals and Fractions are allowed, and read exactly; of 0 and 1, ``False`` and ``True`` as well. A value out of
    range is refused. With ``clip=True`` it counts as the nearest end instead, and means are means of clipped values.

    If ``steps`` is left out it is 32,768, or, where low and high are integers, the largest multiple of high - low that is not above it:
    then integers are points of the grid.

    >>> ages = Numbers(0, 120)
    >>> ages.steps, ages.key(60), ages.value(16380)
    (32760, 16380, 60)
    >>> Numbers(-1.5, 2, steps=7).key(0.25), Numbers(0, 1, clip=True).position(17)
    (4, Fraction(32768, 1))
    """

    low: Any = field(metadata=wire(form=BOUND))
    high: Any = field(metadata=wire(form=BOUND))
    steps: int = None  # type: ignore[assignment]  # resolved below
    clip: bool = field(default=False, metadata=wire(omit=False))
    kind: ClassVar[str] = "numbers"

    def __post_init__(self) -> None:
        low, high = (_bound(bound) for bound in (self.low, self.high))
        known = low is not None and high is not None and _is_aware(low) == _is_aware(high) and low < high
        if not known or (isinstance(low, Fraction) and high - low < 1 / _LARGEST):
            raise ParameterError(
                "low, high",
                (self.low, self.high),
                allowed="two finite numbers up to 2^500, or two datetimes (both with a time zone or both without), low < high",
                fix="declare the range that answers may have, before anyone is asked",
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.steps is None:
            object.__setattr__(self, "steps", _usual_steps(low, high))
        steps = _integer(self.steps)
        if steps is None or not 1 <= steps <= LARGEST_STEPS:
            raise ParameterError("steps", self.steps, allowed=f"an integer from 1 to {LARGEST_STEPS}", fix="leave it out for a fine grid")
        object.__setattr__(self, "steps", steps)
        if not isinstance(self.clip, bool):
            raise ParameterError(
                "clip", self.clip, allowed="True or False", fix="pass True to count values out of range as the nearest end"
            )

    def __repr__(self) -> str:
        shown = [repr(bound) if self.times else str(_plainest(bound)) for bound in (self.low, self.high)]
        return f"Numbers({', '.join([*shown, f'steps={self.steps}', *(['clip=True'] if self.clip else [])])})"

    @property
    def size(self) -> int:
        return self.steps + 1

    @property
    def times(self) -> bool:
        """Whether the values are points in time; then numbers are seconds since 1970."""
        return isinstance(self.low, datetime)

    @cached_property
    def start(self) -> Fraction:
        """The number at low."""
        return _seconds(self.low) if self.times else self.low

    @cached_property
    def width(self) -> Fraction:
        """The distance from low to high."""
        return (_seconds(self.high) if self.times else self.high) - self.start

    def number(self, value: Any) -> Fraction:
        """Return a value as an exact number, whether it is in range or not; DomainError if it is none."""
        if isinstance(value, datetime):
            if self.times and _is_aware(value) == _is_aware(self.low):
                return _seconds(value)
        elif not self.times:
            found = Fraction(value) if isinstance(value, bool) and (self.low, self.high) == (0, 1) else exact_number(value)
            if found is not None:
                return found
        raise self.refuse(value)

    def place(self, number: Fraction) -> Fraction | None:
        """Return where a number lies on the grid, from 0 to ``steps``; None if it is out of range."""
        share = (number - self.start) / self.width
        if not 0 <= share <= 1:
            return Fraction(self.steps if share > 1 else 0) if self.clip else None
        return share * self.steps

    def position(self, value: Any) -> Fraction:
        """Return where a value lies on the grid, from 0 to ``steps``; DomainError if it is not allowed."""
        place = self.place(self.number(value))
        if place is None:
            raise self.refuse(value)
        return place

    def key(self, value: Any) -> int:
        """Return the nearest grid point, the upper one of two; for checks and histograms. Mechanisms use ``draw``."""
        return (self.position(value) + Fraction(1, 2)).__floor__()

    def draw(self, value: Any, source: Source) -> int:
        """Return one of the two neighboring grid points, so that the expectation is the value; see ``round_at_random``."""
        return round_at_random(self.position(value), source)

    def value(self, key: int) -> Hashable:
        """Return the value at a key, a grid point: an integer if it is one, else a Fraction, or a datetime to the microsecond."""
        exact = self.start + self.width * key / self.steps
        return self.low + round((exact - self.start) * 10**6) * _MICROSECOND if self.times else _plainest(exact)

    def shown(self, number: float) -> Any:
        """Return a number that was estimated, as people write values: a float, or a datetime; None where there is none."""
        if not self.times:
            return number
        return self.low + timedelta(seconds=number - float(self.start)) if isfinite(number) else None

    def shown_distance(self, number: float) -> Any:
        """Return a distance of two numbers: a float, or a timedelta."""
        return timedelta(seconds=number) if self.times and isfinite(number) else number

    def spans(self, low: int, high: int) -> bool:
        return not self.times and bool(self.low <= low and high <= self.high)

    def describe(self) -> str:
        ends = [bound.isoformat() if self.times else str(_plainest(bound)) for bound in (self.low, self.high)]
        kind = f"points in time {'with' if _is_aware(self.low) else 'without'} a time zone" if self.times else "finite numbers"
        return f"{kind}{', clipped to the range' if self.clip else ''} from {ends[0]} to {ends[1]}"


def round_at_random(place: Fraction, source: Source) -> int:
    """Return one of the two integers around ``place``, with the expectation ``place``. Always consumes ``bernoulli_ratio``'s words."""
    point, rest = divmod(place.numerator, place.denominator)
    return point + source.bernoulli_ratio(rest, place.denominator)


def exact_number(value: object) -> Fraction | None:
    """Return the rational number that a value is; None for what is no finite number, and for booleans."""
    whole = _integer(value)
    if whole is not None:
        return Fraction(whole) if whole.bit_length() <= _LONGEST else None
    if isinstance(value, Decimal) and value.is_finite() and max(abs(value.adjusted()), len(value.as_tuple().digits)) > _LONGEST // 4:
        return None  # a few characters that stand for a number of a billion digits
    if isinstance(value, bool | type) or not hasattr(value, "as_integer_ratio"):
        return None
    try:
        found = Fraction(*(int(part) for part in value.as_integer_ratio()))
    except (OverflowError, ValueError):  # infinite, or not a number
        return None
    return found if max(found.numerator.bit_length(), found.denominator.bit_length()) <= _LONGEST else None


def _bound(value: object) -> Any:
    if not isinstance(value, datetime):
        exact = exact_number(value)
        return exact if exact is not None and abs(exact) < _LARGEST else None
    return value.astimezone(UTC) if _is_aware(value) else value.replace(fold=0)


def _is_aware(value: object) -> object:
    """Return whether a point in time has a time zone; None for numbers."""
    return value.utcoffset() is not None if isinstance(value, datetime) else None


def _seconds(value: datetime) -> Fraction:
    """Return exact seconds since 1970, in UTC, or by the clock on the wall where no time zone is known."""
    return Fraction((value - (_EPOCH if _is_aware(value) else _EPOCH.replace(tzinfo=None))) // _MICROSECOND, 10**6)


def _usual_steps(low: Any, high: Any) -> int:
    width = high - low
    whole = isinstance(low, Fraction) and low.denominator == high.denominator == 1 and width <= USUAL_STEPS
    return USUAL_STEPS // int(width) * int(width) if whole else USUAL_STEPS


def _plainest(exact: Fraction) -> int | float | Fraction:
    """Return the same number in the plainest form there is."""
    if exact.denominator == 1 and abs(exact) < 1 << 64:
        return int(exact)
    return float(exact) if Fraction(float(exact)) == exact else exact
