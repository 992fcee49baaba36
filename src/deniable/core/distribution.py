"""The estimate of how numbers are distributed, with its error: what all of them share.

``wave`` and ``histogram`` say where the shares and their errors come from.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from scipy import stats

from deniable.contract.numbers import Numbers
from deniable.contract.source import Source
from deniable.contract.spec import Spec
from deniable.core.interval import Limits, check_level
from deniable.core.resampling import REPLICATES, Progress
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.testing import ReplaySource

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.mean import MeanEstimate
    from deniable.core.mean_comparison import MeanComparison

Kind = TypeVar("Kind", bound="DistributionEstimate")
QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
FEWEST, MOST = 20, 100_000
_ROUNDING = Fraction(1, 10**6)


@dataclass(frozen=True, eq=False, repr=False)
class DistributionEstimate(Table):
    """The share of people at each point of the grid of a ``spec``; none is negative, and they add up to one.

    No such estimate is unbiased: ``biased`` says why. Errors and intervals come from drawing the tally anew, as it would come out if the
    estimate were the truth, and estimating again. What the estimate then misses on average is subtracted, and widens the intervals. They
    cover the mechanism's noise and that the people are a sample. ``mean`` is estimated by itself, without bias.
    """

    spec: Spec
    n: int
    replicates: Array | None = field(default=None, kw_only=True)
    """The shares that came out of tallies drawn anew, one set in each row; drawn when they are first needed."""

    kind: ClassVar[str] = "distribution"

    # --- what each kind of estimate provides ---

    @property
    @abstractmethod
    def frequencies(self) -> Array:
        """The estimated share of people at each grid point."""

    @property
    @abstractmethod
    def mean(self) -> MeanEstimate:
        """The mean, without the bias of the shares, and with its error."""

    @property
    @abstractmethod
    def how(self) -> str:
        """How the shares were found, in a word or two."""

    @property
    @abstractmethod
    def biased(self) -> str:
        """Why the estimate is biased."""

    @abstractmethod
    def draw(self, replicates: int, source: Source | None, progress: Progress | None) -> Array:
        """Shares from so many tallies, the replicates, drawn as if the estimate were the truth."""

    # --- what is asked of it ---

    @property
    def domain(self) -> Numbers:
        """The range, its grid and its units."""
        domain = self.spec.domain
        if not isinstance(domain, Numbers):
            raise ParameterError("domain", domain, allowed="Numbers", fix="distributions are of numbers: domain=Numbers(0, 100, steps=20)")
        return domain

    @cached_property
    def values(self) -> list[Any]:
        """The grid points: numbers, or datetimes."""
        found = [self.domain.value(key) for key in range(self.domain.size)]
        return found if self.domain.times or all(isinstance(value, int) for value in found) else [float(value) for value in found]  # type: ignore[arg-type]  # numbers, since no times

    def cdf(self, x: Any) -> Any:
        """The share of people at or below x, or below each entry of a list of them."""
        below = np.concatenate([[0.0], np.cumsum(self.frequencies)])[self._places(x)]
        return below if isinstance(x, list | tuple | np.ndarray) else float(below[0])

    def cdf_interval(self, x: Any, level: float = 0.95) -> Any:
        """Limits (low, high) for the share of people at or below x, or below each entry of a list of them."""
        check_level("level", level)
        low, high = (np.concatenate([[0.0], limit])[self._places(x)] for limit in self._band(level))
        return (low, high) if isinstance(x, list | tuple | np.ndarray) else (float(low[0]), float(high[0]))

    def quantile(self, q: float) -> Any:
        """The first grid point that a share q of the people is at or below: 0.5 is the median. Of nobody, None."""
        check_level("q", q)
        return self._first(np.cumsum(self.frequencies), q) if self.n else None

    def quantile_interval(self, q: float, level: float = 0.95) -> tuple[Any, Any]:
        """Limits (low, high) for the quantile at a share q: between them, ``cdf_interval`` does not rule it out."""
        check_level("q", q)
        check_level("level", level)
        low, high = self._band(level)
        return self._first(high, q), self._first(low, q)

    def interval(self, level: float = 0.95) -> Limits:
        """Limits (low, high) for the share at each grid point. Single points are hardly ever known well; prefer ``cdf_interval``."""
        check_level("level", level)
        return self._limits(self.frequencies, self._again, level)

    @cached_property
    def stderr(self) -> Array:
        """The standard error of the share at each grid point."""
        return np.asarray(self._again.std(axis=0, ddof=1)) if self.n else np.full(self.domain.size, np.inf)

    def resampled(self: Kind, replicates: int = REPLICATES, *, source: Source | None = None, progress: Progress | None = None) -> Kind:
        """This estimate with errors from so many tallies drawn anew: the replicates."""
        if isinstance(replicates, bool) or not isinstance(replicates, int) or not FEWEST <= replicates <= MOST:
            raise ParameterError("replicates", replicates, allowed=f"an integer from {FEWEST} to {MOST}", fix=f"{REPLICATES} is usual")
        return replace(self, replicates=self.draw(replicates, source, progress) if self.n else np.zeros((0, self.domain.size)))

    def replayed(self: Kind) -> Kind:
        """This estimate with the errors that everyone gets who has the same tally: what is drawn anew follows from what is public."""
        source = ReplaySource.from_key(f"deniable replicates 1 {self.spec.digest.hex()} {self.n}")
        return self.resampled(source=source, progress=lambda done, of: None)  # for services: nobody looks at their terminal

    def compare(self, other: DistributionEstimate) -> MeanComparison:
        """The change of the mean from this estimate to the ``other`` one, with a test."""
        if not isinstance(other, DistributionEstimate):
            raise ParameterError("other", other, allowed="an estimate of a distribution", fix="estimate the other crowd first")
        return self.mean.compare(other.mean)

    @cached_property
    def _again(self) -> Array:
        found = self.replicates if self.replicates is not None else self.resampled().replicates
        return np.zeros((0, self.domain.size)) if found is None else found

    def _band(self, level: float) -> Limits:
        """Limits of the cumulative shares, at every grid point; they rise, as what they hold does."""
        low, high = self._limits(np.cumsum(self.frequencies), np.cumsum(self._again, axis=1), level)
        high[-1] = 1.0  # everybody is at or below the last point
        if self.n:
            low[-1] = 1.0
        return np.maximum.accumulate(low), np.asarray(np.minimum.accumulate(high[::-1])[::-1])

    def _limits(self, found: Array, again: Array, level: float) -> Limits:
        """What the estimate misses on average is taken away; not knowing it better, it also counts as an error."""
        if not self.n:
            return np.zeros(found.size), np.ones(found.size)
        missed = again.mean(axis=0) - found
        reach = stats.norm.isf((1 - level) / 2) * np.sqrt(again.var(axis=0, ddof=1) + missed**2)
        return np.clip(found - missed - reach, 0.0, 1.0), np.clip(found - missed + reach, 0.0, 1.0)

    def _first(self, cumulative: Array, q: float) -> Any:
        return self.values[min(int(np.searchsorted(cumulative, q - 1e-12)), self.domain.size - 1)]

    def _places(self, x: Any) -> Array:
        """For each x, how many grid points are at or below it; a point written as a double may be a little below itself."""
        several = x if isinstance(x, list | tuple | np.ndarray) else [x]
        places = [(self.domain.number(value) - self.domain.start) * self.domain.steps / self.domain.width for value in several]
        return np.array([min(max((place + 1 + _ROUNDING).__floor__(), 0), self.domain.size) for place in places], dtype=np.int64)

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self._band(0.95)
        return {
            "value": self.values,
            "frequency": self.frequencies,
            "stderr": self.stderr,
            "cdf": np.cumsum(self.frequencies),
            "low": low,
            "high": high,
        }

    def headline(self) -> str:
        told = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.spec.epsilon:.4g}; {self.domain.size:,} points by {self.how}"
        return f"{told}\nlow and high: 95 %, noise and sampling; {self.biased}"

    def order(self) -> Array:
        return np.arange(self.domain.size)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The mean and some quantiles: a thousand points are for charts and tables."""
        if not self.n:
            return ["", "value", "low", "high"], []
        lines = [("mean", self.mean.value, *self.mean.interval(0.95, population=True))]
        lines += [(f"{100 * q:.0f} % at most", self.quantile(q), *self.quantile_interval(q)) for q in QUANTILES]
        return ["", "value", "low", "high"], [[name, *(self._text(value) for value in line)] for name, *line in lines]

    def _rest(self) -> list[str]:
        return []

    def _text(self, value: Any) -> str:
        if self.domain.times:
            return str(value.isoformat(sep=" ", timespec="seconds"))
        digits = max(0, 1 - int(np.floor(np.log10(float(self.domain.width / self.domain.steps)))))
        return f"{float(value):,.{min(digits, 12)}f}"

    def chart(self) -> Chart:
        """The distribution, smoothed over a hundredth of the range, and the cumulative shares with their 95 % intervals."""
        from deniable.core.distribution_chart import distribution_chart

        return distribution_chart(self)
