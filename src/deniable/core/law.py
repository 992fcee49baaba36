"""Error laws of estimated numbers.

An estimate is a list of values and a law. The law knows the estimated numbers, their variance, and limits at any error probability; the
estimate knows what the numbers are about. A new kind of error is a new law, and everything that shows an estimate stays as it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.core.interval import Limits, smallest_error
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

BOTH = "both crowds as samples"
"""What the limits of a change are about, where people are drawn at random on both sides."""
LAWS: dict[str, type[Law]] = {}
"""Every law by its name: what a saved estimate may name."""


class Law(ABC):
    """The errors of some estimated numbers, ``point``. ``n`` is how many people reported, or None where that is private."""

    def __init_subclass__(cls) -> None:
        LAWS[cls.__name__] = cls

    n: Any
    why: str = ""
    """Why no interval is known; empty where one is."""
    level: float | None = None
    """The only level whose limits are known; None if all are."""

    @property
    @abstractmethod
    def point(self) -> Array:
        """The estimated numbers."""

    @abstractmethod
    def variance(self, at: Array, *, population: bool = False) -> Array:
        """Return the variance of each number if ``at`` were the true ones; with ``population``, also of drawing the people."""

    @abstractmethod
    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        """Return limits for each number that miss it with probability alpha.

        ``family`` is how many such statements are made together, each at this alpha, which may then be tiny; 0 for a statement of its
        own at a usual level. With ``population`` the limits are about everyone whom the people stand for.
        """

    @abstractmethod
    def select(self, positions: Array) -> Law:
        """Return the law of some of the numbers, by position."""

    @property
    def covers(self) -> str:
        """What limits are about, in words; empty where only the estimate can say."""
        return ""

    @property
    def stderr(self) -> Array:
        """The standard error of each number: the mechanism's noise, for the people who reported."""
        return np.asarray(np.sqrt(np.maximum(self.variance(self.point), 0.0)))

    @cached_property
    def p_values(self) -> Array:
        """For each number, the smallest alpha whose single interval excludes 0."""
        return smallest_error(lambda alpha: self.limits(alpha, family=1), len(self.point))

    def linear(self, weights: Array) -> Law:
        """Return the law of weighted sums, one for each row of weights; ParameterError where nobody knows how the errors go together."""
        allowed = "a law with known correlations of its errors"
        raise ParameterError("law", type(self).__name__, allowed=allowed, fix="combine before estimating, or compare two estimates")

    def change(self, other: Law) -> Law:
        """Return the law of the differences, ``other`` less this one: it knows its two ``sides``, and what it is the change of."""
        return Crossed(self, other)

    @property
    def unheld(self) -> tuple[int, float]:
        """How many people counted, and what a search can see: the variance of a share of nobody, times the number of people."""
        people, quiet = np.broadcast_to(self.n, self.point.shape), int(np.argmin(self.stderr))
        return int(people.min()), float(self.stderr[quiet]) ** 2 * int(people[quiet])

    def settled(self) -> Law:
        """Return the same law with everything computed that takes long, without what only the computation needed."""
        return self


class CountLaw(Law):
    """The errors of counts of people among ``n`` who reported."""

    n: int

    @property
    @abstractmethod
    def enough(self) -> float:
        """The effective number of noisy reports: where it is small, no test is normal."""

    @abstractmethod
    def bounds(self, alpha: float, method: str) -> Limits:
        """Return the bound for each count that misses with probability alpha at most, by the inequality that ``method`` names."""

    @property
    def stderr(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(self.variance(np.clip(self.point, 0, self.n)), 0.0)))

    @property
    def unheld(self) -> tuple[int, float]:
        return self.n, float(np.mean(self.variance(np.zeros(len(self.point))))) / max(self.n, 1)

    postprocessing: tuple[str, ...] = ("base-cut", "norm", "norm-sub", "norm-mul")
    """The methods of ``core.postprocess`` that suit these errors."""
    jump: float = 0.0
    """What a single collision of a shared hash function adds to a count, at most; 0 where no function is shared."""

    def exact_test(self, other: CountLaw) -> Array | None:
        """Return p-values of "no change" to the other law that need no normal approximation; None if there is no such test."""
        return None

    def share_limits(self, alpha: Any, *, family: int) -> Limits:
        """Return limits for each share of the people whom those who reported stand for, a ``family`` of them at any alpha."""
        low, high = self.limits(alpha, family=family, population=True)
        return low / self.n, high / self.n

    def change(self, other: Law) -> Law:
        from deniable.core.count_change import CountChange

        return CountChange(self, other) if isinstance(other, CountLaw) else Crossed(self, other)


@dataclass(frozen=True, eq=False)
class Unknown(Law):
    """Numbers without an interval, be it about people or their population: ``why`` says why. ``errors`` are standard errors, if known."""

    n: Any
    numbers: Array
    why: str
    errors: Array | None = None

    @property
    def point(self) -> Array:
        return self.numbers

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.full(len(self.numbers), np.nan) if self.errors is None else np.asarray(self.errors**2)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        raise ParameterError("interval", "asked for", allowed=f"none: {self.why}", fix="read point, or stderr where there is one")

    def change(self, other: Law) -> Law:
        raise ParameterError("compare", "asked for", allowed=f"none: {self.why}", fix="subtract point, or compare estimates with intervals")

    def select(self, positions: Array) -> Unknown:
        errors = None if self.errors is None else self.errors[positions]
        return Unknown(self.n, self.numbers[positions], self.why, errors)


@dataclass(frozen=True, eq=False)
class Crossed(Law):
    """The differences of two laws from their limits alone, each with half of the error: they hold whatever the two laws are."""

    first: Law
    second: Law
    changed: ClassVar[str] = ""
    """What changes; empty for the numbers as they are."""

    @property
    def n(self) -> tuple[Any, Any]:
        """How many people reported on each side."""
        return self.first.n, self.second.n

    @property
    def sides(self) -> tuple[Array, Array]:
        """The numbers before and after."""
        return self.first.point, self.second.point

    @property
    def point(self) -> Array:
        return self.second.point - self.first.point

    def variance(self, at: Array, *, population: bool = False) -> Array:
        sides = (side.variance(side.point, population=population) for side in (self.first, self.second))
        return np.asarray(sum(sides, np.zeros(len(self.point))))

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        (low_1, high_1), (low_2, high_2) = (
            side.limits(alpha / 2, family=family, population=population) for side in (self.first, self.second)
        )
        return low_2 - high_1, high_2 - low_1

    def select(self, positions: Array) -> Crossed:
        return Crossed(self.first.select(positions), self.second.select(positions))

    def settled(self) -> Crossed:
        return Crossed(self.first.settled(), self.second.settled())


@dataclass(frozen=True, eq=False)
class Joined(Law):
    """The numbers of several laws, one after the other."""

    n: Any
    laws: tuple[Law, ...]

    @cached_property
    def point(self) -> Array:
        return _in_line(law.point for law in self.laws)

    def variance(self, at: Array, *, population: bool = False) -> Array:
        sides = zip(self.laws, self._split(at), strict=True)
        return _in_line(law.variance(part, population=population) for law, part in sides)

    @property
    def stderr(self) -> Array:
        return _in_line(law.stderr for law in self.laws)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        each = self._split(np.broadcast_to(alpha, self.point.shape)) if np.ndim(alpha) else [alpha] * len(self.laws)
        sides = zip(self.laws, each, strict=True)
        found = [law.limits(part, family=family, population=population) for law, part in sides]
        return _in_line(low for low, _ in found), _in_line(high for _, high in found)

    def select(self, positions: Array) -> Joined:
        """Return the law of some of the numbers: single ones, since any of any law may be picked in any order."""
        at = np.arange(len(self.point))[positions]
        owner = self._starts.searchsorted(at, side="right") - 1
        return Joined(
            self.n, tuple(self.laws[i].select(np.array([place])) for i, place in zip(owner, at - self._starts[owner], strict=True))
        )

    def settled(self) -> Joined:
        return Joined(self.n, tuple(law.settled() for law in self.laws))

    @property
    def _starts(self) -> Array:
        return np.cumsum([0, *(len(law.point) for law in self.laws)])[:-1]

    def _split(self, numbers: Array) -> list[Array]:
        return np.split(numbers, self._starts[1:])


def _in_line(parts: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0), *parts])
