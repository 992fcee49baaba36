"""A distribution from counts: any oracle that counts the points of a coarse grid.

``dn.OUE(domain=dn.Numbers(0, 100, steps=20), epsilon=1.0)`` counts people by the nearest of 21 points, and ``estimate.distribution()``
makes a distribution of it: the nearest counts that are not negative and add up to n (``norm-sub``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan

import numpy as np
import scipy

from deniable.contract.numbers import Numbers
from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.core.distribution import DistributionEstimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.mean import MeanEstimate
from deniable.core.postprocess import norm_sub
from deniable.core.replicates import Fit
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.multinomial import fill_uniform


@dataclass(frozen=True, eq=False)
class Counting(Fit):
    """Shares of a few points, from ``raw``, an unbiased estimate of the counts.

    Errors of different counts are taken to be independent. Where a report speaks for some points and so against others (GRR, subset
    selection) sums of counts err less than that, and intervals are a little too wide.

    >>> from deniable.client import OUE
    >>> from deniable.testing import ReplaySource
    >>> oracle = OUE(domain=Numbers(0, 100, steps=20), epsilon=2.0)
    >>> ages = np.arange(20_000) % 40 + 30
    >>> counted = oracle.estimate(oracle.tally(oracle.privatize(ages, source=ReplaySource.from_key("histogram"))))
    >>> found = counted.distribution().resampled(source=ReplaySource.from_key("histogram, again"))
    >>> found.quantile(0.5), found.quantile_interval(0.5), round(found.cdf(40), 3), round(found.mean.value, 1)
    (50, (50, 50), 0.337, 49.1)
    """

    raw: FrequencyEstimate
    how = "counting"
    bias = "the shares are biased, since they are made to add up with none below 0"

    @property
    def n(self) -> int:
        """The number of people who reported."""
        return self.raw.law.n

    @property
    def domain(self) -> Numbers:
        """The range and its grid."""
        domain: Numbers = self.raw.spec.domain
        return domain

    @cached_property
    def shares(self) -> Array:
        return self._shares(self.raw.counts) if self.n else np.full(self.domain.size, nan)

    @cached_property
    def mean(self) -> MeanEstimate:
        """The sum of points times counts, in distances from the middle of the range, where the error of a count weighs least."""
        steps = self.domain.steps
        places = (np.arange(steps + 1) - steps / 2) * float(self.domain.width / steps)
        middle, n = float(self.domain.start + self.domain.width / 2), max(self.n, 1)
        noise, drawn = (
            float(np.sum(places**2 * np.maximum(self.raw.law.variance(np.clip(self.raw.counts, 0, self.n), population=some), 0.0))) / n**2
            for some in (False, True)
        )
        reach = self.raw.spec.influence * float(np.abs(places).sum())
        return MeanEstimate.of(
            self.raw.spec,
            self.n,
            middle + float(places @ self.raw.counts) / n,
            noise=noise,
            drawn=drawn,
            span=(middle - reach, middle + reach),
            worst=reach**2,
            kurtosis=3.0,  # a sum over many points
        )

    def draw(self, replicates: int, source: Source | None, progress: Progress | None) -> Array:
        counts = self.n * self.shares
        errors = np.sqrt(np.maximum(self.raw.law.variance(counts, population=True), 0.0))
        uniform = np.empty(replicates * self.domain.size)
        serve_everyone(uniform.size, lambda part, words: fill_uniform(uniform[part], words), source)
        drawn = counts + errors * scipy.special.ndtri(uniform).reshape(replicates, -1)
        return np.stack([self._shares(row) for row in drawn])

    def _shares(self, counts: Array) -> Array:
        return norm_sub(counts, float(self.n)) / self.n


def distribution_of(raw: FrequencyEstimate) -> DistributionEstimate:
    """Return the distribution behind ``raw``, the counts of all points of a grid."""
    domain = raw.spec.domain
    if not isinstance(domain, Numbers) or len(raw.values) != domain.size:
        raise ParameterError(
            "domain",
            domain,
            allowed="Numbers, with every point of its grid counted",
            fix="count with domain=Numbers(low, high, steps=20), or use SquareWave",
        )
    return DistributionEstimate.of(raw.spec, raw.n, Counting(raw))
