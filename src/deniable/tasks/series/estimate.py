"""A noisy time series with its error at each point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deniable.core.estimate import Estimate
from deniable.core.normal import Tailed
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.tasks.series.efpa import EFPA
    from deniable.tasks.series.mechanism import SeriesMechanism


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SeriesEstimate(Estimate):
    """One estimated sum for each point in time; errors and intervals are of the noise, see ``mechanism.lossless``."""

    law: Tailed
    mechanism: SeriesMechanism
    """What made the noise."""
    quantity: str = "sum"
    figure: Mapping[str, Any] = field(default_factory=lambda: {"mark": "curve"})

    kind: str = "series"

    @classmethod
    def of(cls, mechanism: SeriesMechanism, numbers: Array, *, noise: Array, step: Array) -> Self:
        """The series behind a mechanism's answers; ``noise`` is the variance at each point, ``step`` how far apart the results are."""
        lost = "" if mechanism.lossless else ", without what the kept coefficients do not show"
        found = cls(
            values=range(len(numbers)),
            law=Tailed(n=None, numbers=numbers, noise=noise, kurtosis=mechanism.kurtosis, step=step),
            about="",
            covers=f"noise only{lost}",
            mechanism=mechanism,
        )
        return found.promised(mechanism)

    def promised(self, by: SeriesMechanism | EFPA) -> Self:
        """The same series with the name and the guarantee of what made it, or chose what made it."""
        promise, own = by.guarantee, by is self.mechanism
        name = self.mechanism.name if own else f"EFPA, {self.mechanism.questions} numbers kept"
        spent = f"epsilon = {promise.epsilon:.4g}" + (f", delta = {promise.delta:g}" if promise.delta else "")
        return replace(self, about=f"{len(self.values):,} points, {name}, {spent}", guarantee=promise)

    def errors(self, truth: Array) -> dict[str, float]:
        """The mean absolute error against a known truth, and how much of it would be there without any noise."""
        truth = np.asarray(truth, dtype=float)
        if truth.shape != self.point.shape:
            raise ParameterError("truth", truth.shape, allowed=f"{len(self.values)} numbers", fix="pass the series that was released")
        kept = self.mechanism.reconstruct(self.mechanism.ask(truth))
        return {"error": float(np.abs(self.point - truth).mean()), "reconstruction": float(np.abs(kept - truth).mean())}
