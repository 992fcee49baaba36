"""The estimate of a mean vector, coordinate by coordinate: unbiased, so that it may be longer than any person's vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.spec import Spec
from deniable.core.estimate import Estimate
from deniable.core.mean import MeanEstimate
from deniable.core.normal import Normal
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array


@typed
def mean_vector(
    spec: Spec, n: int, mean: Array, noise: Array, drawn: Array, *, names: Sequence[Any] = (), covers: str = "noise only"
) -> Estimate:
    """Return the mean of n reports by a ``spec``, with normal errors: those of sums of normal noise.

    ``noise`` is the variance of each coordinate, ``drawn`` the same if the people are a sample. ``names`` is what the coordinates are
    called; if left out, 0, 1, 2 and so on. ``covers`` is what intervals are about, in words.

    >>> from deniable import PrivUnit
    >>> noise = np.array([0.04, 0.09])
    >>> mean_vector(PrivUnit(dimension=2, epsilon=1.0), 500, np.array([0.5, -0.3]), noise, noise).stderr.tolist()
    [0.2, 0.3]
    """
    if any(each.dtype.kind not in "iuf" for each in (mean, noise, drawn)):
        raise ParameterError("noise", noise, allowed="arrays of numbers", fix="pass a variance for each coordinate")
    return Estimate(
        spec=spec,
        kind="vector",
        values=list(names if len(names) else range(mean.size)),
        law=Normal(n, mean, noise, drawn),
        about=f"{n:,} reports, {spec.mechanism}, epsilon = {spec.epsilon:.4g}",
        guarantee=spec.guarantee,
        quantity="mean",
        covers=covers,
        far_first=True,
        remarks=(f"expected distance from the true mean: {sqrt(float(noise.sum())):.3g}",),
    )


@typed
def vector_of_means(means: Mapping[Any, MeanEstimate]) -> Estimate:
    """Return a mean vector from the means of its coordinates, each asked of other people: a survey with a question for each coordinate.

    Whom a coordinate was asked of is chance. So even for the people who reported, its error is that of a sample.

    >>> from deniable.client import Hybrid
    >>> from deniable.contract.survey import Survey
    >>> from deniable.testing import ReplaySource
    >>> survey = Survey.of(east=Hybrid(low=-1, high=1, epsilon=1.0), north=Hybrid(low=-1, high=1, epsilon=1.0))
    >>> people = {"east": np.full(20_000, 0.5), "north": np.full(20_000, -0.25)}
    >>> vector_of_means(survey.run(people, source=ReplaySource.from_key("vector")))
    20,000 reports, Hybrid, epsilon = 1; low and high: 95 %, noise and sampling
    value   mean  stderr     low    high
    east     0.5  0.0207    0.46   0.541
    north  -0.26  0.0207  -0.301  -0.219
    expected distance from the true mean: 0.0293
    """
    if not isinstance(means, Mapping) or not means or not all(isinstance(mean, MeanEstimate) for mean in means.values()):
        raise ParameterError("means", means, allowed="one mean for each coordinate", fix="run a survey of numbers")
    found = list(means.values())
    center, drawn = (np.array([getattr(mean.law, name) for mean in found]) for name in ("center", "drawn"))
    drawn[[mean.n == 0 for mean in found]] = np.inf
    n, names = sum(mean.n for mean in found), tuple(means)
    return mean_vector(found[0].spec, n, center, drawn, drawn, names=names, covers="noise and sampling")
