"""The estimate of a mean, with its error."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import floor, inf, log10, nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import stats

from deniable.contract.numbers import Numbers
from deniable.contract.spec import Spec
from deniable.core.interval import NORMAL_FROM, check_level, few_large
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.core.mean_comparison import MeanComparison

CLIPPED = "values out of range counted as the nearest end: this is the mean of the clipped values, and no report shows how far that is off"


@dataclass(frozen=True, eq=False, repr=False)
class MeanEstimate(Table):
    """The mean of what people hold, as the average of n independent scores, each unbiased for its sender.

    ``center`` is the average under a ``spec``, and ``name`` what it is called where it is shown. All fields are in the numbers of the
    domain (seconds since 1970 for points in time). What people see is in their own units:
    ``value``, ``stderr``, ``interval``, ``bound``. The estimate may lie outside of the range; that is what makes it unbiased.
    """

    spec: Spec
    n: int
    center: float
    noise: float = field(kw_only=True)
    """The variance of the estimate through the mechanism, for the people who reported; or what it is at most."""
    drawn: float = field(kw_only=True)
    """The same if the people are a sample."""
    span: tuple[float, float] = field(kw_only=True)
    """The smallest and the largest score."""
    worst: float = field(kw_only=True)
    """The largest variance that one score can have, whoever sent it."""
    kurtosis: float | None = field(default=None, kw_only=True)
    """The fourth moment of a score over its squared variance, at most; if left out, what ``span`` allows."""
    name: str = field(default="mean", kw_only=True)

    kind: ClassVar[str] = "mean"

    @property
    def domain(self) -> Numbers:
        """The range and its units."""
        domain = self.spec.domain
        if not isinstance(domain, Numbers):
            raise ParameterError("domain", domain, allowed="Numbers", fix="means are of numbers")
        return domain

    # --- what is asked of it ---

    @property
    def value(self) -> Any:
        """The estimated mean: a float, or a datetime. Of nobody, nan or None."""
        return self.domain.shown(self.center if self.n else nan)

    @property
    def stderr(self) -> Any:
        """The standard error of the mean through the mechanism's noise: a float, or a timedelta."""
        return self.domain.shown_distance(self.noise**0.5 if self.n else inf)

    @property
    def biased(self) -> str | None:
        """How the estimate may be biased; None if it is not."""
        return CLIPPED if self.domain.clip else None

    @property
    def enough(self) -> float:
        """How many reports' worth of noise there is: where it is small, no test is normal."""
        if not self.n:
            return 0.0
        width = self.span[1] - self.span[0]
        kurtosis = self.kurtosis if self.kurtosis is not None else width**2 / max(self.n * self.noise, 1e-300)
        return self.n / max(kurtosis, 1.0)

    def interval(self, level: float = 0.95, *, population: bool = False) -> tuple[Any, Any]:
        """Limits (low, high) for the mean.

        They cover the mechanism's noise; with ``population=True`` also that the people are a sample, for statements about everyone like
        them. Where little noise was seen (``enough`` below 200) they hold by Bernstein's inequality: then they cover at least the level.
        """
        check_level("level", level)
        if not self.n:  # nobody said anything
            return self._shown(*self._ends)
        if self.enough < NORMAL_FROM:
            reach = self._bernstein(1 - level, population=population)
        else:
            reach = float(stats.norm.isf((1 - level) / 2)) * (self.drawn if population else self.noise) ** 0.5
        return self._shown(self.center - reach, self.center + reach)

    def bound(self, level: float = 0.95, method: str = "bernstein") -> tuple[Any, Any]:
        """Limits (low, high) that hold by an inequality, without any approximation: ``method`` is "hoeffding" or "bernstein"."""
        if method not in ("hoeffding", "bernstein"):
            raise ParameterError("method", method, allowed="hoeffding or bernstein", fix="hoeffding is the tighter one for a single bit")
        check_level("level", level)
        if not self.n:
            return self._shown(*self._ends)
        if method == "hoeffding":
            reach = (self.span[1] - self.span[0]) * float(np.sqrt(np.log(2 / (1 - level)) / (2 * self.n)))
        else:
            reach = self._bernstein(1 - level, population=False)
        return self._shown(self.center - reach, self.center + reach)

    def compare(self, other: MeanEstimate) -> MeanComparison:
        """The change of the mean from this estimate to the ``other`` one, with a test."""
        from deniable.core.mean_comparison import MeanComparison

        if not isinstance(other, MeanEstimate):
            raise ParameterError("other", other, allowed="a MeanEstimate", fix="estimate the other crowd first")
        return MeanComparison(self, other)

    def _bernstein(self, alpha: float, *, population: bool) -> float:
        low, high = self._ends
        jump = max(self.span[1] - low, high - self.span[0])
        extra = (high - low) ** 2 / 4 if population else 0.0  # people drawn at random: at worst half at either end
        return float(few_large(np.asarray(self.n * (self.worst + extra)), jump, alpha)) / self.n

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self.domain.start), float(self.domain.start + self.domain.width)

    def _shown(self, low: float, high: float) -> tuple[Any, Any]:
        return self.domain.shown(low), self.domain.shown(high)

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95)
        return {"value": [self.name], "mean": [self.value], "stderr": [self.stderr], "low": [low], "high": [high]}

    def headline(self) -> str:
        told = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.spec.epsilon:.4g}; low and high: 95 %, noise only"
        return f"{told}\n{self.biased}" if self.biased else told

    def order(self) -> Array:
        return np.arange(1)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """With as many digits as the error leaves."""
        rows = self.rows()
        digits = max(0, 1 - floor(log10(self.noise**0.5))) if self.n and self.noise > 0 else 3
        return list(rows), [[_text(column[0], min(digits, 12)) for column in rows.values()]]

    def chart(self) -> Chart:
        """The mean with its 95 % interval, on the range."""
        from deniable.core.mean_chart import mean_chart

        return mean_chart(self)


def _text(cell: Any, digits: int) -> str:
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ", timespec="seconds")
    return f"{cell:,.{digits}f}" if isinstance(cell, float) else str(cell)
