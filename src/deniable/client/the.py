"""Thresholding with histogram encoding: Laplace noise that is never sent, only whether it passed a threshold."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import exp, sqrt
from typing import ClassVar

from deniable.client.unary import UnaryEncoding
from deniable.contract.probability import ceil_threshold, exp_above, floor_threshold
from deniable.contract.spec import mechanism
from deniable.errors import ParameterError


@mechanism
class THE(UnaryEncoding):
    """Add Laplace noise of scale 2 / epsilon to the one-hot histogram and send which entries exceed a threshold.

    The noisy entries never leave the device, so the mechanism *is* unary encoding with p = 1 - e^(epsilon (theta - 1) / 2) / 2 and
    q = e^(-epsilon theta / 2) / 2, and it is drawn as such: two exact coins and no floating-point noise.

    Guarantee: epsilon-local for any two inputs, p rounded down and q up. The threshold throws information away, and the law that is
    left keeps a smaller epsilon than the one that the noise was scaled for: ``effective_epsilon`` states it.

    Estimator: (I - n q) / (p - q), variance as in ``frequency``, smallest at the default theta. At every f worse than SUE; for teaching.

    Cost: d bits; about d / 9 random words on the device; the collector adds up n d bits.

    >>> oracle = THE(domain_size=128, epsilon=1.0)
    >>> round(oracle.theta, 5), round(oracle.variance(n=10_000), 2), round(oracle.effective_epsilon, 4)
    (0.61855, 48071.54, 0.896)

    References: Wang, Blocki, Li, Jha 2017.
    """

    tight: ClassVar[bool] = False

    theta: float = None  # type: ignore[assignment]  # resolved below

    def resolve(self) -> None:
        if self.theta is None:
            object.__setattr__(self, "theta", self._best_theta())
        if not isinstance(self.theta, float) or not 0.5 < self.theta < 1:
            raise ParameterError("theta", self.theta, allowed="a number between 1/2 and 1", fix="leave it out for the best one")

    @cached_property
    def keep(self) -> int:
        """Rounded down: setting the true bit less often than allowed only adds privacy."""
        return floor_threshold(1 - exp_above(self.epsilon, (Fraction(repr(self.theta)) - 1) / 2) / 2)

    @cached_property
    def raise_other(self) -> int:
        """Rounded up: setting a bit that is not true more often only adds privacy."""
        return ceil_threshold(exp_above(self.epsilon, -Fraction(repr(self.theta)) / 2) / 2)

    def _best_theta(self) -> float:
        """Return the threshold with the least variance, to five digits, by golden-section search; 1/2 + epsilon/8 where floats fail."""
        if self.epsilon < 1e-3:
            return round(max(0.5 + self.epsilon / 8, 0.50001), 5)
        low, high, shrink = 0.5, 1.0, (sqrt(5) - 1) / 2
        while high - low > 1e-8:
            left, right = high - shrink * (high - low), low + shrink * (high - low)
            low, high = (low, right) if self._spread(left) < self._spread(right) else (left, high)
        return round((low + high) / 2, 5)

    def _spread(self, theta: float) -> float:
        p, q = 1 - exp(self.epsilon * (theta - 1) / 2) / 2, exp(-self.epsilon * theta / 2) / 2
        return q * (1 - q) / (p - q) ** 2
