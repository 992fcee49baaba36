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
    from deniable.contract.guarantee import Guarantee
    from deniable.core.chart import Chart
    from deniable.tasks.series.efpa import EFPA
    from deniable.tasks.series.mechanism import SeriesMechanism


@dataclass(frozen=True, eq=False, repr=False)
class SeriesEstimate(Table):
    """One estimate for each point in time; ``stderr`` and intervals are of the noise, see ``lossless``.

    Noise that is a sum of Laplace variables has longer tails than a normal one: with its excess kurtosis x, the quantile z of the normal
    law becomes z + x (z^3 - 3 z) / 24 where that is more (Cornish and Fisher), which is a little too long for a single one of them. A
    step of the grid is added, for noise that is often 0.
    """

    mechanism: SeriesMechanism
    """What made the noise."""
    values: Array
    stderr: Array
    kurtosis: Array
    """The excess kurtosis of the noise at each point."""
    step: Array
    """How far apart the results are at each point: the noise lies on a grid."""
    chosen: EFPA | None = None
    """What chose the mechanism, and made the promise."""

    kind: ClassVar[str] = "series"

    @property
    def name(self) -> str:
        """The mechanism's; with what was chosen, where something was."""
        return self.mechanism.name if self.chosen is None else f"EFPA, {self.mechanism.questions} numbers kept"

    @property
    def guarantee(self) -> Guarantee:
        """What was promised to each person."""
        return self.mechanism.guarantee if self.chosen is None else self.chosen.guarantee

    @property
    def points(self) -> int:
        """The number of points in time."""
        return len(self.values)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) at each point, for the noise; for all points together if simultaneous (Bonferroni)."""
        check_level("level", level)
        z = float(stats.norm.isf((1 - level) / 2 / (self.points if simultaneous else 1)))
        reach = self.stderr * (z + self.kurtosis * max(z**3 - 3 * z, 0.0) / 24) + self.step
        return self.values - reach, self.values + reach

    def errors(self, truth: Array) -> dict[str, float]:
        """The mean absolute error against a known truth, and how much of it would be there without any noise."""
        truth = np.asarray(truth, dtype=float)
        if truth.shape != self.values.shape:
            raise ParameterError("truth", truth.shape, allowed=f"{self.points} numbers", fix="pass the series that was released")
        kept = self.mechanism.reconstruct(self.mechanism.ask(truth))
        return {"error": float(np.abs(self.values - truth).mean()), "reconstruction": float(np.abs(kept - truth).mean())}

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": list(range(self.points)), "sum": self.values, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        promise = self.guarantee
        spent = f"epsilon = {promise.epsilon:.4g}" + (f", delta = {promise.delta:g}" if promise.delta else "")
        lost = "" if self.mechanism.lossless else "; what the kept coefficients do not show is not in them"
        return f"{self.points:,} points, {self.name}, {spent}; low and high: 95 %, noise only{lost}"

    def order(self) -> Array:
        return np.arange(self.points)

    def chart(self) -> Chart:
        """The series with the band of its 95 % intervals."""
        from deniable.tasks.charts import line_chart

        title, note = f"{self.name}, epsilon = {self.guarantee.epsilon:g}", "band: 95 % intervals, noise only"
        return line_chart(self.values, self.interval(), title=title, subtitle=note, time="time", axis="sum")
