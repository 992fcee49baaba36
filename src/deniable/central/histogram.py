"""Counts of several values that a session released, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from deniable.central.release import Release
from deniable.central.spread import Spread, sum_reaches
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits, clopper_pearson
from deniable.core.law import CountLaw
from deniable.kernels.compiled import Array


def released_counts(
    release: Release, values: Sequence[Any], released: Sequence[int], scale: float, *, rows: int | None, counted: int | None = None
) -> FrequencyEstimate:
    """The estimate behind released counts with noise of a ``scale``. ``rows`` is how many rows there are, if that is public.

    Otherwise ``n`` is the sum of the released counts, which costs nothing more, or ``counted``, a release of it: at least 1, so that there
    are frequencies. The estimate's ``spec`` is the release: what was asked, and at which price.

    >>> release = Release("r1", "histogram of drink", "Laplace", 0.5, "add-remove")
    >>> released_counts(release, ["tea", "coffee", "water"], [5202, 3096, 1199], 2.0, rows=None)
    histogram of drink: Laplace, epsilon = 0.5, add-remove; about 9,497 rows; low and high: 95 %, noise only
    value   count  stderr    low   high  frequency
    tea     5,202     2.8  5,196  5,208     54.8 %
    coffee  3,096     2.8  3,090  3,102     32.6 %
    water   1,199     2.8  1,193  1,205     12.6 %
    """
    found = np.asarray(released, dtype=np.int64)
    if rows is not None:
        law = LaplaceCounts(rows, found, scale)
    else:
        n = int(found.sum()) if counted is None else counted
        law = LaplaceCounts(max(n, 1), found, scale, found.size if counted is None else 1)
    about = f"{release.headline()}; {'' if law.public else 'about '}{law.n:,} rows"
    return FrequencyEstimate.of(release, list(values), law, about=about, title=release.ask)


@dataclass(frozen=True, eq=False)
class LaplaceCounts(CountLaw):
    """Counts with independent discrete Laplace noise, the same for each of them, whatever the counts are.

    Limits are by the exact law of the noise: they cover at least the level. Those of a sample give half of the error to the noise and half
    to the sampling (Clopper and Pearson if n is public, otherwise Garwood's limits for a Poisson count).
    """

    n: int
    released: Array
    scale: float
    summed: int = 0
    """How many released numbers ``n`` is the sum of; 0 if it is the exact number of rows, which is public then."""

    postprocessing = ("norm", "norm-sub", "norm-mul")

    @property
    def public(self) -> bool:
        """Whether ``n`` is the exact number of rows."""
        return not self.summed

    @property
    def noise(self) -> Spread:
        """The law of the noise."""
        return Spread(self.scale)

    @cached_property
    def point(self) -> Array:
        return self.released.astype(float)

    def variance(self, at: Array, *, population: bool = False) -> Array:
        drawn = np.clip(at, 0, None) * (1 - np.clip(at / max(self.n, 1), 0, 1) if self.public else 1.0) if population else 0.0
        return np.asarray(self.noise.variance + drawn + np.zeros(self.released.size))

    @property
    def enough(self) -> float:
        """Never: Laplace noise has heavier tails than a normal law. Every interval and test here is exact, or errs on the safe side."""
        return 0.0

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        if not population:
            reach = self.noise.reaches(alpha)
            return self.point - reach, self.point + reach
        reach = self.noise.reaches(alpha / 2)
        low, high = np.clip(self.point - reach, 0, None), np.clip(self.point + reach, 0, None)
        if self.public:
            low, high = np.minimum(low, self.n), np.minimum(high, self.n)
            return self.n * clopper_pearson(low, self.n, alpha / 2)[0], self.n * clopper_pearson(high, self.n, alpha / 2)[1]
        return np.where(low > 0, scipy.stats.gamma.ppf(alpha / 4, np.maximum(low, 1)), 0.0), scipy.stats.gamma.isf(alpha / 4, high + 1)

    def bounds(self, alpha: float, method: str) -> Limits:
        """Return the limits: they hold by the exact law of the noise, and no inequality is tighter."""
        return self.limits(alpha)

    def n_limits(self, alpha: Any) -> Limits:
        """Return limits for the number of rows that miss with probability alpha at most, for each alpha."""
        reach = np.zeros(np.shape(alpha)) if self.public else sum_reaches(self.noise, self.summed, alpha)
        return np.maximum(self.n - reach, 0.0), self.n + reach

    def share_limits(self, alpha: Any, *, family: int) -> Limits:
        """Return limits for each share, rows being a sample; a private number of rows gets half of the error."""
        if self.public:
            low, high = self.limits(alpha, population=True)
            return low / max(self.n, 1), high / max(self.n, 1)
        low, high = self.limits(alpha / 2, population=True)
        fewest, most = self.n_limits(alpha / 2)
        return np.minimum(low / np.maximum(most, 1.0), 1.0), np.minimum(high / np.maximum(fewest, 1.0), 1.0)

    def select(self, positions: Array) -> LaplaceCounts:
        return replace(self, released=self.released[positions])
