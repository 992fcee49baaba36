"""Laplace noise on a grid, added by the person."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil
from typing import ClassVar

from deniable.client.lattice import LatticeProtocol
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exact_epsilon, exp_below
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.errors import ParameterError

LARGEST_POINT = (1 << 16) - 1
SCALES = 24
"""How far the noise goes. Beyond, only the floor is left: e^-24 of the peak."""
_GUARD = 192
"""Bits after the point where weights are computed: what is lost in 2^16 products is far below 2^-64."""


@mechanism
class DiscreteLaplace(LatticeProtocol):
    """Add noise to the value, on the grid: two-sided geometric, with ratio e^(-epsilon / steps) a step, which is Laplace noise on a grid.

    The noise ends after 24 scales, and a little of the probability is spread evenly over all points instead (``floor``), so that every
    point is possible for everyone. Tails folded onto the ends, as in ``SHE``, would pull values near one end more than others; a floor
    pulls all values alike, and the estimator undoes it exactly. No floating-point number is drawn. For comparison: ``Hybrid`` is always
    better.

    Guarantee: epsilon-local for any two inputs; no point is more than e^epsilon times as likely at low as at high, nor the other way round.

    Estimator: the mean of the points, less the floor's share. Variance 2 width^2 / epsilon^2 for every value, up to the grid's 1e-5: in
    half ranges squared, 8 / epsilon^2. Rounding to the grid adds at most ``rounding_variance``.

    Cost: 13 bits; two random words on the device, hardly ever three; the collector adds up n numbers and their squares.

    >>> oracle = DiscreteLaplace(low=-1, high=1, epsilon=1.0)
    >>> oracle.steps, oracle.points, oracle.report_bits, round(oracle.variance(n=1, value=0), 3)
    (128, 6273, 13, 8.0)

    References: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2012 (geometric noise).
    """

    preference: ClassVar[int | None] = 4

    tight: ClassVar[bool] = False  # the floor costs up to 1e-6 of epsilon

    def usual_steps(self) -> int:
        """Return a scale of about 128 steps: the grid then costs less than 1e-5 of the variance."""
        return max(1, round(128 * self.epsilon))

    def resolve(self) -> None:
        if self.points - 1 > LARGEST_POINT:
            fits = int(LARGEST_POINT / (1 + 2 * SCALES / self.epsilon))
            if not fits:
                raise ParameterError("epsilon", self.epsilon, allowed="at least 0.00074: noise must fit 16 bits", fix="use OneBitMean")
            raise ParameterError("steps", self.steps, allowed=f"at most {fits} at this epsilon: noise must fit 16 bits", fix="leave it out")

    @cached_property
    def reach(self) -> int:
        """How many steps the noise goes up or down: 24 scales."""
        return ceil(SCALES * self.steps / Fraction(exact_epsilon(self.epsilon)))

    @property
    def points(self) -> int:
        """Point y stands for y - reach steps above low."""
        return self.steps + 2 * self.reach + 1

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """How likely each noise is, from ``-reach`` to ``reach``, over 2^64; what they leave is the floor."""
        step, e = exp_below(self.epsilon, Fraction(-1, self.steps)), exp_below(self.epsilon)
        ratio = (step.numerator << _GUARD) // step.denominator
        side = list(accumulate(range(self.reach), lambda power, _: power * ratio >> _GUARD, initial=1 << _GUARD))
        last = side[max(0, self.reach - self.steps + 1)]  # the likeliest noise that another input may not have
        below = (
            last * e.denominator // (e.numerator - e.denominator) + 1
        )  # what every point needs for it not to be e^epsilon times likelier
        whole = 2 * sum(side) - side[0] + below * self.points
        scaled = [(power << 64) // whole for power in side]
        return (*scaled[:0:-1], *scaled)

    @cached_property
    def cumulative(self) -> tuple[int, ...]:
        """The sums of the weights, as ``Source.pick`` takes them."""
        return tuple(accumulate(self.weights))

    @property
    def floor(self) -> Fraction:
        """The probability of a point, over 2^64, wherever the value is."""
        return Fraction(ONE - self.cumulative[-1], self.points)

    @property
    def thresholds(self) -> dict[str, int]:
        """The likeliest noise and all noise together. All weights would be thousands; a wrong one among them shows in these two."""
        return {"center": self.weights[self.reach], "noise": self.cumulative[-1]}

    @cached_property
    def ratio(self) -> Fraction:
        """Weights fall on both sides, so the worst point for two inputs lies beyond one of them, and they are as far apart as can be."""
        weights, floor = (*self.weights[self.reach :], *[0] * self.steps), self.floor
        worst = (1, 1)
        for near, far in zip(weights[: self.reach + 1], weights[self.steps :], strict=True):
            likely, seldom = (weight * floor.denominator + floor.numerator for weight in (near, far))
            if likely * worst[1] > worst[0] * seldom:
                worst = (likely, seldom)
        return Fraction(*worst)

    def perturb(self, key: int, source: Source) -> int:
        noise = source.pick(self.cumulative)
        return key + noise if noise <= 2 * self.reach else source.below(self.points)

    def output_law(self, key: int) -> OutputLaw[int]:
        beyond = [0] * self.steps
        table = [*beyond, *self.weights, *beyond][self.steps - key :]
        return OutputLaw({point: (table[point] + self.floor) / ONE for point in range(self.points)})

    @cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        noisy = Fraction(self.cumulative[-1], ONE)
        return noisy * self.reach + (1 - noisy) * (self.points - 1) / 2, noisy

    @cached_property
    def parabola(self) -> tuple[Fraction, Fraction, Fraction]:
        noisy, reach = Fraction(self.cumulative[-1], ONE), self.reach
        spread = Fraction(sum(weight * (z - reach) ** 2 for z, weight in enumerate(self.weights)), ONE)
        even = (1 - noisy) * Fraction((self.points - 1) * (2 * self.points - 1), 6)
        return noisy * reach**2 + spread + even, 2 * noisy * reach, noisy

    @cached_property
    def kurtosis(self) -> float:
        """6 for Laplace noise; a little more here, through the floor. At either end of the range, where it is largest."""
        center, floor = float(self.line[0]), float(self.floor) / ONE
        law = [floor + weight / ONE for weight in self.weights] + [floor] * self.steps
        second, fourth = (sum(chance * (y - center) ** power for y, chance in enumerate(law)) for power in (2, 4))
        return fourth / second**2
