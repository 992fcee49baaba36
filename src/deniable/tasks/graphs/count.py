"""The estimate of one count of a graph, with its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import altair as alt
import numpy as np
from scipy import stats

from deniable.core.chart import Chart
from deniable.core.interval import check_level
from deniable.core.table import Table
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.tasks.graphs.privacy import GraphGuarantee

FEW = 30
"""Below so many people intervals are those of Chebyshev's inequality rather than of the normal law."""


@dataclass(frozen=True, eq=False, repr=False)
class CountEstimate(Table):
    """How many edges, stars or triangles there are: unbiased, so it may lie below zero. ``stderr`` is of the noise.

    Intervals are value -+ z stderr, with z of the normal law; with fewer than 30 people, or where the count hangs on few events, z is
    1 / sqrt(1 - level), as in Chebyshev's inequality. That is a promise only where the error is known, as that of edges is. Where it is
    itself estimated from noisy reports, intervals are as good as that. Where it cannot even be estimated, ``limits`` are what can be said,
    and ``stderr`` is an upper limit.
    """

    name: str
    """What was counted."""
    value: float
    stderr: float
    n: int
    """How many people reported."""
    guarantee: GraphGuarantee
    """What was promised to each person, or tie."""
    parts: dict[str, float] = field(default_factory=dict)
    """What the variance is made of."""
    biased: str | None = None
    """How the estimate may be biased; None if it is not."""
    normal: bool = True
    """Whether enough went into it for a normal error."""
    limits: Callable[[float], tuple[float, float]] | None = None
    """Limits (low, high) at a level that do not need the error, if it cannot be estimated."""

    kind: ClassVar[str] = "graph count"

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Limits (low, high) for the true count, for the noise."""
        check_level("level", level)
        if self.limits is not None:
            return self.limits(level)
        z = float(stats.norm.isf((1 - level) / 2)) if self.normal and self.n >= FEW else (1 - level) ** -0.5
        return self.value - z * self.stderr, self.value + z * self.stderr

    @property
    def usable(self) -> bool:
        """Whether the estimate is more than twice its standard error: below, it does not even say that there are any."""
        return self.value > 2 * self.stderr

    def rows(self) -> dict[str, Any]:
        low, high = self.interval()
        columns = {"count": self.value, "stderr": self.stderr, "low": low, "high": high}
        return {"value": [self.name], **{name: np.array([column], dtype=float) for name, column in columns.items()}}

    def headline(self) -> str:
        promise = self.guarantee
        told = f"{self.n:,} people, epsilon = {promise.epsilon:.4g} for {promise.neighbors}; low and high: 95 %, noise only"
        few = "too few events for an error: low and high are what the number of ties allows, stderr is an upper limit"
        return "\n".join(line for line in (told, self.biased, few if self.limits else None) if line)

    def order(self) -> Array:
        return np.arange(1)

    def chart(self) -> Chart:
        """The count with its 95 % interval."""
        low, high = self.interval()
        records = [{"name": self.name, "count": self.value, "low": low, "high": high}]
        base = alt.Chart(alt.InlineData(values=records)).encode(y=alt.Y("name:N", title=None))
        drawn = base.mark_rule().encode(x="low:Q", x2="high:Q") + base.mark_point(filled=True, size=60).encode(x="count:Q")
        return Chart(drawn.properties(title=alt.Title(self.name, subtitle="line: 95 % interval, noise only"), width=480))
