"""Counts of several values that a session released, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from deniable.central.histogram_comparison import CentralComparison
from deniable.central.release import Release
from deniable.central.spread import Spread, sum_reaches
from deniable.core.comparison import Comparison
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits, clopper_pearson
from deniable.core.postprocess import METHODS, Postprocessed
from deniable.core.table import row_numbers
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array

OFFERED = ("norm", "norm-sub", "norm-mul")


@dataclass(frozen=True, eq=False, repr=False)
class CentralHistogram(FrequencyEstimate):
    """Unbiased counts with independent discrete Laplace noise, the same for each of them, whatever the counts are.

    ``n`` is the number of rows where that is public (``replace``, all rows). Otherwise it is private too, and ``n`` is the sum of the
    released counts, which costs nothing more: at least 1, so that there are frequencies. ``n_limits`` says how far it may be off. ``spec``
    is the release: what was asked, and at which price.

    >>> release = Release("r1", "histogram of drink", "Laplace", 0.5, "add-remove")
    >>> CentralHistogram.of(release, ["tea", "coffee", "water"], [5202, 3096, 1199], Spread(2.0), rows=None)
    histogram of drink: Laplace, epsilon = 0.5, add-remove; about 9,497 rows; low and high: 95 %, noise only
    value   count  stderr    low   high  frequency
    tea     5,202     2.8  5,196  5,208      0.548
    coffee  3,096     2.8  3,090  3,102      0.326
    water   1,199     2.8  1,193  1,205      0.126
    """

    spec: Any  # a Release, in the place of a mechanism's spec
    released: Array
    noise: Spread
    public: bool = field(default=False, kw_only=True)
    """Whether ``n`` is the exact number of rows."""
    summed: int = field(default=0, kw_only=True)
    """How many released numbers ``n`` is the sum of; none if it is public."""

    @classmethod
    def of(
        cls,
        release: Release,
        values: Sequence[Any],
        released: Sequence[int],
        noise: Spread,
        *,
        rows: int | None,
        counted: int | None = None,
    ) -> CentralHistogram:
        """The estimate behind released counts. ``rows`` is how many rows there are, if that is public; ``counted`` is a release of it."""
        found = np.asarray(released, dtype=np.int64)
        if rows is not None:
            return cls(release, list(values), rows, found, noise, public=True)
        n = int(found.sum()) if counted is None else counted
        return cls(release, list(values), max(n, 1), found, noise, summed=found.size if counted is None else 1)

    @property
    def release(self) -> Release:
        """What was asked, and at which price."""
        found: Release = self.spec
        return found

    @cached_property
    def counts(self) -> Array:
        return self.released.astype(float)

    @cached_property
    def stderr(self) -> Array:
        return np.full(self.released.size, self.noise.variance**0.5)

    def variance(self, counts: Array, *, population: bool = False) -> Array:
        drawn = np.clip(counts, 0, None) * (1 - np.clip(counts / max(self.n, 1), 0, 1) if self.public else 1.0) if population else 0.0
        return np.asarray(self.noise.variance + drawn + np.zeros(self.released.size))

    @property
    def enough(self) -> float:
        """Never: Laplace noise has heavier tails than a normal law. Every interval and test here is exact, or errs on the safe side."""
        return 0.0

    def interval(self, level: float = 0.95, *, simultaneous: bool = False, population: bool = False) -> Limits:
        """Limits (low, high) for each count, by the exact law of the noise: they cover at least the level.

        With ``population=True`` they also cover that the rows are a sample: half of the error is for the noise, half for the sampling
        (Clopper and Pearson if n is public, otherwise Garwood's limits for a Poisson count).
        """
        return self.limits(self._alpha(level, simultaneous), simultaneous=simultaneous, population=population)

    def limits(self, alpha: Any, *, simultaneous: bool = False, population: bool = False) -> Limits:
        if not population:
            reach = self.noise.reaches(alpha)
            return self.counts - reach, self.counts + reach
        reach = self.noise.reaches(alpha / 2)
        low, high = np.clip(self.counts - reach, 0, None), np.clip(self.counts + reach, 0, None)
        if self.public:
            low, high = np.minimum(low, self.n), np.minimum(high, self.n)
            return self.n * clopper_pearson(low, self.n, alpha / 2)[0], self.n * clopper_pearson(high, self.n, alpha / 2)[1]
        return np.where(low > 0, stats.gamma.ppf(alpha / 4, np.maximum(low, 1)), 0.0), stats.gamma.isf(alpha / 4, high + 1)

    def bound(self, level: float = 0.95, method: str = "bernstein", *, simultaneous: bool = False) -> Limits:
        """The interval: it holds by the exact law of the noise, which no inequality can better."""
        return self.interval(level, simultaneous=simultaneous)

    def bounds(self, alpha: float, method: str) -> Limits:
        return self.limits(alpha)

    def n_limits(self, alpha: Any) -> Limits:
        """The limits for the number of rows that miss with probability alpha at most, for each alpha."""
        reach = np.zeros(np.shape(alpha)) if self.public else sum_reaches(self.noise, self.summed, alpha)
        return np.maximum(self.n - reach, 0.0), self.n + reach

    def select(self, positions: Any) -> CentralHistogram:
        positions = row_numbers(positions, len(self.values))
        return replace(self, values=[self.values[i] for i in positions], released=self.released[positions])

    def compare(self, other: FrequencyEstimate) -> Comparison:
        """The change of each frequency from this estimate to another one of a session, with a test."""
        if not isinstance(other, CentralHistogram):
            raise ParameterError("other", other, allowed="a histogram that a session released", fix="compare like with like")
        if list(self.values) != list(other.values):
            fix = "ask for both with one list"
            raise MergeError("values", list(other.values)[:5], allowed="the same values in the same order", fix=fix)
        return CentralComparison(self, other)

    def postprocess(self, method: str) -> Postprocessed:
        """Counts made consistent by "norm", "norm-sub" or "norm-mul": they add up to n, and are biased."""
        if method not in OFFERED:
            raise ParameterError("method", method, allowed=f"one of {list(OFFERED)}", fix="interval(simultaneous=True) tells what is there")
        if self.picked:
            raise ParameterError("estimate", "some of the values", allowed="all values, which add up to n", fix="post-process before top()")
        return Postprocessed(method, METHODS[method](self), self)

    def headline(self) -> str:
        rows = f"{self.n:,} rows" if self.public else f"about {self.n:,} rows"
        together = f" for all {self.family_size:,} values together" if self.picked else ""
        return f"{self.release.headline()}; {rows}; low and high: 95 %{together}, noise only"
