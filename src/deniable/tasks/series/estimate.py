"""A noisy time series with its error at each point: errors and intervals are of the noise, see ``SeriesMechanism.lossless``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.central.grid import as_numbers
from deniable.contract.arguments import typed
from deniable.core.estimate import Estimate
from deniable.core.normal import Tailed
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.tasks.series.efpa import EFPA
    from deniable.tasks.series.mechanism import SeriesMechanism


def series_estimate(mechanism: SeriesMechanism, numbers: Array, *, noise: Array, step: Array) -> Estimate:
    """Return one estimated sum for each point in time, from a mechanism's answers.

    ``noise`` is the variance at each point, ``step`` how far apart the results are.
    """
    lost = "" if mechanism.lossless else ", without the error of dropping the other coefficients"
    found = Estimate(
        spec=mechanism,
        kind="series",
        values=range(len(numbers)),
        law=Tailed(n=None, numbers=numbers, noise=noise, kurtosis=mechanism.kurtosis, step=step),
        about="",
        quantity="sum",
        covers=f"noise only{lost}",
        figure={"mark": "curve"},
    )
    return promised(found, mechanism)


def promised(series: Estimate, by: SeriesMechanism | EFPA) -> Estimate:
    """Return the same series with the name and the guarantee of what made it, or chose what made it."""
    promise, own = by.guarantee, by is series.spec
    name = series.spec.name if own else f"EFPA, {series.spec.questions} numbers kept"
    spent = f"epsilon = {promise.epsilon:.4g}" + (f", delta = {promise.delta:g}" if promise.delta else "")
    return replace(series, about=f"{len(series.values):,} points, {name}, {spent}", guarantee=promise)


@typed
def series_errors(series: Estimate, truth: Any) -> dict[str, float]:
    """Return the mean absolute error of a released ``series`` against a known ``truth``, and how much of it is there without noise.

    >>> from deniable.tasks.series import LPA
    >>> from deniable.testing import ReplaySource
    >>> found = LPA(points=100, epsilon=10.0).release([50.0] * 100, source=ReplaySource.from_key("docs"))
    >>> {name: round(error) for name, error in series_errors(found, [50.0] * 100).items()}
    {'error': 8, 'reconstruction': 0}
    """
    truth = as_numbers("truth", truth)
    if truth.shape != series.point.shape:
        raise ParameterError("truth", truth.shape, allowed=f"{len(series.values)} numbers", fix="pass the true series that was released")
    kept = series.spec.reconstruct(series.spec.ask(truth))
    return {"error": float(np.abs(series.point - truth).mean()), "reconstruction": float(np.abs(kept - truth).mean())}
