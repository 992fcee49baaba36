"""The estimate of how many people hold each value, with its error: what all of them share.

``supports`` and ``scores`` say where counts and errors come from.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from deniable.contract.spec import Spec
from deniable.core.comparison import Comparison
from deniable.core.interval import Limits, check_level
from deniable.core.screening import ALPHA, Screening
from deniable.core.table import Table, count_rows
from deniable.errors import MergeError, ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.histogram import HistogramEstimate
    from deniable.core.postprocess import Postprocessed

Kind = TypeVar("Kind", bound="FrequencyEstimate")


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyEstimate(Table):
    """Unbiased counts for a list of values. Single estimates may be negative; that is what makes their sums right."""

    spec: Spec
    """The mechanism of the reports."""
    values: Sequence[Any]
    n: int
    family_size: int = field(default=0, kw_only=True)
    """How many values simultaneous statements are about: all that were estimated, also when only the top ones are kept."""
    screening: Screening | None = field(default=None, kw_only=True)
    """What a search tested, and dropped, before it named these values; None where the values were listed beforehand."""

    kind: ClassVar[str] = "frequency"

    def __post_init__(self) -> None:
        object.__setattr__(self, "family_size", self.family_size or len(self.values))

    # --- what each kind of estimate provides ---

    @property
    @abstractmethod
    def counts(self) -> Array:
        """The estimated number of people behind each value, among those who reported."""

    @abstractmethod
    def variance(self, counts: Array, *, population: bool = False) -> Array:
        """The variance of each estimated count if these were the true ones; with ``population``, of drawing the people too."""

    @property
    @abstractmethod
    def enough(self) -> float:
        """How many reports' worth of noise there is: where it is small, no test is normal."""

    @abstractmethod
    def limits(self, alpha: float, *, simultaneous: bool, population: bool) -> Limits:
        """The interval for each count that misses with probability alpha; the other two are as in ``interval``, ``population`` too."""

    @abstractmethod
    def bounds(self, alpha: float, method: str) -> Limits:
        """The bound for each count that misses with probability alpha at most, by the inequality that ``method`` names."""

    @abstractmethod
    def select(self: Kind, positions: Any) -> Kind:
        """The estimate for some of the values, by position."""

    @property
    def jump(self) -> float:
        """What a single collision of a shared hash function adds to a count, at most; 0 where no function is shared."""
        return 0.0

    def exact_test(self, other: FrequencyEstimate) -> Array | None:
        """P-values of "no change" to the other estimate that need no normal law, where there is such a test."""
        return None

    # --- what follows ---

    @property
    def epsilon(self) -> float:
        """What a report costs the person who sends it."""
        return self.spec.epsilon

    @cached_property
    def frequencies(self) -> Array:
        """The estimated share of people behind each value."""
        return self.counts / max(self.n, 1)

    @cached_property
    def stderr(self) -> Array:
        """The standard error of each count: the mechanism's noise, for the people who reported."""
        return np.asarray(np.sqrt(np.maximum(self.variance(np.clip(self.counts, 0, self.n)), 0.0)))

    @property
    def frequency_stderr(self) -> Array:
        """The standard error of each frequency."""
        return self.stderr / max(self.n, 1)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False, population: bool = False) -> Limits:
        """Limits (low, high) for each count.

        They cover the mechanism's noise; with ``population=True`` also that the people are a sample, for statements about everyone
        like them. ``simultaneous=True`` makes all intervals hold at once (Bonferroni). Where little noise was seen (below
        ``enough`` = 200, or 1000 if simultaneous) exact tests or inequalities are inverted: then the limits cover at least the level.
        """
        alpha = self._alpha(level, simultaneous)
        if self.n == 0:  # among nobody, nobody holds it
            return np.zeros(len(self.values)), np.zeros(len(self.values))
        return self.limits(alpha, simultaneous=simultaneous, population=population)

    def bound(self, level: float = 0.95, method: str = "bernstein", *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) that hold by an inequality, without any approximation: ``method`` is "hoeffding" or "bernstein"."""
        if method not in ("hoeffding", "bernstein"):
            raise ParameterError("method", method, allowed="hoeffding or bernstein", fix="bernstein is the tighter one here")
        alpha = self._alpha(level, simultaneous)
        if self.n == 0:  # among nobody, nobody holds it
            return np.zeros(len(self.values)), np.zeros(len(self.values))
        return self.bounds(alpha, method)

    def top(self: Kind, k: int = 10) -> Kind:
        """The k largest counts, the largest first."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError("k", k, allowed="an integer from 1 on", fix="ask for at least one value")
        return self.select(np.argsort(-self.counts, kind="stable")[:k])

    def significant(self, alpha: float = ALPHA, method: str = "familywise") -> Array:
        """Whether each value stands out of the noise: a test of "nobody holds it" that allows for all values that were estimated.

        ``method`` is "familywise": the chance that any value is marked that nobody holds is alpha at most (Bonferroni); these are the
        values whose simultaneous interval excludes 0. Or it is "benjamini-yekutieli": of the values that are marked, the expected share
        that nobody holds is alpha at most, however the counts depend on each other (Benjamini and Yekutieli 2001).
        """
        check_level("alpha", alpha)
        if method == "familywise":
            return self._above_zero(alpha / self.family_size if self.family_size else alpha)
        if method != "benjamini-yekutieli":
            raise ParameterError("method", method, allowed="familywise or benjamini-yekutieli", fix="familywise is the stricter one")
        step = alpha / (self.family_size * np.sum(1 / np.arange(1, self.family_size + 1))) if self.family_size else alpha
        marked = self._above_zero(step * len(self.values))
        # The largest number of values that are all below the level which that number allows: it only shrinks from here.
        while (fewer := self._above_zero(step * max(marked.sum(), 1))).sum() < marked.sum():
            marked = fewer
        return marked

    def _above_zero(self, alpha: float) -> Array:
        """Whether the interval of each count at this alpha, small enough for far tails, excludes 0."""
        if not self.n or not len(self.values):
            return np.zeros(len(self.values), dtype=bool)
        low, _ = self.limits(alpha, simultaneous=True, population=False)
        return np.asarray(low > 0)

    def found(self: Kind, positions: Any, *, share: Fraction) -> Kind:
        """What a search names of its candidates: those at the ``positions`` that are significant among all of them.

        ``share`` is that of the people in the smallest group of the search. What was at the positions before the test stays in ``ranked``.
        """
        clear, at = self.significant(), np.asarray(positions, dtype=np.int64)
        noise = float(np.mean(self.variance(np.zeros(len(self.values))))) / max(self.n, 1)
        tested = Screening(self.select(at), len(self.values), int((~clear).sum()), self.n, share, noise)
        return replace(self.select(at[clear[at]]), screening=tested)

    @property
    def ranked(self) -> FrequencyEstimate:
        """The strongest candidates of a search in their order, significant or not; of any other estimate, all values."""
        return self if self.screening is None else self.screening.ranked

    def compare(self, other: FrequencyEstimate) -> Comparison:
        """The change of each frequency from this estimate to the ``other`` one, with a test."""
        if not isinstance(other, FrequencyEstimate):
            raise ParameterError("other", other, allowed="a FrequencyEstimate", fix="estimate the other crowd first")
        if list(self.values) != list(other.values):
            raise MergeError(
                "values", list(other.values)[:5], allowed="the same values in the same order", fix="estimate both with one list"
            )
        return Comparison(self, other)

    def postprocess(self, method: str) -> Postprocessed:
        """Counts made consistent by a method: "base-cut", "norm", "norm-sub", "norm-mul" or "mle". Biased, see ``core.postprocess``."""
        from deniable.core.postprocess import postprocess

        return postprocess(self, method)

    def distribution(self) -> HistogramEstimate:
        """The distribution of numbers whose grid points were counted: quantiles, cumulative shares, mean; see ``core.histogram``."""
        from deniable.core.histogram import HistogramEstimate

        return HistogramEstimate.of(self)

    def _alpha(self, level: float, simultaneous: bool) -> float:
        check_level("level", level)
        return (1 - level) / (max(self.family_size, 1) if simultaneous else 1)

    # --- what people see ---

    @property
    def picked(self) -> bool:
        """Whether these are some of more values that were estimated: then views show intervals that hold for all of those."""
        return len(self.values) < self.family_size

    def rows(self) -> dict[str, Any]:
        rows = count_rows(self.values, self.counts, self.stderr, self.interval(0.95, simultaneous=self.picked), self.frequencies)
        return rows | {"significant": self.significant()} if self.picked and self.screening is None else rows  # a search names no others

    def headline(self) -> str:
        together = f" for all {self.family_size:,} values together" if self.picked else ""
        return f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.epsilon:.4g}; low and high: 95 %{together}, noise only"

    def order(self) -> Array:
        return np.argsort(-self.counts, kind="stable")

    def notes(self) -> list[str]:
        return [] if self.screening is None else [self.screening.told(len(self.values))]

    def chart(self, k: int = 20) -> Chart:
        """The k largest counts with their 95 % intervals."""
        from deniable.core.chart import count_chart

        return count_chart(self.top(k))
