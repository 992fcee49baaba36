"""The estimate of how numbers are distributed, with its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from deniable.contract.numbers import Numbers
from deniable.contract.protocol import Progress
from deniable.contract.source import Source
from deniable.contract.spec import Spec
from deniable.core.comparison import Comparison
from deniable.core.estimate import Estimate
from deniable.core.figure import Figure
from deniable.core.interval import check_level
from deniable.core.mean import MeanEstimate
from deniable.core.replicates import Fit, Replicates
from deniable.core.resampling import REPLICATES
from deniable.core.table import row_numbers
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
_ROUNDING = Fraction(1, 10**6)


class GridPoints(Sequence[Any]):
    """The points of a grid, written out when they are first looked at: numbers, or datetimes."""

    def __init__(self, domain: Numbers) -> None:
        self.domain = domain

    @cached_property
    def _written(self) -> list[Any]:
        found = [self.domain.value(key) for key in range(self.domain.size)]
        return found if self.domain.times or all(isinstance(value, int) for value in found) else [float(value) for value in found]  # type: ignore[arg-type]  # numbers, since no times

    def __len__(self) -> int:
        return self.domain.size

    def __getitem__(self, place: Any) -> Any:
        return self._written[place]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DistributionEstimate(Estimate):
    """The share of people at or below each point of the grid of a ``spec``.

    ``frequencies`` are the shares at each point; none is negative, and they add up to one. No such estimate is unbiased: ``bias`` says why.
    Errors and intervals come from drawing the tally anew, as it would come out if the estimate were the truth, and estimating again
    (``core.replicates``). ``mean`` is estimated separately, without bias.
    """

    spec: Spec
    law: Replicates
    quantity: str = "cdf"
    covers: str = "noise and sampling"

    kind: str = "distribution"

    @classmethod
    def of(cls, spec: Spec, n: int, fit: Fit) -> Self:
        """The distribution that a ``fit`` finds behind n reports by a spec."""
        domain: Any = spec.domain
        if not isinstance(domain, Numbers):
            raise ParameterError(
                "domain", domain, allowed="Numbers", fix="pass domain=Numbers(0, 100, steps=20): distributions are of numbers"
            )
        return cls(
            spec=spec,
            values=GridPoints(domain),
            law=Replicates(n, fit),
            about=f"{n:,} reports, {spec.mechanism}, epsilon = {spec.epsilon:.4g}; {domain.size:,} points by {fit.how}",
            guarantee=spec.guarantee,
            bias=fit.bias,
            parts={"mean": fit.mean},
        )

    @property
    def domain(self) -> Numbers:
        """The range, its grid and its units."""
        domain: Any = self.spec.domain
        found: Numbers = domain
        return found

    @property
    def frequencies(self) -> Array:
        """The estimated share of people at each grid point."""
        return self.law.fit.shares

    @property
    def mean(self) -> MeanEstimate:
        """The mean, without the bias of the shares, and with its error."""
        found: Any = self.parts["mean"]
        mean: MeanEstimate = found
        return mean

    def cdf(self, x: Any) -> Any:
        """Return the share of people at or below x, or at or below each entry of a list."""
        below = np.concatenate([[0.0], np.cumsum(self.frequencies)])[self._places(x)]
        return below if isinstance(x, list | tuple | np.ndarray) else float(below[0])

    def cdf_interval(self, x: Any, level: float = 0.95) -> Any:
        """Return limits (low, high) for the share of people at or below x, or at or below each entry of a list."""
        low, high = (np.concatenate([[0.0], limit])[self._places(x)] for limit in self.interval(level))
        return (low, high) if isinstance(x, list | tuple | np.ndarray) else (float(low[0]), float(high[0]))

    def quantile(self, q: float) -> Any:
        """Return the first grid point that a share q of the people is at or below: 0.5 is the median. None if nobody reported."""
        check_level("q", q)
        return self._first(np.cumsum(self.frequencies), q) if self.n else None

    def quantile_interval(self, q: float, level: float = 0.95) -> tuple[Any, Any]:
        """Return limits (low, high) for the quantile at a share q: the points that ``cdf_interval`` does not rule out."""
        check_level("q", q)
        low, high = self.interval(level)
        return self._first(high, q), self._first(low, q)

    def resampled(self, replicates: int = REPLICATES, *, source: Source | None = None, progress: Progress | None = None) -> Self:
        """Return this estimate with errors from this many replicates, tallies drawn anew."""
        return replace(self, law=self.law.drawn(replicates, source, progress))

    def settled(self) -> Self:
        """This estimate with the errors that everyone gets who has the same tally, and nothing left to compute."""
        if not self.n:
            return self.resampled()
        key = f"deniable replicates 1 {self.spec.digest.hex()} {self.n}"
        return replace(self, law=replace(self.law, replicates=self.law.fit.replayed(key)))

    def using(self, method: str) -> Self:
        """The same tally estimated by another method, "em" or "ems", where reports are those of ``SquareWave``."""
        fit = getattr(self.law.fit, "using", None)
        if fit is None:
            raise ParameterError(
                "method", method, allowed="reports of SquareWave", fix="leave method out: a distribution from counts has only one"
            )
        return type(self).of(self.spec, self.n, fit(method))

    def compare(self, other: Estimate) -> Comparison:
        """Return the change of the mean from this estimate to the ``other`` one, with a test."""
        if getattr(other, "kind", None) != self.kind:
            allowed = f"an estimate of the same kind, {self.kind}"
            raise ParameterError("other", other, allowed=allowed, fix="estimate the other crowd first")
        return self.mean.compare(other.parts["mean"])

    def select(self, positions: Any) -> Any:
        """The cumulative shares at some grid points alone, without what needs the whole distribution."""
        at = row_numbers(positions, len(self.values))
        same = {name: getattr(self, name) for name in ("about", "guarantee", "quantity", "family_size", "covers", "bias", "spec")}
        found, shares = [self.values[i] for i in at], self.frequencies[at]
        return Estimate(values=found, law=self.law.select(at), details={"frequency": shares}, kind="cumulative shares", **same)

    def _first(self, cumulative: Array, q: float) -> Any:
        return self.values[min(int(np.searchsorted(cumulative, q - 1e-12)), self.domain.size - 1)]

    def _places(self, x: Any) -> Array:
        """For each x, how many grid points are at or below it; a point written as a double may be a little below itself."""
        several = x if isinstance(x, list | tuple | np.ndarray) else [x]
        places = [(self.domain.number(value) - self.domain.start) * self.domain.steps / self.domain.width for value in several]
        return np.array([min(max((place + 1 + _ROUNDING).__floor__(), 0), self.domain.size) for place in places], dtype=np.int64)

    # --- what people see ---

    def further(self) -> dict[str, Any]:
        return {"frequency": self.frequencies}

    def brief(self) -> dict[str, list[str]]:
        """The mean and some quantiles: a thousand points are for charts and tables."""
        lines: list[tuple[Any, ...]] = []
        if self.n:
            lines = [("mean", self.mean.value, *self.mean.interval(0.95, population=True))]
            lines += [(f"{100 * q:.0f} % at most", self.quantile(q), *self.quantile_interval(q)) for q in QUANTILES]
        columns = {name: [self._text(line[place]) for line in lines] for place, name in ((1, "value"), (2, "low"), (3, "high"))}
        return {"": [line[0] for line in lines], **columns}

    def headline(self) -> str:
        return f"{self.about}\nlow and high: 95 %, {self.covers}; {self.bias}"

    def _text(self, value: Any) -> str:
        if self.domain.times:
            return str(value.isoformat(sep=" ", timespec="seconds"))
        digits = max(0, 1 - int(np.floor(np.log10(float(self.domain.width / self.domain.steps)))))
        return f"{float(value):,.{min(digits, 12)}f}"

    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure(mark="steps", number="frequency", axis="share of people"),
            Figure(mark="curve", number="cdf", axis="at or below", percent=True),
        )
