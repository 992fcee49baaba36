"""The sum of a crowd's numbers, as an estimate: what the shuffle protocols for sums return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from deniable.accounting.event import REPLACE
from deniable.central.number import NumberEstimate
from deniable.central.release import Release
from deniable.contract.numbers import Numbers
from deniable.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class ShuffledSum(NumberEstimate):
    """A sum over n people, ``total``, unbiased, and its standard ``error``. ``mean`` is the same per person."""

    total: float
    error: float
    reach: Callable[[float], float]
    """How far the sum strays with this probability at most."""

    kind: ClassVar[str] = "sum"

    @property
    def value(self) -> float:
        return self.total

    @property
    def stderr(self) -> float:
        return self.error

    @property
    def mean(self) -> float:
        """The estimated mean."""
        return self.total / (self.n or 1)

    def limits(self, alpha: float) -> tuple[float, float]:
        reach = self.reach(alpha)
        return self.total - reach, self.total + reach


def sum_domain(low: Any, high: Any, steps: int) -> Numbers:
    """The range of numbers that are added up, and its grid; ParameterError if it is none, or one of points in time."""
    domain = Numbers(low, high, steps)
    if domain.times:
        raise ParameterError("low, high", (low, high), allowed="numbers: points in time have no sum", fix="send distances")
    return domain


def released(mechanism: str, epsilon: float, people: int) -> Release:
    """What an estimate says about where it comes from."""
    return Release("", f"sum over {people:,} people", mechanism, epsilon, REPLACE)
