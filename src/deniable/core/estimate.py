"""The estimate: values with estimated numbers and their errors, in one form for every mechanism, protocol and trust model.

Two kinds are met everywhere: a single number, and numbers of people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deniable.contract.readable import confidence
from deniable.core.figure import Figure
from deniable.core.measured import Measured
from deniable.core.screening import Screening
from deniable.core.table import row_numbers, value_text
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array
from deniable.removed import ITSELF, missing_member

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.comparison import Comparison


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimate(Measured):
    """Numbers for a list of ``values``, with a ``law`` that knows how far each may be off. Subclasses only add verbs.

    Single estimates may be impossible, such as negative counts; that is what makes their sums right.
    """

    parts: Mapping[str, Estimate] = field(default_factory=dict)
    """Further estimates that belong to this one, by name."""
    figure: Mapping[str, Any] = field(default_factory=dict)
    """How the picture differs from bars or points of the numbers: fields of ``Figure``, of which ``group`` may be an axis."""

    # --- other estimates ---

    def select(self, positions: Any) -> Self:
        """Return the estimate for some of the values, by position. Simultaneous statements still cover all estimated values."""
        at = row_numbers(positions, len(self.values))
        details = {name: np.asarray(column)[at] for name, column in self.details.items()}
        shown = [self.shown_as[i] for i in at if self.shown_as]
        return replace(self, values=[self.values[i] for i in at], law=self.law.select(at), details=details, shown_as=shown)

    def top(self, k: int = 10) -> Self:
        """Return the k largest numbers, the largest first."""
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

    def only(self, value: Any) -> NumberEstimate:
        """Return the number of one value alone: its ``value``, ``stderr`` and ``interval()`` are numbers.

        >>> from deniable import GRR, Categories
        >>> spec = GRR(domain=Categories("no", "yes"), epsilon=20.0)
        >>> spec.estimate(spec.tally(spec.privatize(["yes"] * 30 + ["no"] * 10))).only("yes")
        40 reports, GRR, epsilon = 20; low and high: 95 %, noise only
        value  count    stderr  low  high
        yes       30  0.000287   30    30
        """
        known = list(self.values)
        if value not in known:
            raise ParameterError("value", value, allowed=f"one that was estimated, such as {known[:3]}", fix="check it, or ask for it")
        same = {name: getattr(self, name) for name in ("about", "guarantee", "quantity", "covers", "bias", "spec", "unit")}
        place = known.index(value)
        return NumberEstimate(values=[str(self.labels[place])], law=self.law.select(np.array([place])), **same)

    def compare(self, other: Estimate) -> Comparison:
        """Return the change from this estimate to the ``other`` one of its kind, with a test."""
        from deniable.core.comparison import Comparison

        if getattr(other, "kind", None) != self.kind:
            allowed = f"an estimate of the same kind, {self.kind}"
            raise ParameterError("other", other, allowed=allowed, fix="estimate the other crowd first")
        if self.quantity != other.quantity:
            raise MergeError("quantity", other.quantity, allowed=self.quantity, fix="compare like with like")
        if (self.unit is not None and self.unit.times) != (other.unit is not None and other.unit.times):
            raise MergeError("unit", other.unit, allowed="the same units: times on both sides, or on none", fix="compare like with like")
        if list(self.values) != list(other.values):
            allowed = "the same values in the same order"
            raise MergeError("values", list(other.values)[:5], allowed=allowed, fix="estimate both with the same list of values")
        return Comparison.of(self, other)

    def combined(self, weights: Array, *, labels: Sequence[Any]) -> Estimate:
        """Return weighted sums of the numbers, with ``labels``, one for each row of weights; shared errors are counted once.

        ParameterError where it is not known how the errors go together.
        """
        rows = np.asarray(weights, dtype=float)
        if rows.shape != (len(labels), len(self.values)):
            allowed = f"{len(labels)} rows of {len(self.values)} weights"
            raise ParameterError("weights", rows.shape, allowed=allowed, fix="give a weight for each number")
        same = {name: getattr(self, name) for name in ("about", "guarantee", "quantity", "covers", "bias", "title", "spec", "kind", "unit")}
        return Estimate(values=tuple(labels), law=self.law.linear(rows), **same)

    def contrast(self, first: Any, second: Any) -> NumberEstimate:
        """Return how much larger the number of ``second`` is than that of ``first``, with its error."""
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
        """Return this estimate with every slow computation done, for services that show and keep it."""
        return replace(self, law=self.law.settled(), parts={name: part.settled() for name, part in self.parts.items()})

    def to_json(self) -> dict[str, Any]:
        """Return this estimate as plain data: its columns as shown, and its law. ``estimate_from_json`` reads it back.

        By hand (``core/saved.py``): what is written is what views show, for any kind, and it has floats and nulls.
        """
        from deniable.core.saved import write_estimate

        return write_estimate(self)

    # --- pictures ---

    def figures(self) -> tuple[Figure, ...]:
        level = self.shown_level
        limits = "" if level is None else f"{confidence(level)} interval{'s that hold together' if self.together else ''}"
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
        """True if views show the first values one by one: not a curve, a map or a brief of all."""
        return not self.single and self.brief() is None and all(each.mark in ("bars", "points") for each in self.figures()[:1])

    def shortened(self, k: int) -> Self:
        """The first k values, where they are listed; otherwise all."""
        return self.select(self.order()[:k]) if 0 < k < len(self.values) and self.listed else self

    # --- what earlier versions had ---

    if not TYPE_CHECKING:  # type checkers know without these what an estimate has

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # a property that failed: its own error again
                return object.__getattribute__(self, name)
            raise missing_member(self, name)

        def __getitem__(self, name: object) -> Any:
            raise TypeError(f"{name!r}: an estimate has no items; {ITSELF}")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NumberEstimate(Estimate):
    """One number under a name: ``value``, ``stderr`` and ``interval()`` are numbers, and no lists.

    >>> import numpy as np
    >>> from deniable.core.normal import Normal
    >>> law = Normal(900, np.array([420.0]), np.array([900.0]), np.array([1200.0]))
    >>> found = NumberEstimate(values=["park"], law=law, about="an example", quantity="count")
    >>> found.value, found.stderr, [round(limit, 1) for limit in found.interval()]
    (420.0, 30.0, [361.2, 478.8])
    """

    kind: str = "number"
    single: bool = True

    @property
    def value(self) -> Any:
        """The estimated number: a float, or a datetime. Of nobody, nan or None."""
        return self.point.item() if self.unit is None else self._shown(self.point)

    @property
    def p_value(self) -> float:
        """The p-value of the hypothesis that the number is 0."""
        return float(self.law.p_values[0])

    @property
    def labels(self) -> list[Any]:
        return [self.title or self.values[0]]

    @property
    def name(self) -> str:
        """What the number is called where it is shown."""
        return str(self.values[0])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PeopleEstimate(Estimate):
    """How many people hold each value, or are in each part of a crowd: ranges of a line, cells of a map, sets of items, classes of a graph.

    The law is about counts or, with ``in_shares``, about shares of the people who were asked.
    """

    quantity: str = "count"
    kind: str = "people"
    in_shares: bool = False
    """True if the numbers are shares, not counts."""

    @property
    def counts(self) -> Array:
        """The estimated number of people who hold each value, among those who reported."""
        return np.asarray(self.point * self.n) if self.in_shares else self.point

    @property
    def frequencies(self) -> Array:
        """The estimated share of people who hold each value."""
        return self.point if self.in_shares else np.asarray(self.point / np.maximum(self.n, 1))

    def further(self) -> dict[str, Any]:
        return super().further() if self.in_shares else {"frequency": self.frequencies, **super().further()}
