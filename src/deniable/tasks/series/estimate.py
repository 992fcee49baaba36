"""A noisy time series with its error at each point."""

from __future__ import annotations

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
    from deniable.tasks.series.mechanism import SeriesMechanism


@dataclass(frozen=True, eq=False, repr=False)
class SeriesEstimate(Table):
    """One estimate for each point in time; ``stderr`` and intervals are of the noise, see ``lossless``.

    Noise that is a sum of Laplace variables has longer tails than a normal one: with its excess kurtosis x, the quantile z of the normal
    law becomes z + x (z^3 - 3 z) / 24 where that is more (Cornish and Fisher), which is a little too long for a single one of them.
    """

    mechanism: SeriesMechanism
    values: Array
    stderr: Array
    kurtosis: Array

    kind: ClassVar[str] = "series"

    @property
    def n(self) -> int:
        """The number of points in time."""
        return len(self.values)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) at each point, for the noise; for all points together if simultaneous (Bonferroni)."""
        check_level("level", level)
        z = float(stats.norm.isf((1 - level) / 2 / (self.n if simultaneous else 1)))
        reach = self.stderr * (z + self.kurtosis * max(z**3 - 3 * z, 0.0) / 24)
        return self.values - reach, self.values + reach

    def errors(self, truth: Array) -> dict[str, float]:
        """The mean absolute error against a known truth, and how much of it would be there without any noise."""
        truth = np.asarray(truth, dtype=float)
        if truth.shape != self.values.shape:
            raise ParameterError("truth", truth.shape, allowed=f"{self.n} numbers", fix="pass the series that was released")
        kept = self.mechanism.reconstruct(self.mechanism.ask(truth))
        return {"error": float(np.abs(self.values - truth).mean()), "reconstruction": float(np.abs(kept - truth).mean())}

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": list(range(self.n)), "sum": self.values, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        spent = f"epsilon = {self.mechanism.epsilon:.4g}" + (f", delta = {self.mechanism.delta:g}" if self.mechanism.delta else "")
        lost = "" if self.mechanism.lossless else "; what the kept coefficients do not show is not in them"
        return f"{self.n:,} points, {self.mechanism.name}, {spent}; low and high: 95 %, noise only{lost}"

    def order(self) -> Array:
        return np.arange(self.n)

    def chart(self) -> Chart:
        """The series with the band of its 95 % intervals."""
        from deniable.tasks.series.chart import noisy_chart

        return noisy_chart(self)
