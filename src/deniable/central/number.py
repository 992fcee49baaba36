"""A count, a sum or a mean that a session released, with its error."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.central.release import Release
from deniable.central.spread import Spread
from deniable.core.exclusion import smallest_error
from deniable.core.interval import check_level
from deniable.core.number_chart import number_chart
from deniable.core.table import Table
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class NumberEstimate(Table):
    """One number about the rows of a table. Errors and intervals cover the noise, which is all that stands between it and the truth.

    ``release`` says what was asked, and at which price.
    """

    release: Release
    n: int | None
    """How many rows there are, if that is public: under "replace", among all rows. Otherwise None, since it is private itself."""
    biased: str | None
    """What the number is about, where that is not what every row holds; None if it is."""

    kind: ClassVar[str] = "number"

    @property
    @abstractmethod
    def value(self) -> Any:
        """The released number."""

    @property
    @abstractmethod
    def stderr(self) -> float:
        """Its standard error."""

    @abstractmethod
    def limits(self, alpha: float) -> tuple[float, float]:
        """The limits that miss with probability alpha at most."""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high) that cover at least the level, without any approximation."""
        check_level("level", level)
        return self.limits(1 - level)

    def compare(self, other: NumberEstimate) -> NumberComparison:
        """The change from this number to the ``other`` one of its kind, with a test."""
        if not isinstance(other, NumberEstimate):
            raise ParameterError("other", other, allowed="a number that a session released", fix="ask for the other one first")
        return NumberComparison(self, other)

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        return {"value": [self.release.ask], self.kind: [self.value], "stderr": [self.stderr], "low": [low], "high": [high]}

    def headline(self) -> str:
        told = f"{self.release.headline()}; low and high: 95 %, noise only"
        return f"{told}\n{self.biased}" if self.biased else told

    def order(self) -> Array:
        return np.arange(1)

    def chart(self) -> Chart:
        """The number with its 95 % interval."""
        low, high = self.interval(0.95)
        return number_chart([self.release.ask], [self.value], [low], [high], title=self.release.headline(), level=0.95)


@dataclass(frozen=True, eq=False, repr=False)
class SumEstimate(NumberEstimate):
    """A sum, unbiased for the clipped and rounded values; in whole ``steps`` of the grid that the ``noise`` is on."""

    steps: int
    noise: Spread

    kind: ClassVar[str] = "sum"

    @property
    def value(self) -> Any:
        return self.steps if self.noise.step == 1 else self.steps * self.noise.step

    @property
    def stderr(self) -> float:
        return float(self.noise.variance**0.5)

    def limits(self, alpha: float) -> tuple[float, float]:
        reach = self.noise.reach(alpha)
        return self.value - reach, self.value + reach


@dataclass(frozen=True, eq=False, repr=False)
class CountEstimate(SumEstimate):
    """How many rows match. It may come out negative; that is what makes it unbiased.

    >>> release = Release("r1", "count", "Laplace", 0.1, "add-remove")
    >>> CountEstimate(release, None, None, 1203, Spread(10.0))
    count: Laplace, epsilon = 0.1, add-remove; low and high: 95 %, noise only
    value  count  stderr    low   high
    count   1203    14.1  1,173  1,233
    """

    kind: ClassVar[str] = "count"


@dataclass(frozen=True, eq=False, repr=False)
class NumberComparison(Table):
    """The change from the ``first`` released number to the ``second``; about the rows themselves, with the noise as the only error.

    The two intervals, each with half of the error, bound the change together, whatever the two laws are. ``p_value`` is the smallest error
    at which they rule out that nothing changed.
    """

    first: NumberEstimate
    second: NumberEstimate
    p_value: float = field(init=False)

    def __post_init__(self) -> None:
        if self.first.kind != self.second.kind:
            raise MergeError("other", self.second.kind, allowed=f"a {self.first.kind}, as the first one", fix="compare like with like")
        object.__setattr__(self, "p_value", float(smallest_error(lambda alpha: self._limits(float(alpha[0])), 1)[0]))

    @property
    def difference(self) -> float:
        """The change, from the first to the second."""
        return float(self.second.value - self.first.value)

    @property
    def stderr(self) -> float:
        """Its standard error."""
        return float((self.first.stderr**2 + self.second.stderr**2) ** 0.5)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high) for the change; they cover at least the level."""
        check_level("level", level)
        return self._limits(1 - level)

    def changed(self, alpha: float = 0.05) -> bool:
        """Whether it changed; the chance of saying so wrongly is alpha at most."""
        check_level("alpha", alpha)
        return self.p_value <= alpha

    def _limits(self, alpha: float) -> tuple[float, float]:
        (low_1, high_1), (low_2, high_2) = self.first.limits(alpha / 2), self.second.limits(alpha / 2)
        return low_2 - high_1, high_2 - low_1

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {
            "value": [self.first.release.ask],
            "before": [float(self.first.value)],
            "after": [float(self.second.value)],
            "change": [self.difference],
            "low": [low],
            "high": [high],
            "p": [self.p_value],
        }

    def headline(self) -> str:
        return f"Comparison of {self.first.release.ask!r} with {self.second.release.ask!r}; low and high: 95 %, noise only"

    def order(self) -> Array:
        return np.arange(1)
