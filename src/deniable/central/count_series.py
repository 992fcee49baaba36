"""The estimate of a running sum: one count for each step, with its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.central.continual import ContinualCounter
    from deniable.core.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class CountSeries(Table):
    """Noisy sums of a stream, ``counts``, as a ``counter`` released them after so many entries, ``times``.

    Their errors are correlated: a change is known better than two sums apart.

    >>> from deniable.central import BinaryTreeCounter
    >>> from deniable.testing import ReplaySource
    >>> visits = BinaryTreeCounter(horizon=3, epsilon=2.0, sensitivity=1, neighbors="add-remove", source=ReplaySource.from_key("series"))
    >>> visits.run([10, 12, 9])
    3 steps, BinaryTreeCounter, horizon 3; low and high: 95 %, each by itself
    value  count  stderr  low  high
    1         10    1.36    7    13
    2         21    1.36   18    24
    3         30    1.92   23    37
    """

    counter: ContinualCounter
    times: Array
    counts: Array

    @property
    def n(self) -> int:
        """How many steps there are."""
        return len(self.times)

    @property
    def stderr(self) -> Array:
        """The standard error of each sum through the noise."""
        return np.asarray(np.sqrt(self.counter.variance(self.times)))

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each sum; for all steps together if simultaneous."""
        check_level("level", level)
        alpha = (1 - level) / (max(self.n, 1) if simultaneous else 1)  # Bonferroni needs no independence
        reach = self.counter.reach(self.times, alpha)
        return self.counts - reach, self.counts + reach

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        return {"value": self.times.tolist(), "count": self.counts, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        kind = type(self.counter).__name__
        return f"{self.n:,} steps, {kind}, horizon {self.counter.horizon:,}; low and high: 95 %, each by itself"

    def order(self) -> Array:
        return np.arange(self.n)

    def chart(self) -> Chart:
        """The sums over time, with the band of their 95 % intervals."""
        import altair as alt

        from deniable.core.chart import Chart

        low, high = self.interval()
        columns = zip(self.times.tolist(), self.counts.tolist(), low.tolist(), high.tolist(), strict=True)
        records = [{"step": step, "count": count, "low": least, "high": most} for step, count, least, most in columns]
        base = alt.Chart(alt.InlineData(values=records)).encode(x=alt.X("step:Q", axis=alt.Axis(tickMinStep=1)))
        band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title="sum so far"), y2="high:Q")
        title = alt.Title(self.headline().split(";")[0], subtitle="band: 95 % intervals, each by itself; errors are correlated over time")
        return Chart((band + base.mark_line().encode(y="count:Q")).properties(title=title, width=480))
