"""The estimate: values with estimated numbers and their errors, in one form for every mechanism, protocol and trust model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import Numbers
from deniable.core.figure import Figure
from deniable.core.interval import check_level
from deniable.core.law import Law
from deniable.core.rounding import level_text
from deniable.core.screening import ALPHA, Screening, marked
from deniable.core.table import Table, as_column, row_numbers, value_text
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array
from deniable.removed import ITSELF, missing_member

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.comparison import Comparison
    from deniable.core.number import NumberEstimate


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimate(Table):
    """Numbers for a list of ``values``, with a ``law`` that knows how far each may be off. Subclasses only add verbs.

    Single estimates may be impossible, such as negative counts; that is what makes their sums right.
    """

    values: Sequence[Any]
    """What the numbers are about."""
    law: Law
    """The numbers and their errors."""
    about: str
    """Where the numbers come from, in a few words: the start of the headline."""
    guarantee: Guarantee | None = None
    """What taking part cost a person."""
    quantity: str = "estimate"
    """What the numbers are called where they are shown."""
    family_size: int = 0
    """How many values simultaneous statements are about: all that were estimated, also when only the top ones are kept."""
    covers: str = "noise only"
    """What intervals are about, in words."""
    bias: str | None = None
    """How the numbers may be biased; None if they are not."""
    parts: Mapping[str, Estimate] = field(default_factory=dict)
    """Further estimates that belong to this one, by name."""
    title: str = ""
    """What was asked, where that has a name."""
    axes: tuple[str, ...] = ("value",)
    """What a value is made of: with other axes than this one every value is a tuple, and is shown in a column for each."""
    screening: Screening | None = None
    """What a search tested, and dropped, before it named these values; None where the values were listed beforehand."""

    spec: Any = None
    """The mechanism of the reports, or what else promised the ``guarantee``; None where nothing single did."""
    kind: str = "estimate"
    """What sort of estimate this is: only those of one kind are compared."""
    falling: bool = False
    """Whether the largest number comes first where values are shown."""
    single: bool = False
    """Whether this is about one number: then errors and limits are numbers, and no lists."""
    unit: Numbers | None = None
    """The range whose units the numbers are in, where they may be points in time; None for plain numbers."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further columns by name, an entry for each value; shown after the limits."""
    figure: Mapping[str, Any] = field(default_factory=dict)
    """How the picture differs from bars or points of the numbers: fields of ``Figure``, of which ``group`` may be an axis."""
    remarks: tuple[str, ...] = ()
    """What else to know about the numbers, in a line each below the table."""

    compared_name: ClassVar[str] = ""
    """What ``compared`` is called, if not as the numbers."""
    change_covers: ClassVar[str] = "noise only"
    """What intervals of a change between two of these are about."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family_size", self.family_size or len(self.values))

    # --- the numbers and their errors ---

    @property
    def n(self) -> Any:
        """How many people reported; None where that is private."""
        return self.law.n

    @property
    def point(self) -> Array:
        """The estimated numbers."""
        return self.law.point

    @property
    def compared(self) -> Any:
        """What ``compare`` compares, in the units that people see."""
        return self._shown(self.point)

    @cached_property
    def stderr(self) -> Any:
        """The standard error of each number: the noise, for the people who reported."""
        return self._distance(self.law.stderr)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False, population: bool = False) -> tuple[Any, Any]:
        """Limits (low, high) for each number.

        They cover what ``covers`` says, mostly the mechanism's noise; with ``population=True`` also that the people are a sample, for
        statements about everyone like them. ``simultaneous=True`` makes all of them hold at once (Bonferroni).
        """
        check_level("level", level)
        if self.law.level is not None and level != self.law.level:
            fix = "its limits were chosen with noise of their own: ask for the level in the question"
            raise ParameterError("level", level, allowed=f"{self.law.level}, as asked", fix=fix)
        family = max(self.family_size, 1) if simultaneous else 0
        limits = self.law.limits((1 - level) / max(family, 1), family=family, population=population)
        return self._shown(limits[0]), self._shown(limits[1])

    def significant(self, alpha: float = ALPHA, method: str = "familywise") -> Array:
        """Whether each value stands out of the noise: a test of "nobody holds it" that allows for all values that were estimated.

        ``method`` is "familywise": the chance that any value is marked that nobody holds is alpha at most (Bonferroni); these are the
        values whose simultaneous interval excludes 0. Or it is "benjamini-yekutieli": of the values that are marked, the expected share
        that nobody holds is alpha at most, however the numbers depend on each other (Benjamini and Yekutieli 2001).
        """
        check_level("alpha", alpha)
        return marked(self.law, max(self.family_size, 1), alpha, method) if len(self.values) else np.zeros(0, dtype=bool)

    # --- what earlier versions had ---

    if not TYPE_CHECKING:  # type checkers know without these what an estimate has

        def __getattr__(self, name: str) -> Any:
            raise missing_member(self, name)

        def __getitem__(self, name: object) -> Any:
            raise TypeError(f"{name!r}: an estimate has no items; {ITSELF}")

    # --- other estimates ---

    def select(self, positions: Any) -> Self:
        """The estimate for some of the values, by position. Simultaneous statements stay about all that were estimated."""
        at = row_numbers(positions, len(self.values))
        details = {name: np.asarray(column)[at] for name, column in self.details.items()}
        return replace(self, values=[self.values[i] for i in at], law=self.law.select(at), details=details)

    def top(self, k: int = 10) -> Self:
        """The k largest numbers, the largest first."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError("k", k, allowed="an integer from 1 on", fix="ask for at least one value")
        return self.select(np.argsort(-self.point, kind="stable")[:k])

    def found(self, positions: Any, *, share: Fraction) -> Self:
        """What a search whose smallest group is a ``share`` of the people names: what is significant at ``positions``; see ``ranked``."""
        clear, at = self.significant(), np.asarray(positions, dtype=np.int64)
        people, noise = self.law.unheld
        tested = Screening(self.select(at), len(self.values), int((~clear).sum()), people, share, noise)
        return replace(self.select(at[clear[at]]), screening=tested)

    @property
    def ranked(self) -> Any:
        """The strongest candidates of a search in their order, significant or not; of any other estimate, all values."""
        return self if self.screening is None else self.screening.ranked

    def compare(self, other: Estimate) -> Comparison:
        """The change from this estimate to the ``other`` one of its kind, with a test."""
        from deniable.core.comparison import Comparison

        if getattr(other, "kind", None) != self.kind:
            allowed = f"an estimate of the same kind, {self.kind}"
            raise ParameterError("other", other, allowed=allowed, fix="estimate the other crowd first")
        if list(self.values) != list(other.values):
            allowed = "the same values in the same order"
            raise MergeError("values", list(other.values)[:5], allowed=allowed, fix="estimate both with one list")
        return Comparison.of(self, other)

    def combined(self, weights: Array, *, labels: Sequence[Any]) -> Estimate:
        """Weighted sums of the numbers, one for each row of weights, and their labels; errors that the numbers share are counted once.

        ParameterError where it is not known how the errors go together.
        """
        rows = np.asarray(weights, dtype=float)
        if rows.shape != (len(labels), len(self.values)):
            allowed = f"{len(labels)} rows of {len(self.values)} weights"
            raise ParameterError("weights", rows.shape, allowed=allowed, fix="a weight for each number")
        same = {name: getattr(self, name) for name in ("about", "guarantee", "quantity", "covers", "bias", "title", "spec", "kind", "unit")}
        return Estimate(values=tuple(labels), law=self.law.linear(rows), **same)

    def contrast(self, first: Any, second: Any) -> NumberEstimate:
        """By how much the number of the value ``second`` is larger than that of ``first``, with the error that the two share."""
        from deniable.core.number import NumberEstimate

        known = list(self.values)
        if first not in known or second not in known:
            raise ParameterError("first, second", (first, second), allowed=f"values, such as {known[:3]}", fix="check them")
        weights = np.zeros((1, len(known)))
        weights[0, known.index(first)] -= 1.0
        weights[0, known.index(second)] += 1.0
        return NumberEstimate(
            values=[f"from {value_text(first)} to {value_text(second)}"],
            law=self.law.linear(weights),
            about=self.about,
            guarantee=self.guarantee,
            quantity="change",
            covers=self.covers,
        )

    def settled(self) -> Self:
        """This estimate with everything computed that takes long: what services show and keep."""
        return replace(self, law=self.law.settled(), parts={name: part.settled() for name, part in self.parts.items()})

    def to_json(self) -> dict[str, Any]:
        """This estimate as plain data: its columns as they are shown, and its law. ``estimate_from_json`` reads it back."""
        from deniable.core.saved import write_estimate

        return write_estimate(self)

    # --- units ---

    def _shown(self, numbers: Array) -> Any:
        """Numbers in the units that people see."""
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
        return [value_text(value) if isinstance(value, tuple) else value for value in self.values]

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
        limits = self.law.why if level is None else f"low and high: {level_text(level)}{together}, {self.covers}"
        return "\n".join(filter(None, (f"{self.about}; {limits}", self.bias)))

    def order(self) -> Array:
        return np.argsort(-self.point, kind="stable") if self.falling else np.arange(len(self.values))

    def notes(self) -> list[str]:
        searched = () if self.screening is None else (self.screening.told(len(self.values)), self.screening.how)
        return [*filter(None, (*self.remarks, *searched))]

    def figures(self) -> tuple[Figure, ...]:
        level = self.shown_level
        limits = "" if level is None else f"{level_text(level)} interval{'s that hold together' if self.together else ''}"
        names, look, mark = dict(zip(self.axes, self.axis_names, strict=True)), dict(self.figure), "bars" if self.falling else "points"
        if look.get("group") in names:  # an axis: the others are what the numbers are about
            look["group"] = names.pop(look["group"])
        return (replace(Figure(mark=mark, number=self.quantity, label=" x ".join(names.values()), interval=limits), **look),)

    def chart(self, k: int = 20, *, truth: Any = None, title: str | None = None) -> Chart:
        """The first k numbers with their intervals, under a ``title``; ``truth``, where it is known, is drawn as well."""
        best = self.order()[:k] if isinstance(k, int) and 0 < k < len(self.values) and self.listed else None
        known = None if truth is None or best is None else np.asarray(truth)[best]
        return super().chart(k, truth=truth, title=title) if best is None else self.select(best).chart(k, truth=known, title=title)

    @property
    def listed(self) -> bool:
        """True if views show the first values, each by itself: not a curve, a map or a brief of all."""
        return not self.single and self.brief() is None and all(each.mark in ("bars", "points") for each in self.figures()[:1])

    def shortened(self, k: int) -> Self:
        """The first k values, where they are listed; otherwise all."""
        return self.select(self.order()[:k]) if 0 < k < len(self.values) and self.listed else self
