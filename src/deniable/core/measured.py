"""Numbers with an error law, in a table: what they are about, how far off they may be, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import Numbers
from deniable.contract.readable import confidence
from deniable.core.interval import check_level
from deniable.core.law import Law
from deniable.core.screening import ALPHA, Screening, marked
from deniable.core.table import Table, as_column, value_text
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

CHANGE = "change"
"""The quantity of estimates of a difference."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Measured(Table):
    """A table of numbers about a list of ``values``, and a ``law`` that knows how far each may be off: what every ``Estimate`` is."""

    values: Sequence[Any]
    """The values that the numbers are about."""
    law: Law
    """The numbers and their errors."""
    about: str
    """Where the numbers come from, in a few words: the start of the headline."""
    guarantee: Guarantee | None = None
    """The guarantee of a person who took part."""
    quantity: str = "estimate"
    """What the numbers are called where they are shown."""
    family_size: int = 0
    """The number of values that simultaneous statements cover: all that were estimated, also when only the top ones are kept."""
    covers: str = "noise only"
    """What intervals are about, in words."""
    bias: str | None = None
    """How the numbers may be biased; None if they are not."""
    title: str = ""
    """What was asked, where that has a name."""
    axes: tuple[str, ...] = ("value",)
    """What a value is made of: with other axes than this one every value is a tuple, and is shown in a column for each."""
    shown_as: Sequence[str] = ()
    """How the values are shown, where this is not as they are."""
    screening: Screening | None = None
    """What a search tested and dropped before it named these values; None where the values were listed beforehand."""

    spec: Any = None
    """The mechanism of the reports, or what else promised the ``guarantee``; None where nothing single did."""
    kind: str = "estimate"
    """What sort of estimate this is: only those of one kind are compared."""
    falling: bool = False
    """Whether the largest number comes first where values are shown."""
    far_first: bool = False
    """Whether numbers far from 0 come first where values are shown."""
    single: bool = False
    """True for a single number: then errors and limits are numbers, not lists."""
    unit: Numbers | None = None
    """The range whose units the numbers are in, where they may be points in time; None for plain numbers."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further columns by name, an entry for each value; shown after the limits."""
    remarks: tuple[str, ...] = ()
    """What else to know about the numbers, in a line each below the table."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family_size", self.family_size or len(self.values))

    # --- the numbers and their errors ---

    @property
    def n(self) -> Any:
        """The number of people who reported; None where that is private."""
        return self.law.n

    @property
    def point(self) -> Array:
        """The estimated numbers."""
        return self.law.point

    @cached_property
    def stderr(self) -> Any:
        """The standard error of each number: the noise, for the people who reported."""
        return self._distance(self.law.stderr)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False, population: bool = False) -> tuple[Any, Any]:
        """Return limits (low, high) for each number.

        They cover what ``covers`` says, mostly the mechanism's noise; with ``population=True`` also that the people are a sample, for
        statements about everyone like them. ``simultaneous=True`` makes all of them hold at once (Bonferroni).
        """
        check_level("level", level)
        if self.law.level is not None and level != self.law.level:
            fix = "ask for the level in the question: these limits were released with their own noise"
            raise ParameterError("level", level, allowed=f"{self.law.level}, the level of the question", fix=fix)
        family = max(self.family_size, 1) if simultaneous else 0
        limits = self.law.limits((1 - level) / max(family, 1), family=family, population=population)
        return self._shown(limits[0]), self._shown(limits[1])

    def significant(self, alpha: float = ALPHA, method: str = "familywise") -> Array:
        """Return which values are significant: a test of "nobody holds it", corrected for all estimated values.

        ``method`` is "familywise": the chance that any value is marked that nobody holds is alpha at most (Bonferroni); these are the
        values whose simultaneous interval excludes 0. Or it is "benjamini-yekutieli": of the values that are marked, the expected share
        that nobody holds is alpha at most, however the numbers depend on each other (Benjamini and Yekutieli 2001).
        """
        check_level("alpha", alpha)
        return marked(self.law, max(self.family_size, 1), alpha, method) if len(self.values) else np.zeros(0, dtype=bool)

    # --- units ---

    def _shown(self, numbers: Array) -> Any:
        """Numbers in the units that people see; a change is a distance."""
        if self.quantity == CHANGE:
            return self._distance(numbers)
        return self._each(numbers, None if self.unit is None else self.unit.shown)

    def _distance(self, numbers: Array) -> Any:
        """Differences of numbers in the units that people see."""
        return self._each(numbers, None if self.unit is None else self.unit.shown_distance)

    def _each(self, numbers: Array, shown: Callable[[float], Any] | None) -> Any:
        found = numbers if shown is None else [shown(float(number)) for number in numbers]
        return (float(found[0]) if shown is None else found[0]) if self.single else found

    # --- what people see ---

    @property
    def picked(self) -> bool:
        """True if this is a subset of the estimated values: then views show intervals that hold for all of those."""
        return len(self.values) < self.family_size

    @property
    def together(self) -> bool:
        """True if the limits that views show hold for all estimated values at once."""
        return self.picked

    @property
    def out_of(self) -> float | None:
        """What the numbers are parts of, where they can be read as shares; None where they cannot."""
        return None

    @property
    def labels(self) -> list[Any]:
        """The values as they are shown."""
        return list(self.shown_as) or [value_text(value) if isinstance(value, tuple) else value for value in self.values]

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The axes as their columns are called: people name axes, and one may have the name of a column of numbers."""
        taken = {self.quantity, "stderr", "low", "high", "significant", *self.further()}
        return tuple(f"{name} (value)" if name in taken else name for name in self.axes)

    def _named(self) -> dict[str, Any]:
        """The columns that say what the numbers are about."""
        if self.axes == ("value",):
            return {"value": self.labels}
        return {name: [value[place] for value in self.values] for place, name in enumerate(self.axis_names)}

    def further(self) -> dict[str, Any]:
        """Columns after the limits."""
        return dict(self.details)

    @property
    def shown_level(self) -> float | None:
        """The level of the limits that views show; None where no interval is known."""
        return None if self.law.why else self.law.level or 0.95

    def rows(self) -> dict[str, Any]:
        rows = {**self._named(), self.quantity: as_column(self._shown(self.point))}
        if not np.isnan(self.law.stderr).all() or not len(self.values):
            rows["stderr"] = as_column(self.stderr)
        if self.shown_level is None:
            return rows | self.further()
        low, high = self.interval(self.shown_level, simultaneous=self.together)
        rows |= {"low": as_column(low), "high": as_column(high), **self.further()}
        return rows | {"significant": self.significant()} if self.picked and self.screening is None else rows  # a search names no others

    def headline(self) -> str:
        together = f" for all {self.family_size:,} values together" if self.together else ""
        level = self.shown_level
        limits = self.law.why if level is None else f"low and high: {confidence(level)}{together}, {self.covers}"
        return "\n".join(filter(None, (f"{self.about}; {limits}", self.bias)))

    def order(self) -> Array:
        if not (self.falling or self.far_first):
            return np.arange(len(self.values))
        return np.argsort(-np.abs(self.point) if self.far_first else -self.point, kind="stable")

    def notes(self) -> list[str]:
        searched = () if self.screening is None else (self.screening.told(len(self.values)), self.screening.how)
        return [*filter(None, (*self.remarks, *searched))]
