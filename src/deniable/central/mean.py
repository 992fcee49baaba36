"""The mean among rows whose number is private too: a noisy sum over a noisy count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deniable.central.number import NumberEstimate
from deniable.central.spread import Spread, pair_reach
from deniable.kernels.compiled import Array

_POINTS = 401
_FINER = 3
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class CentralMean(NumberEstimate):
    """The mean of clipped values, from the sum of their distances to the middle of the range, and a count.

    With s and c released, x the distance of the true mean from the middle, and z, y their noises: s - x c = z - x y. So x is in the
    interval exactly where |s - x c| is within what z - x y reaches, whatever the true count is (Fieller 1954). Where the count is not well
    above its noise, the interval is the whole range, as it must be for nobody. A public count has no noise.

    A ratio of noisy numbers is biased a little; the value is kept within the range.
    """

    ends: tuple[float, float]
    """The range that values were clipped to."""
    steps: int
    """The released sum of distances, in steps of ``noise``."""
    noise: Spread
    count: int
    """The released number of rows, or the public one."""
    count_noise: Spread | None
    """That of ``count``; None if it is public."""

    kind: ClassVar[str] = "mean"

    @property
    def value(self) -> float:
        """The estimated mean, within the range; its middle if the count is not above 0."""
        return self._middle + self._distance

    @property
    def stderr(self) -> float:
        """The standard error, as far as the count is well above its noise; half the range at most."""
        if self.count <= 0:
            return self._half
        squared = self.noise.variance + self._distance**2 * (self.count_noise.variance if self.count_noise else 0.0)
        return min(float(squared**0.5) / self.count, self._half)

    def limits(self, alpha: float) -> tuple[float, float]:
        points = np.linspace(-self._half, self._half, _POINTS)
        points = np.unique([*points, 0.0, self._distance])  # what is accepted may be far thinner than the points are apart
        inside = np.flatnonzero(self._slack(points, alpha) >= 0)
        if not inside.size:  # the released numbers fit no mean in the range: the nearest end
            edge = points[0] if self._sum * max(self.count, 1) < 0 else points[-1]
            return self._middle + float(edge), self._middle + float(edge)
        low = self._edge(points, int(inside[0]), -1, alpha)
        return self._middle + low, self._middle + self._edge(points, int(inside[-1]), 1, alpha)

    def _slack(self, points: Array, alpha: float) -> Array:
        """By how much each distance from the middle is accepted."""
        scale = self.noise.scale * self.noise.step
        if self.count_noise is None:
            reach: Any = self.noise.reach(alpha)
        else:  # half a step for each noise, since they are discrete: see ``spread``
            reach = pair_reach(scale, np.abs(points) * self.count_noise.scale, alpha) + self.noise.step / 2 + np.abs(points) / 2
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
        return self.steps * self.noise.step

    @property
    def _distance(self) -> float:
        return min(max(self._sum / self.count, -self._half), self._half) if self.count > 0 else 0.0

    @property
    def _middle(self) -> float:
        return (self.ends[0] + self.ends[1]) / 2

    @property
    def _half(self) -> float:
        return (self.ends[1] - self.ends[0]) / 2
