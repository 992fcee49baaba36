"""How much a mean gradient varies, of many reports or of few."""

from __future__ import annotations

from math import inf

from deniable.client.mean import MeanSpec
from deniable.core.mean import MeanEstimate

FEW = 30
"""So many reports say themselves how much they vary."""


def spread_of(mean: MeanEstimate, spec: MeanSpec) -> float:
    """The variance of a mean gradient; of few reports the largest that there can be, since they may agree by chance."""
    if not mean.n:
        return inf
    return mean.law.drawn if mean.n >= FEW else (mean.law.worst + float(spec.domain.width / 2) ** 2) / mean.n
