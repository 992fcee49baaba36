"""Estimates from secure sums, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.core.estimate import Estimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.core.normal import Tailed
from deniable.kernels.compiled import Array

KURTOSIS = 3.0
"""Excess, of a Laplace variable; that of a sum of several is smaller."""


def sum_estimate(
    values: Sequence[Any], totals: Array, variance: Array, guarantee: Guarantee, *, n: int | None, step: float, who: str, how: str
) -> Estimate:
    """Noisy sums, one for each of ``values``, unbiased; ``variance`` is of their noise, which lies on a grid of ``step``.

    ``who`` added it, and ``how``.
    """
    size = len(totals)
    law = Tailed(n=n, numbers=totals, noise=variance, kurtosis=np.full(size, KURTOSIS), step=np.full(size, step))
    return Estimate(values=tuple(values), law=law, about=f"{who}, {how}", guarantee=guarantee, title=who, quantity="sum", kind="sum")


@dataclass(frozen=True, eq=False)
class Quotient(Law):
    """A mean as the quotient of two noisy sums: ``total``, of the distances from ``center``, and ``people``.

    It is the middle of the range, ``span``, if hardly anybody was counted. Limits keep to the range; half of what may go wrong is for
    either sum, so they cover at least the level. The variance is to first order.
    """

    total: Tailed
    people: Tailed
    center: float
    span: tuple[float, float]

    @property
    def n(self) -> None:
        """None: the number of people is private, too."""
        return

    @property
    def point(self) -> Array:
        return np.clip(self.center + self.total.point / self._counted, *self.span)

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray((self.total.noise + (self.point - self.center) ** 2 * self.people.noise) / self._counted**2)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        low, high = self.total.limits(alpha / 2)
        fewest, most = (np.maximum(limit, 1.0) for limit in self.people.limits(alpha / 2))
        ends = np.array([self.center + distance / people for distance in (low, high) for people in (fewest, most)])
        nobody = self.people.limits(alpha / 2)[0] < 1  # then the mean is anything
        found = zip((ends.min(axis=0), ends.max(axis=0)), self.span, strict=True)
        below, above = (np.where(nobody, end, np.clip(limit, *self.span)) for limit, end in found)
        return below, above

    @property
    def _counted(self) -> Array:
        return np.maximum(self.people.point, 1.0)

    def select(self, positions: Array) -> Law:
        return self  # there is one number
