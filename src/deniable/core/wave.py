"""A distribution from reports of the square wave mechanism: expectation maximization, with or without smoothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import exp, nan
from typing import TYPE_CHECKING

import numpy as np

from deniable.client.square_wave import SquareWave
from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.core.replicates import Fit
from deniable.core.resampling import patiently, resample
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.deconvolution import expect, settle

if TYPE_CHECKING:
    from deniable.core.mean import MeanEstimate

METHODS = {"ems": "EM with smoothing", "em": "EM"}
SMOOTH_FROM = 32
"""The steps from which neighboring points are so close that smoothing is the smaller evil."""
GAIN = 1e-3
"""A step that gains less in log-likelihood is the last one; without smoothing e^epsilon times as much is enough (Li et al. 2020)."""
MOST_STEPS = 100_000
REMEMBERED = 8
"""Tallies whose replicates are kept: two megabytes each, on the usual grid."""


@dataclass(frozen=True, eq=False)
class Wave(Fit):
    """Shares that explain the counts of the cells, ``counters``, found step by step from equal ones.

    The likeliest shares are a few spikes that follow the noise. So the steps end early, and ``ems``, the usual method, also averages
    neighboring points in each step. Both draw the estimate towards smooth ones.

    >>> from deniable.testing import ReplaySource
    >>> oracle = SquareWave(low=0, high=100, epsilon=2.0, steps=100)
    >>> ages = np.arange(20_000) % 40 + 30
    >>> found = oracle.estimate(oracle.tally(oracle.privatize(ages, source=ReplaySource.from_key("wave"))))
    >>> found = found.resampled(source=ReplaySource.from_key("wave, again"))
    >>> found.quantile(0.5), found.quantile_interval(0.5), round(found.cdf(30), 3), round(float(found.frequencies[:29].sum()), 3)
    (50, (49, 50), 0.051, 0.029)
    """

    spec: SquareWave
    n: int
    counters: Array
    method: str

    @classmethod
    def of(cls, spec: SquareWave, tally: Tally) -> Wave:
        """The fit of a tally, by the usual method."""
        return cls(spec, tally.n, tally.counters, "ems" if spec.steps >= SMOOTH_FROM else "em")

    def using(self, method: str) -> Wave:
        """The same tally by another method."""
        if method not in METHODS:
            raise ParameterError(
                "method",
                method,
                allowed=f"one of {sorted(METHODS)}",
                fix="use ems, which smooths and errs less where there are many values",
            )
        return replace(self, method=method)

    @cached_property
    def shares(self) -> Array:
        return self._solve(self.counters) if self.n else np.full(self.spec.steps + 1, nan)

    @property
    def how(self) -> str:  # type: ignore[override]  # it depends on the method
        return METHODS[self.method]

    @property
    def bias(self) -> str:  # type: ignore[override]
        cause = "smoothing" if self.method == "ems" else "stopping early"
        return f"{cause} biases the shares, so limits miss more often than they say"

    @cached_property
    def mean(self) -> MeanEstimate:
        """The mean of the reports, as ``Piecewise`` estimates it."""
        cells = np.arange(self.counters.size)
        sums = np.array([self.counters @ cells, self.counters @ cells**2])
        return self.spec.piecewise.estimate(Tally(self.spec.piecewise, self.n, sums))

    def draw(self, replicates: int, source: Source | None, progress: Progress | None) -> Array:
        expected = np.empty(self.counters.size)
        expect(self.shares, *self._law, np.empty(self.spec.steps + 2), expected)
        tallies = resample(expected, self.n, replicates, source)
        return np.stack(patiently(self._solve, list(tallies), progress))

    def replayed(self, key: str) -> Array:
        """As for every fit; for the last few tallies that were asked for it is known already."""
        return _replayed(self.spec, self.n, self.counters.tobytes(), self.method, key)

    def _solve(self, counters: Array) -> Array:
        smooth = self.method == "ems"
        shares = np.full(self.spec.steps + 1, 1 / (self.spec.steps + 1))
        tolerance = GAIN if smooth else GAIN * exp(self.spec.epsilon)
        settle(counters.astype(np.float64), *self._law, smooth, tolerance, MOST_STEPS, shares)
        return shares

    @property
    def _law(self) -> tuple[int, float, float]:
        return self.spec.window, float(self.spec.inside), float(self.spec.outside)


@lru_cache(maxsize=REMEMBERED)
def _replayed(spec: SquareWave, n: int, counters: bytes, method: str, key: str) -> Array:
    """Return what ``replayed`` draws and solves anew for a tally: seconds of work, whose outcome follows from the tally alone."""
    return Fit.replayed(Wave(spec, n, np.frombuffer(counters, dtype=np.int64), method), key)
