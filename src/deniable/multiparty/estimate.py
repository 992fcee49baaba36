"""Sums that nobody saw the parts of, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import stats

from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart

KURTOSIS = 3.0
"""Excess, of a Laplace variable; that of a sum of several is smaller."""


@dataclass(frozen=True, eq=False, repr=False)
class SumEstimate(Table):
    """Noisy sums ``totals``, one for each of ``values``, unbiased; ``variance`` is of the noise, which lies on a grid of ``step``.

    ``who`` says in words who added which noise.

    Limits are those of a normal law with the longer tails of a Laplace variable (Cornish and Fisher, excess kurtosis 3), and a step more:
    so they cover at least the level, also where the noise is often 0.
    """

    values: tuple[Any, ...]
    totals: Array
    variance: Array
    who: str
    step: float = 1.0

    kind: ClassVar[str] = "sum"

    @property
    def stderr(self) -> Array:
        """The standard error of each sum."""
        return np.sqrt(self.variance)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each sum; for all of them together if simultaneous (Bonferroni)."""
        check_level("level", level)
        z = float(stats.norm.isf((1 - level) / 2 / (len(self.values) if simultaneous else 1)))
        reach = self.stderr * (z + KURTOSIS * max(z**3 - 3 * z, 0.0) / 24) + self.step
        return self.totals - reach, self.totals + reach

    def combined(self, weights: Array, *, labels: Sequence[Any]) -> SumEstimate:
        """Linear combinations of the sums, one for each row of weights, and their labels; the noises of the sums are independent."""
        weights = np.asarray(weights, dtype=float)
        if weights.shape != (len(labels), len(self.values)):
            allowed = f"{len(labels)} rows of {len(self.values)} weights"
            raise ParameterError("weights", weights.shape, allowed=allowed, fix="a weight for each sum")
        step = self.step * float(np.abs(weights).sum(axis=1).max())
        return SumEstimate(tuple(labels), weights @ self.totals, weights**2 @ self.variance, self.who, step)

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": list(self.values), "sum": self.totals, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        return f"{self.who}; low and high: 95 %, noise only"

    def order(self) -> Array:
        return np.arange(len(self.values))

    def chart(self) -> Chart:
        """The sums with their 95 % intervals."""
        from deniable.core.number_chart import number_chart

        low, high = self.interval()
        names = [str(value) for value in self.values]
        return number_chart(names, self.totals.tolist(), low.tolist(), high.tolist(), title=self.who, level=0.95)


@dataclass(frozen=True, eq=False, repr=False)
class JointMean(Table):
    """A mean as the quotient of two noisy sums: ``total``, of the distances from ``center``, and ``people``.

    Limits keep to the range, ``span``.
    """

    total: SumEstimate
    people: SumEstimate
    center: float
    span: tuple[float, float]

    kind: ClassVar[str] = "mean"

    @property
    def value(self) -> float:
        """The estimated mean; the middle of the range if hardly anybody was counted."""
        return float(np.clip(self.center + self.total.totals[0] / max(self.people.totals[0], 1.0), *self.span))

    @property
    def stderr(self) -> float:
        """The standard error, to first order."""
        people, distance = max(float(self.people.totals[0]), 1.0), self.value - self.center
        return float(np.sqrt(self.total.variance[0] + distance**2 * self.people.variance[0]) / people)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high): half of what may go wrong is for either sum, so they cover at least the level."""
        check_level("level", level)
        each = 1 - (1 - level) / 2
        (low,), (high,) = self.total.interval(each)
        (fewest,), (most,) = self.people.interval(each)
        if fewest < 1:
            return self.span
        ends = [self.center + distance / people for distance in (low, high) for people in (fewest, most)]
        return float(np.clip(min(ends), *self.span)), float(np.clip(max(ends), *self.span))

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": ["mean"], "mean": [self.value], "stderr": [self.stderr], "low": [low], "high": [high]}

    def headline(self) -> str:
        return f"{self.total.who} for the sum and again for the people; low and high: 95 %, noise only"

    def order(self) -> Array:
        return np.arange(1)
