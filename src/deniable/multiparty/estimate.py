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


@dataclass(frozen=True, eq=False, repr=False)
class SumEstimate(Table):
    """Noisy sums, unbiased; ``variance`` is of the noise, ``kurtosis`` its excess kurtosis at most.

    Limits are those of a normal law with the longer tails that this kurtosis gives (Cornish and Fisher): they cover at least the level
    for sums of Laplace variables, which is what they are.
    """

    values: tuple[Any, ...]
    totals: Array
    variance: Array
    who: str
    kurtosis: float = 3.0

    kind: ClassVar[str] = "sum"

    @property
    def stderr(self) -> Array:
        """The standard error of each sum."""
        return np.sqrt(self.variance)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each sum; for all of them together if simultaneous (Bonferroni)."""
        check_level("level", level)
        z = float(stats.norm.isf((1 - level) / 2 / (len(self.values) if simultaneous else 1)))
        reach = self.stderr * (z + self.kurtosis * max(z**3 - 3 * z, 0.0) / 24)
        return self.totals - reach, self.totals + reach

    def combined(self, weights: Array, *, labels: Sequence[Any]) -> SumEstimate:
        """Linear combinations of the sums, one for each row of weights; their noises are independent."""
        weights = np.asarray(weights, dtype=float)
        if weights.shape != (len(labels), len(self.values)):
            allowed = f"{len(labels)} rows of {len(self.values)} weights"
            raise ParameterError("weights", weights.shape, allowed=allowed, fix="a weight for each sum")
        return SumEstimate(tuple(labels), weights @ self.totals, weights**2 @ self.variance, self.who, self.kurtosis)

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
