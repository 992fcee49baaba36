"""The estimate of a mean vector, with its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.contract.spec import Spec
from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.mean import MeanEstimate


@dataclass(frozen=True, eq=False, repr=False)
class VectorEstimate(Table):
    """The mean of people's vectors by a ``spec``, coordinate by coordinate; unbiased, so that it may be longer than any of theirs."""

    spec: Spec
    n: int
    mean: Array
    noise: Array
    """The variance of each coordinate through the mechanism, for the people who reported."""
    drawn: Array
    """The same if the people are a sample."""
    names: Sequence[Any] = ()
    """What the coordinates are called; if left out, 0, 1, 2 and so on."""

    @classmethod
    def from_means(cls, means: Mapping[Any, MeanEstimate]) -> VectorEstimate:
        """A vector from the means of its coordinates, each asked of other people: a survey with one question for each coordinate.

        Whom a coordinate was asked of is chance. So even for the people who reported, its error is that of a sample.

        >>> from deniable.client import Hybrid
        >>> from deniable.contract.survey import Survey
        >>> from deniable.testing import ReplaySource
        >>> survey = Survey.of(east=Hybrid(low=-1, high=1, epsilon=1.0), north=Hybrid(low=-1, high=1, epsilon=1.0))
        >>> people = {"east": np.full(20_000, 0.5), "north": np.full(20_000, -0.25)}
        >>> VectorEstimate.from_means(survey.run(people, source=ReplaySource.from_key("vector")))
        20,000 reports, Hybrid, epsilon = 1; low and high: 95 % each, noise and sampling
        expected distance from the true mean: 0.0293
        value   mean  stderr     low    high
        east     0.5  0.0207    0.46   0.541
        north  -0.26  0.0207  -0.301  -0.219
        """
        if not means:
            raise ParameterError("means", means, allowed="one mean for each coordinate", fix="run a survey of numbers")
        found = list(means.values())
        center, drawn = (np.array([getattr(mean, name) for mean in found]) for name in ("center", "drawn"))
        drawn[[mean.n == 0 for mean in found]] = np.inf
        return cls(found[0].spec, sum(mean.n for mean in found), center, drawn, drawn, tuple(means))

    @property
    def stderr(self) -> Array:
        """The standard error of each coordinate through the mechanism's noise."""
        return np.sqrt(self.noise)

    @property
    def distance(self) -> float:
        """How far the estimate is from the true mean, as a root mean square: the length of its error."""
        return float(np.sqrt(self.noise.sum()))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False, population: bool = False) -> Limits:
        """Limits (low, high) for each coordinate, by the normal law, which sums of normal noise obey.

        They cover the mechanism's noise; with ``population=True`` also that the people are a sample. ``simultaneous=True`` makes all of
        them hold at once (Bonferroni).
        """
        check_level("level", level)
        alpha = (1 - level) / (self.mean.size if simultaneous else 1)
        reach = stats.norm.isf(alpha / 2) * np.sqrt(self.drawn if population else self.noise)
        return self.mean - reach, self.mean + reach

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        return {"value": list(self.names or range(self.mean.size)), "mean": self.mean, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        errors = "noise and sampling" if self.names else "noise only"
        told = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.spec.epsilon:.4g}; low and high: 95 % each, {errors}"
        return f"{told}\nexpected distance from the true mean: {self.distance:.3g}"

    def order(self) -> Array:
        return np.argsort(-np.abs(self.mean), kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k largest coordinates with 95 % intervals that hold for all together."""
        from deniable.core.chart import point_chart

        low, high = self.interval(0.95, simultaneous=True)
        first = self.order()[:k]
        return point_chart(
            [self.rows()["value"][i] for i in first], self.mean[first], low[first], high[first], title=self.headline().splitlines()[0]
        )
