"""What noisy degrees tell: the distribution, the number of edges, and the sum of any function of the degrees, all unbiased.

The noise has P(z) = (1 - a) / (1 + a) a^|z|. For any function f on the integers let::

    g(y) = f(y) - a / (1 - a)^2 (f(y + 1) - 2 f(y) + f(y - 1))

Then E g(d + z) = f(d), exactly and for every d: the noise is undone by one second difference. With f the indicator of a degree this is
the deconvolved histogram, of which each count needs three cells. With f = C(d, k) it counts k-stars, without any second question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp
from typing import TYPE_CHECKING, Any, ClassVar

import altair as alt
import numpy as np
from scipy import signal, special, stats

from deniable.core.chart import Chart
from deniable.core.interval import NORMAL_FROM, Limits, check_level, few_large
from deniable.core.postprocess import norm_sub
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.graphs.count import CountEstimate
from deniable.tasks.graphs.privacy import GraphGuarantee

if TYPE_CHECKING:
    from deniable.tasks.graphs.degrees import Degrees

REACH = 40
"""Noise beyond so many scales is left out of the errors, not of the estimates: e^-40 of it."""


@dataclass(frozen=True, eq=False, repr=False)
class DegreeEstimate(Table):
    """Counts of people by their number of ties, with standard errors; negative counts are what makes them unbiased."""

    spec: Degrees
    """What was asked."""
    reports: Array
    """Everybody's noisy degree."""

    kind: ClassVar[str] = "degrees"

    @property
    def n(self) -> int:
        """How many people reported."""
        return int(self.reports.size)

    @property
    def guarantee(self) -> GraphGuarantee:
        """What is promised to each person, or tie."""
        return self.spec.guarantee

    @property
    def values(self) -> range:
        """The degrees that there can be."""
        return range(self.spec.top + 1)

    @property
    def ratio(self) -> float:
        """How much less likely a step more of noise is."""
        return exp(-1 / self.spec.noise.scale)

    @property
    def _bend(self) -> float:
        return self.ratio / (1 - self.ratio) ** 2

    @cached_property
    def counts(self) -> Array:
        """How many people have each degree."""
        return self._undone(self._within(self.reports, -1, self.spec.top + 1))

    @cached_property
    def likely(self) -> Array:
        """Counts that are not negative and add up to n, the nearest to the unbiased ones: for pictures, samples and errors."""
        return norm_sub(self.counts, float(self.n))

    @property
    def distribution(self) -> Array:
        """The same as shares of all people; post-processed, so single shares are biased."""
        return self.likely / self.n

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each count: of its unbiased variance, and of that at the likely counts, the larger one."""
        expected, offset = self._expected
        at = np.arange(self.spec.top + 1) + offset
        seen = self._within(self.reports, -1, self.spec.top + 1)
        middle, side = (1 + 2 * self._bend) ** 2, self._bend**2
        likely = middle * expected[at] + side * (expected[at - 1] + expected[at + 1]) - self.likely
        unbiased = middle * seen[1:-1] + side * (seen[2:] + seen[:-2]) - self.counts
        return np.sqrt(np.maximum(np.maximum(likely, unbiased), 0.0))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) of each count: normal, or by Bernstein's inequality where fewer than 200 reports are expected to matter."""
        check_level("level", level)
        alpha = (1 - level) / (len(self.values) if simultaneous else 1)
        expected, offset = self._expected
        at = np.arange(self.spec.top + 1) + offset
        enough = expected[at - 1] + expected[at] + expected[at + 1] >= NORMAL_FROM
        normal = float(stats.norm.isf(alpha / 2)) * self.stderr
        reach = np.where(enough, normal, few_large(self.stderr**2, 1 + 3 * self._bend, alpha))
        return self.counts - reach, self.counts + reach

    # --- sums over all people ---

    @property
    def edges(self) -> CountEstimate:
        """The number of undirected edges: half of all degrees."""
        variance = self.n * self.spec.noise.variance / 4
        return self._count("edges", float(self.reports.sum(dtype=float)) / 2, variance)

    def stars(self, k: int) -> CountEstimate:
        """The number of k-stars: a person and k of their ties. Of 1-stars there are twice as many as edges."""
        check_whole("k", k, 1, 10, fix="2 counts pairs of ties of one person")
        return self.total(f"{k}-stars", lambda degree: special.comb(degree, k))

    def between(self, low: int, high: int) -> CountEstimate:
        """How many people have from ``low`` to ``high`` ties: one question, and a smaller error than the sum of its counts would seem."""
        if not 0 <= low <= high <= self.spec.top:
            raise ParameterError("low, high", (low, high), allowed=f"0 <= low <= high <= {self.spec.top}", fix="degrees, both included")
        return self.total(f"{low} to {high} ties", lambda degree: ((degree >= low) & (degree <= high)).astype(float))

    def total(self, name: str, function: Callable[[Array], Array]) -> CountEstimate:
        """The sum of any function over everybody's degree, under a name; ``function`` takes an array of degrees.

        Below 0 and above the largest degree its last values go on. How a function goes on where no degree is does not touch the mean, only
        the error; and reports far outside, of the noise or of a liar, count as those at the ends do.
        """
        top = self.spec.top
        f = np.asarray(function(np.clip(np.arange(-2, top + 3), 0, top)), dtype=float)
        g, of_square = self._undone(f), self._undone(f**2)  # from -1 to top + 1; beyond, both stay as they are
        places = np.clip(self.reports, -1, top + 1) + 1
        expected, offset = self._expected
        begin, end = offset - 1, offset + top + 2
        folded = expected[begin:end].copy()
        folded[0] += expected[:begin].sum()
        folded[-1] += expected[end:].sum()
        unbiased = float((g**2 - of_square)[places].sum())
        likely = float((folded * g**2).sum() - (self.likely * f[2:-2] ** 2).sum())
        return self._count(name, float(g[places].sum()), max(unbiased, likely))  # few large degrees are lost among the likely ones

    def _undone(self, f: Array) -> Array:
        return np.asarray(f[1:-1] - self._bend * (f[2:] - 2 * f[1:-1] + f[:-2]))

    def _count(self, name: str, value: float, variance: float) -> CountEstimate:
        return CountEstimate(name, value, max(variance, 0.0) ** 0.5, self.n, self.guarantee, {"noise": variance})

    @cached_property
    def _expected(self) -> tuple[Array, int]:
        """How many reports of each number the likely counts would give, and where 0 stands among them.

        Noise of both signs, by one running sum from each end. All terms are positive, so small numbers are right as well: they are
        multiplied by large squares, and a Fourier transform would round them to those of the largest.
        """
        reach = ceil(REACH * self.spec.noise.scale) + 2
        padded = np.pad(self.likely, reach)
        up, down = (signal.lfilter([1.0], [1.0, -self.ratio], each) for each in (padded, padded[::-1]))
        return (up + down[::-1] - padded) * (1 - self.ratio) / (1 + self.ratio), reach

    @staticmethod
    def _within(reports: Array, low: int, high: int) -> Array:
        kept = reports[(reports >= low) & (reports <= high)]
        return np.bincount(kept - low, minlength=high - low + 1).astype(float)

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": list(self.values), "count": self.counts, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        promise = self.guarantee
        return f"{self.n:,} degrees, epsilon = {promise.epsilon:.4g} for {promise.neighbors}; low and high: 95 %, noise only"

    def order(self) -> Array:
        return np.arange(len(self.values))

    def chart(self) -> Chart:
        """Counts by degree with their 95 % intervals, up to the degree that nearly everyone is below."""
        last = int(np.searchsorted(np.cumsum(self.likely), 0.995 * self.n)) + 1
        low, high = self.interval()
        columns = [column[:last].tolist() for column in (self.counts, low, high, self.likely)]
        records = [
            dict(zip(("ties", "people", "low", "high", "likely"), row, strict=True)) for row in zip(range(last), *columns, strict=False)
        ]
        base = alt.Chart(alt.InlineData(values=records)).encode(x=alt.X("ties:Q", axis=alt.Axis(tickMinStep=1)))
        layers = [
            base.mark_rule().encode(y=alt.Y("low:Q", title="people"), y2="high:Q"),
            base.mark_point(filled=True, size=30).encode(y="people:Q"),
            base.mark_line(color="#e45756", interpolate="step").encode(y="likely:Q"),
        ]
        subtitle = "points: unbiased, with 95 % intervals, noise only; red: not negative, adding up to everyone"
        title = alt.Title(f"People by their number of ties, epsilon = {self.spec.epsilon:g}", subtitle=subtitle)
        return Chart(alt.layer(*layers).properties(title=title, width=480))
