"""Gradients that people report: how each is shortened, and how much the mean of many or of few varies."""

from __future__ import annotations

from math import inf

import numpy as np

from deniable.client.mean import MeanSpec
from deniable.core.mean import MeanEstimate
from deniable.kernels.compiled import Array

FEW = 30
"""From this number of reports on, the variance is estimated from the reports."""


def shortened(rows: Array, radius: float) -> Array:
    """Return the rows, scaled down to length ``radius`` where they are longer."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows * np.minimum(1.0, radius / np.maximum(lengths, radius))[:, None])


def spread_of(mean: MeanEstimate, spec: MeanSpec) -> float:
    """Return the variance of a mean gradient; for few reports the largest possible one, since they may agree by chance."""
    if not mean.n:
        return inf
    return mean.law.drawn if mean.n >= FEW else (mean.law.worst + float(spec.domain.width / 2) ** 2) / mean.n
