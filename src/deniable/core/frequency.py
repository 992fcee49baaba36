"""The estimate of how many people hold each value, with its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.spec import Spec
from deniable.core import interval
from deniable.core.comparison import Comparison
from deniable.core.interval import check_level
from deniable.core.table import Table
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.postprocess import Postprocessed

BOUNDS = {"hoeffding": interval.hoeffding, "bernstein": interval.bernstein}


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyEstimate(Table):
    """Unbiased counts for a list of values. Single estimates may be negative; that is what makes their sums right.

    ``supports`` is the number of reports that support each value; p and q are the exact law's probabilities that a report supports
    its sender's value and another one.

    >>> from deniable.client import RR
    >>> spec = RR.from_probabilities("3/4", "1/4")
    >>> estimate = FrequencyEstimate(spec, ["no", "yes"], 100, np.array([35, 65]), np.array(0.75), np.array(0.25))
    >>> estimate
    100 reports, RR, epsilon = 1.099; low and high: 95 %, noise only
    value  count  stderr  low  high  frequency
    yes       80    8.66   63    98        0.8
    no        20    8.66    2    37        0.2
    """

    spec: Spec
    values: Sequence[Any]
    n: int
    supports: Array
    p: Array
    q: Array
    family_size: int = 0
    """How many values simultaneous statements are about: all that were estimated, also when only the top ones are kept."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family_size", self.family_size or len(self.values))

    @cached_property
    def counts(self) -> Array:
        """The estimated number of people behind each value, among those who reported."""
        counts: Array = (self.supports - self.n * self.q) / (self.p - self.q)
        return counts

    @cached_property
    def frequencies(self) -> Array:
        """The estimated share of people behind each value."""
        return self.counts / max(self.n, 1)

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each count: the mechanism's noise, for the people who reported."""
        p, q = self.p, self.q
        held = np.clip(self.counts, 0, self.n)
        variance = self.n * q * (1 - q) / (p - q) ** 2 + held * (1 - p - q) / (p - q)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    @property
    def frequency_stderr(self) -> Array:
        """The standard error of each frequency."""
        return self.stderr / max(self.n, 1)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False, population: bool = False) -> tuple[Array, Array]:
        """Limits (low, high) for each count.

        They cover the mechanism's noise; with ``population=True`` also that the people are a sample, for statements about everyone
        like them. ``simultaneous=True`` makes all intervals hold at once (Bonferroni). Below n q (1 - q) or
        n p (1 - p) = 200 (1000 if simultaneous) exact tests are inverted: then the limits cover at least the level.
        """
        alpha = self._alpha(level, simultaneous)
        arguments = (self.supports.astype(float), self.n, self.p, self.q, alpha)
        if self.n == 0:  # among nobody, nobody holds it
            return np.zeros(len(self.values)), np.zeros(len(self.values))
        enough = interval.NORMAL_TAILS_FROM if simultaneous else interval.NORMAL_FROM
        plenty = self.least_variance >= enough
        if population:
            return interval.sampling_score(*arguments) if plenty and not simultaneous else interval.sampling_exact(*arguments)
        return interval.score(*arguments, skewness=simultaneous) if plenty else interval.exact(*arguments)

    @property
    def least_variance(self) -> float:
        """The variance of the supports if everyone, or nobody, held a value, whichever is less: where it is small, no test is normal."""
        return float(self.n * np.min(np.minimum(self.q * (1 - self.q), self.p * (1 - self.p)), initial=np.inf))

    def bound(self, level: float = 0.95, method: str = "bernstein", *, simultaneous: bool = False) -> tuple[Array, Array]:
        """Limits (low, high) that hold by an inequality, "hoeffding" or "bernstein", without any approximation."""
        if method not in BOUNDS:
            raise ParameterError("method", method, allowed=" or ".join(BOUNDS), fix="bernstein is the tighter one here")
        alpha = self._alpha(level, simultaneous)
        if self.n == 0:  # among nobody, nobody holds it
            return np.zeros(len(self.values)), np.zeros(len(self.values))
        return BOUNDS[method](self.supports.astype(float), self.n, self.p, self.q, alpha)

    def top(self, k: int = 10) -> FrequencyEstimate:
        """The k largest counts, the largest first."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError("k", k, allowed="an integer from 1 on", fix="ask for at least one value")
        return self.select(np.argsort(-self.counts, kind="stable")[:k])

    def select(self, positions: Any) -> FrequencyEstimate:
        """The estimate for some of the values, by position."""
        positions = np.asarray(positions)
        p = np.broadcast_to(self.p, self.supports.shape)[positions]
        q = np.broadcast_to(self.q, self.supports.shape)[positions]
        return FrequencyEstimate(self.spec, [self.values[i] for i in positions], self.n, self.supports[positions], p, q, self.family_size)

    def compare(self, other: FrequencyEstimate) -> Comparison:
        """The change of each frequency from this estimate to another one, with a test."""
        if not isinstance(other, FrequencyEstimate):
            raise ParameterError("other", other, allowed="a FrequencyEstimate", fix="estimate the other crowd first")
        if list(self.values) != list(other.values):
            raise MergeError(
                "values", list(other.values)[:5], allowed="the same values in the same order", fix="estimate both with one list"
            )
        return Comparison(self, other)

    def postprocess(self, method: str) -> Postprocessed:
        """Counts made consistent by "base-cut", "norm", "norm-sub" or "norm-mul"; biased, see ``core.postprocess``."""
        from deniable.core.postprocess import postprocess

        return postprocess(self, method)

    def _alpha(self, level: float, simultaneous: bool) -> float:
        check_level("level", level)
        return (1 - level) / (max(self.family_size, 1) if simultaneous else 1)

    # --- what people see ---

    @property
    def picked(self) -> bool:
        """Whether these are some of more values that were estimated: then views show intervals that hold for all of those."""
        return len(self.values) < self.family_size

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95, simultaneous=self.picked)
        return {
            "value": list(self.values),
            "count": self.counts,
            "stderr": self.stderr,
            "low": low,
            "high": high,
            "frequency": self.frequencies,
        }

    def headline(self) -> str:
        together = f" for all {self.family_size:,} values together" if self.picked else ""
        return f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.spec.epsilon:.4g}; low and high: 95 %{together}, noise only"

    def order(self) -> Array:
        return np.argsort(-self.counts, kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k largest counts with their 95 % intervals."""
        from deniable.core.chart import count_chart

        return count_chart(self.top(k))
