"""A count, a sum or a mean that a session released, with its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.central.release import Release
from deniable.central.spread import Spread, pair_reach
from deniable.core.estimate import NumberEstimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.kernels.compiled import Array

_POINTS = 401
_FINER = 3
_ROUNDING = 1e-12


def released_number(release: Release, quantity: str, law: Law, bias: str | None = None) -> NumberEstimate:
    """The number behind a release; ``quantity`` says what it is: a count, a sum or a mean. Only like is compared with like.

    Errors and intervals cover the noise, the only difference between it and the truth. The estimate's ``spec`` is the release: what was
    asked, and at which price. ``n`` is the number of rows where that is public: under "replace", among all rows. Otherwise it is private
    too, and None. A count may come out negative; that is what makes it unbiased.

    >>> release = Release("r1", "count", "Laplace", 0.1, "add-remove")
    >>> released_number(release, "count", LaplaceNumber(None, 1203, 10.0))
    count: Laplace, epsilon = 0.1, add-remove; low and high: 95 %, noise only
    value  count  stderr    low   high
    count  1,203    14.1  1,173  1,233
    """
    return NumberEstimate(
        values=[quantity],
        law=law,
        about=release.headline(),
        guarantee=release.guarantee,
        quantity=quantity,
        bias=bias,
        title=release.ask,
        spec=release,
    )


@dataclass(frozen=True, eq=False)
class LaplaceNumber(Law):
    """A number on a grid with discrete Laplace noise: a count, or a sum of clipped and rounded values, unbiased for these."""

    n: int | None
    steps: int
    """The released number, in steps of the grid."""
    scale: float
    """The scale of the noise, in steps as well."""
    step: float = 1.0

    @property
    def noise(self) -> Spread:
        """The law of the noise."""
        return Spread(self.scale, self.step)

    @property
    def point(self) -> Array:
        return np.array([self.steps if self.step == 1 else self.steps * self.step])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.array([self.noise.variance])

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        reach = self.noise.reaches(alpha)
        return self.point - reach, self.point + reach

    def select(self, positions: Array) -> Law:
        return self  # there is one number


@dataclass(frozen=True, eq=False, kw_only=True)
class LaplaceRatio(Law):
    """The mean of clipped values, from the sum of their distances to the middle of the range, and a count.

    With s and c released, x the distance of the true mean from the middle, and z, y their noises: s - x c = z - x y. So x is in the
    interval exactly where |s - x c| is within what z - x y reaches, whatever the true count is (Fieller 1954). Where the count is not well
    above its noise, the interval is the whole range, as it must be for nobody. A public count has no noise.

    A ratio of noisy numbers is biased a little; the value is kept within the range. It is the middle if the count is not above 0.
    """

    n: int | None
    ends: tuple[float, float]
    """The range that values were clipped to."""
    steps: int
    """The released sum of distances, in steps of the grid."""
    scale: float
    """The scale of its noise, in steps as well."""
    step: float
    count: int
    """The released number of rows, or the public one."""
    count_scale: float | None
    """The scale of its noise; None if it is public."""

    @property
    def noise(self) -> Spread:
        """The law of the sum's noise."""
        return Spread(self.scale, self.step)

    @property
    def point(self) -> Array:
        return np.array([self._middle + self._distance])

    def variance(self, at: Array, *, population: bool = False) -> Array:
        """The variance as far as the count is well above its noise; that of half the range at most."""
        if self.count <= 0:
            return np.array([self._half**2])
        counted = 0.0 if self.count_scale is None else Spread(self.count_scale).variance
        return np.array([min((self.noise.variance + self._distance**2 * counted) / self.count**2, self._half**2)])

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        error = np.asarray(alpha, dtype=float).item()
        points = np.linspace(-self._half, self._half, _POINTS)
        points = np.unique([*points, 0.0, self._distance])  # what is accepted may be far thinner than the points are apart
        inside = np.flatnonzero(self._slack(points, error) >= 0)
        if inside.size:
            ends = self._edge(points, int(inside[0]), -1, error), self._edge(points, int(inside[-1]), 1, error)
        else:  # the released numbers fit no mean in the range: the nearest end
            ends = (float(points[0 if self._sum * max(self.count, 1) < 0 else -1]),) * 2
        return np.array([self._middle + ends[0]]), np.array([self._middle + ends[1]])

    def select(self, positions: Array) -> Law:
        return self  # there is one number

    def _slack(self, points: Array, alpha: float) -> Array:
        """By how much each distance from the middle is accepted."""
        if self.count_scale is None:
            reach: Any = self.noise.reach(alpha)
        else:  # half a step for each noise, since they are discrete: see ``spread``
            reach = pair_reach(self.scale * self.step, np.abs(points) * self.count_scale, alpha) + self.step / 2 + np.abs(points) / 2
        return np.asarray(reach + _ROUNDING * abs(self._sum) - np.abs(self._sum - points * self.count))

    def _edge(self, points: Array, place: int, toward: int, alpha: float) -> float:
        """Where acceptance ends, between an accepted point and the next one out, which is not; rounded outward."""
        if not 0 <= place + toward < points.size:
            return float(points[place])
        good, bad = float(points[place]), float(points[place + toward])
        for _ in range(_FINER):
            between = np.linspace(good, bad, _POINTS)
            last = int(np.flatnonzero(self._slack(between, alpha) >= 0)[-1])
            good, bad = float(between[last]), float(between[min(last + 1, _POINTS - 1)])
        return bad

    @property
    def _sum(self) -> float:
        return self.steps * self.step

    @property
    def _distance(self) -> float:
        return min(max(self._sum / self.count, -self._half), self._half) if self.count > 0 else 0.0

    @property
    def _middle(self) -> float:
        return (self.ends[0] + self.ends[1]) / 2

    @property
    def _half(self) -> float:
        return (self.ends[1] - self.ends[0]) / 2
