"""The estimate of a mean vector, with its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deniable.contract.spec import Spec
from deniable.core.estimate import Estimate
from deniable.core.normal import Normal
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.mean import MeanEstimate


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VectorEstimate(Estimate):
    """The mean of people's vectors by a ``spec``, coordinate by coordinate; unbiased, so that it may be longer than any of theirs.

    Intervals are by the normal law, which sums of normal noise obey.
    """

    spec: Spec
    law: Normal
    quantity: str = "mean"

    kind: str = "vector"

    @classmethod
    def of(
        cls, spec: Spec, n: int, mean: Array, noise: Array, drawn: Array, *, names: Sequence[Any] = (), covers: str = "noise only"
    ) -> Self:
        """The mean of n reports; ``noise`` is the variance of each coordinate, ``drawn`` the same if the people are a sample.

        ``names`` is what the coordinates are called; if left out, 0, 1, 2 and so on.
        """
        return cls(
            spec=spec,
            values=list(names or range(mean.size)),
            law=Normal(n, mean, noise, drawn),
            about=f"{n:,} reports, {spec.mechanism}, epsilon = {spec.epsilon:.4g}",
            guarantee=spec.guarantee,
            covers=covers,
            remarks=(f"expected distance from the true mean: {sqrt(float(noise.sum())):.3g}",),
        )

    @classmethod
    def from_means(cls, means: Mapping[Any, MeanEstimate]) -> Self:
        """A vector from the means of its coordinates, each asked of other people: a survey with one question for each coordinate.

        Whom a coordinate was asked of is chance. So even for the people who reported, its error is that of a sample.

        >>> from deniable.client import Hybrid
        >>> from deniable.contract.survey import Survey
        >>> from deniable.testing import ReplaySource
        >>> survey = Survey.of(east=Hybrid(low=-1, high=1, epsilon=1.0), north=Hybrid(low=-1, high=1, epsilon=1.0))
        >>> people = {"east": np.full(20_000, 0.5), "north": np.full(20_000, -0.25)}
        >>> VectorEstimate.from_means(survey.run(people, source=ReplaySource.from_key("vector")))
        20,000 reports, Hybrid, epsilon = 1; low and high: 95 %, noise and sampling
        value   mean  stderr     low    high
        east     0.5  0.0207    0.46   0.541
        north  -0.26  0.0207  -0.301  -0.219
        expected distance from the true mean: 0.0293
        """
        if not means:
            raise ParameterError("means", means, allowed="one mean for each coordinate", fix="run a survey of numbers")
        found = list(means.values())
        center, drawn = (np.array([getattr(mean.law, name) for mean in found]) for name in ("center", "drawn"))
        drawn[[mean.n == 0 for mean in found]] = np.inf
        n, names = sum(mean.n for mean in found), tuple(means)
        return cls.of(found[0].spec, n, center, drawn, drawn, names=names, covers="noise and sampling")

    @property
    def mean(self) -> Array:
        """The estimated mean, coordinate by coordinate."""
        return self.point

    @property
    def distance(self) -> float:
        """How far the estimate is from the true mean, as a root mean square: the length of its error."""
        return sqrt(float(self.law.noise.sum()))

    def order(self) -> Array:
        return np.argsort(-np.abs(self.point), kind="stable")
