"""How many people hold each item, or each set of items, with errors: from padded samples, and put together from several groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits, check_level
from deniable.core.supports import SupportEstimate
from deniable.core.table import Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class ItemEstimate(SupportEstimate):
    """Counts from padded samples: whoever holds an item reports on it with probability 1 / (length scale) on average.

    So a holder's report supports the item with q + (p - q) / (length scale) in place of the oracle's p, and counts, errors and intervals
    follow as for every pure protocol; that a device draws one of its items is part of the noise. They are exact where nobody holds more
    than ``length`` of the candidates. ``scale`` above 1 makes up for those who do, on average over the items. It comes from an estimated
    histogram of lengths; errors and intervals cover its error, ``scale_stderr``. Where only some people were asked (``sampled``), they
    also cover that these are a sample of all. They cover neither lists far longer than any that stand out of the noise, nor that an
    item may be held by people with longer or shorter lists than the average; ``bound`` is about the noise alone.

    Counts of different items may add up to more than n.
    """

    length: int = field(kw_only=True)
    scale: float = field(default=1.0, kw_only=True)
    scale_stderr: float = field(default=0.0, kw_only=True)
    sampled: bool = field(default=False, kw_only=True)
    """Whether the people who were asked about these items are some of all."""
    cost: float = field(kw_only=True)
    """What a report costs, sampling included; the oracle alone may be louder."""
    possible: tuple[int, int] | None = field(default=None, kw_only=True)
    """The shortest and the longest list that the noise leaves open, where the length is itself an estimate."""

    @property
    def epsilon(self) -> float:
        return self.cost

    def variance(self, counts: Array, *, population: bool = False) -> Array:
        scaling = (np.asarray(counts) * self.scale_stderr / self.scale) ** 2  # counts are in proportion to the scale
        return np.asarray(super().variance(counts, population=population or self.sampled) + scaling)

    def limits(self, alpha: float, *, simultaneous: bool, population: bool) -> Limits:
        noise = super().limits(alpha, simultaneous=simultaneous, population=population or self.sampled)
        scaling = stats.norm.isf(alpha / 2) * self.counts * self.scale_stderr / self.scale
        return self._widened(noise, scaling**2) if self.scale_stderr else noise

    def exact_test(self, other: FrequencyEstimate) -> Array | None:
        """None where a scale is an estimate: then no test of supports is exact."""
        estimated = self.scale_stderr or (isinstance(other, ItemEstimate) and other.scale_stderr)
        return None if estimated else super().exact_test(other)

    def headline(self) -> str:
        together = f" for all {self.family_size:,} values together" if self.picked else ""
        padded = f"one of {self.length} each" + (f", scaled by {self.scale:.3g}" if self.scale != 1 else "")
        how = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.epsilon:.4g}, {padded}"
        return f"{how}; low and high: 95 %{together}, {self.covers}"

    @property
    def covers(self) -> str:
        """What errors and intervals are about, in words."""
        if self.scale_stderr:
            return "noise, sampling and scale" if self.sampled else "noise and scale"
        return "noise and sampling" if self.sampled else "noise only"


@dataclass(frozen=True, eq=False, repr=False)
class SetEstimate(Table):
    """Shares of people who hold each set, with errors, from groups of different sizes that answered different questions.

    ``n`` is how many people were asked about each set. Intervals are normal; single estimates may be negative.
    """

    values: Sequence[Any]
    frequencies: Array
    frequency_stderr: Array
    n: Array
    epsilon: float
    family_size: int = 0
    """How many sets simultaneous statements are about."""
    covers: str = "noise only"
    """What errors and intervals are about, in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family_size", self.family_size or len(self.values))

    @classmethod
    def of(cls, *parts: ItemEstimate) -> SetEstimate:
        """Several groups' estimates in one table, the largest frequency first."""
        values = [value for part in parts for value in part.values]
        shares = np.concatenate([part.frequencies for part in parts])
        errors = np.concatenate([part.frequency_stderr for part in parts])
        n = np.repeat([part.n for part in parts], [len(part.values) for part in parts])
        family, covers = sum(part.family_size for part in parts), max((part.covers for part in parts), key=len)
        joined = cls(values, shares, errors, n, max(part.epsilon for part in parts), family, covers)
        return joined.select(joined.order())

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each share, of what ``covers`` says, for all sets at once where asked (Bonferroni)."""
        check_level("level", level)
        reach = stats.norm.isf((1 - level) / 2 / (self.family_size if simultaneous else 1)) * self.frequency_stderr
        return self.frequencies - reach, self.frequencies + reach

    def select(self, positions: Any) -> SetEstimate:
        """The estimate for some of the sets, by position."""
        at = np.asarray(positions, dtype=np.int64)
        picked = {name: getattr(self, name)[at] for name in ("frequencies", "frequency_stderr", "n")}
        return replace(self, values=[self.values[i] for i in at], **picked)

    def top(self, k: int = 10) -> SetEstimate:
        """The k largest shares, the largest first."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError("k", k, allowed="an integer from 1 on", fix="ask for at least one set")
        return self.select(self.order()[:k])

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95, simultaneous=len(self.values) < self.family_size)
        shown = [", ".join(map(str, value)) for value in self.values]
        return {"value": shown, "frequency": self.frequencies, "stderr": self.frequency_stderr, "low": low, "high": high, "asked": self.n}

    def headline(self) -> str:
        picked = len(self.values) < self.family_size
        together = f" for all {self.family_size:,} sets together" if picked else ""
        return f"shares of people who hold each set, epsilon = {self.epsilon:.4g}; low and high: 95 %{together}, {self.covers}"

    def order(self) -> Array:
        return np.argsort(-self.frequencies, kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k largest shares with their 95 % intervals."""
        from deniable.core.chart import bar_chart

        best, together = self.top(k), k < self.family_size
        low, high = best.interval(0.95, simultaneous=together)
        labels = best.rows()["value"]
        return bar_chart(labels, best.frequencies, low, high, title=self.headline(), together=together, axis="share of people")
