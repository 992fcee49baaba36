"""What noisy degrees show: the distribution, the number of edges, and the sum of any function of the degrees, all unbiased.

The noise has P(z) = (1 - a) / (1 + a) a^|z|. For any function f on the integers let::

    g(y) = f(y) - a / (1 - a)^2 (f(y + 1) - 2 f(y) + f(y - 1))

Then E g(d + z) = f(d), exactly and for every d: the noise is undone by one second difference. With f the indicator of a degree this is
the deconvolved histogram, of which each count needs three cells. With f = C(d, k) it counts k-stars, without any second question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, exp
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy

from deniable.core.estimate import NumberEstimate, PeopleEstimate
from deniable.core.interval import NORMAL_FROM, Limits, few_large
from deniable.core.law import Law
from deniable.core.postprocess import norm_sub
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.graphs.count import GraphCount, check_whole_graph, graph_count

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.tasks.graphs.degrees import Degrees

REACH = 40
"""Noise beyond so many scales is left out of the errors, not of the estimates: e^-40 of it."""
DRAWN = 0.995
"""Charts go to the degree that this share of the people is below."""


@dataclass(frozen=True, eq=False, kw_only=True)
class DegreeCounts(Law):
    """Counts of people by their number of ties, from noisy degrees.

    Limits are normal where ``plenty`` of reports are expected to matter, and by Bernstein's inequality where fewer than 200 are.
    """

    n: int
    numbers: Array
    noise: Array
    """The variance of each count."""
    plenty: Array
    jump: float
    """The most that one report can add to a count."""

    @property
    def point(self) -> Array:
        return self.numbers

    def variance(self, at: Array, *, population: bool = False) -> Array:
        check_whole_graph(population)
        return self.noise

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        check_whole_graph(population)
        reach = np.where(self.plenty, scipy.stats.norm.isf(alpha / 2) * np.sqrt(self.noise), few_large(self.noise, self.jump, alpha))
        return self.numbers - reach, self.numbers + reach

    def select(self, positions: Array) -> DegreeCounts:
        return replace(self, **{name: getattr(self, name)[positions] for name in ("numbers", "noise", "plenty")})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DegreeEstimate(PeopleEstimate):
    """Counts of people by their number of ties, with standard errors; negative counts are what makes them unbiased."""

    spec: Degrees
    """The question."""
    reports: Array
    """Each person's noisy degree."""
    likely: Array
    """Counts that are not negative and add up to n, the nearest to the unbiased ones: for pictures, samples and errors."""
    figure: Mapping[str, Any] = field(default_factory=lambda: {"mark": "curve", "axis": "people"})

    kind: str = "degrees"

    @classmethod
    def of(cls, spec: Degrees, reports: Array) -> Self:
        """Return the counts behind everyone's noisy degree.

        The variance of each count is its unbiased one, or that at the likely counts, whichever is larger.
        """
        bend, n, promise = _bend(spec), int(reports.size), spec.guarantee
        seen = _within(reports, -1, spec.top + 1)
        counts = _undone(seen, bend)
        likely = norm_sub(counts, float(n))
        expected, offset = _expected(likely, spec)
        before, at, after = (expected[np.arange(spec.top + 1) + offset + step] for step in (-1, 0, 1))
        middle, side = (1 + 2 * bend) ** 2, bend**2
        variance = np.maximum(middle * at + side * (before + after) - likely, middle * seen[1:-1] + side * (seen[2:] + seen[:-2]) - counts)
        plenty = before + at + after >= NORMAL_FROM
        return cls(
            spec=spec,
            reports=reports,
            likely=likely,
            details={"likely": likely},
            values=range(spec.top + 1),
            law=DegreeCounts(n=n, numbers=counts, noise=np.maximum(variance, 0.0), plenty=plenty, jump=1 + 3 * bend),
            about=f"{n:,} degrees, epsilon = {promise.epsilon:.4g} for {promise.neighbors}",
            guarantee=promise,
        )

    @property
    def distribution(self) -> Array:
        """Return the likely counts as shares of all people; they are post-processed, so single shares are biased."""
        return np.asarray(self.likely / self.n)

    # --- sums over all people ---

    @property
    def edges(self) -> NumberEstimate:
        """The number of undirected edges: half the sum of all degrees."""
        return self._count("edges", float(self.reports.sum(dtype=float)) / 2, self.n * self.spec.noise.variance / 4)

    def stars(self, k: int) -> NumberEstimate:
        """Return the number of k-stars: a person and k of their ties. A graph has twice as many 1-stars as edges."""
        check_whole("k", k, 1, 10, fix="pass 2 to count pairs of ties of one person")
        return self.total(f"{k}-stars", lambda degree: scipy.special.comb(degree, k))

    def between(self, low: int, high: int) -> NumberEstimate:
        """Return how many people have ``low`` to ``high`` ties, with a smaller error than adding up single counts would suggest."""
        if not 0 <= low <= high <= self.spec.top:
            raise ParameterError(
                "low, high", (low, high), allowed=f"0 <= low <= high <= {self.spec.top}", fix="pass two degrees; both ends are included"
            )
        return self.total(f"{low} to {high} ties", lambda degree: ((degree >= low) & (degree <= high)).astype(float))

    def total(self, name: str, function: Callable[[Array], Array]) -> NumberEstimate:
        """Return the sum of a function over everyone's degree, under a name; ``function`` takes an array of degrees.

        Below 0 and above the largest degree its last values go on. How a function goes on where no degree is does not touch the mean, only
        the error; and reports far outside, of the noise or of a false report, count as those at the ends do.
        """
        top = self.spec.top
        f = np.asarray(function(np.clip(np.arange(-2, top + 3), 0, top)), dtype=float)
        g, of_square = _undone(f, self._bend), _undone(f**2, self._bend)  # from -1 to top + 1; beyond, both stay as they are
        places = np.clip(self.reports, -1, top + 1) + 1
        expected, offset = self._expected
        begin, end = offset - 1, offset + top + 2
        folded = expected[begin:end].copy()
        folded[0] += expected[:begin].sum()
        folded[-1] += expected[end:].sum()
        unbiased = float((g**2 - of_square)[places].sum())
        likely = float((folded * g**2).sum() - (self.likely * f[2:-2] ** 2).sum())
        return self._count(name, float(g[places].sum()), max(unbiased, likely))  # few large degrees are lost among the likely ones

    def _count(self, name: str, value: float, variance: float) -> NumberEstimate:
        return graph_count(name, GraphCount(n=self.n, number=value, noise=max(variance, 0.0)), self.spec.guarantee)

    @cached_property
    def _expected(self) -> tuple[Array, int]:
        return _expected(self.likely, self.spec)

    @property
    def _bend(self) -> float:
        return _bend(self.spec)

    # --- what people see ---

    def chart(self, k: int = 20, *, truth: Any = None, title: str | None = None) -> Chart:
        """Return a chart of counts by degree under a ``title``, up to the degree that nearly everyone is below."""
        last = int(np.searchsorted(np.cumsum(self.likely), DRAWN * self.n)) + 1
        if last >= len(self.values):
            return super().chart(k, truth=truth, title=title)
        return self.select(range(last)).chart(k, truth=None if truth is None else np.asarray(truth)[:last], title=title)


def _bend(spec: Degrees) -> float:
    """How much of a second difference undoes the noise: a / (1 - a)^2."""
    ratio = _ratio(spec)
    return ratio / (1 - ratio) ** 2


def _ratio(spec: Degrees) -> float:
    """How much less likely a step more of noise is."""
    return exp(-1 / spec.noise.scale)


def _undone(f: Array, bend: float) -> Array:
    return np.asarray(f[1:-1] - bend * (f[2:] - 2 * f[1:-1] + f[:-2]))


def _expected(likely: Array, spec: Degrees) -> tuple[Array, int]:
    """Return how many reports of each number the likely counts would give, and the position of 0 among them.

    Noise of both signs, by one running sum from each end. All terms are positive, so small numbers are right as well: they are
    multiplied by large squares, and a Fourier transform would round them to those of the largest.
    """
    ratio, reach = _ratio(spec), ceil(REACH * spec.noise.scale) + 2
    padded = np.pad(likely, reach)
    up, down = (scipy.signal.lfilter([1.0], [1.0, -ratio], each) for each in (padded, padded[::-1]))
    return (up + down[::-1] - padded) * (1 - ratio) / (1 + ratio), reach


def _within(reports: Array, low: int, high: int) -> Array:
    kept = reports[(reports >= low) & (reports <= high)]
    return np.bincount(kept - low, minlength=high - low + 1).astype(float)
