"""Summation with histogram encoding: the one-hot histogram, every entry with noise, all of it sent."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import ceil, prod
from typing import ClassVar

from deniable.client.frequency import LinearProtocol, check_crowd
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exact_epsilon, exp_below
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError

LARGEST_STEPS = 1 << 13
LARGEST_POINT = (1 << 16) - 1
_GUARD = 192
"""Bits after the point where weights are computed: what is lost in 2^16 products is far below 2^-64."""


@mechanism
class SHE(LinearProtocol):
    """Add noise to each entry of the one-hot histogram, on a grid with ``steps`` steps from 0 to 1, and send all noisy entries.

    The noise is two-sided geometric with ratio e^(-epsilon / (2 steps)) a step: Laplace noise of scale 2 / epsilon on the grid. Beyond 16
    scales it is folded onto the last points. No floating-point number is drawn. For teaching: always worse than THE and OUE.

    Guarantee: epsilon-local for any two inputs. They differ in two entries, and each pays half of epsilon: no point is more than
    e^(epsilon / 2) times as likely for 0 as for 1. Weights are rounded down and lowered until that is exact; the rest goes to 1/2, where
    both are equally likely.

    Estimator: the sum of (x - mean of a 0) / (mean of a 1 - mean of a 0), variance n 8 / epsilon^2 for every f, up to the grid's 1e-5.
    Below epsilon 0.002, where 16 bits do not hold 16 scales, tails are folded earlier, and the variance is less.

    Cost: 13 bits for each value (16 where epsilon is tiny); d random words on the device; the collector adds up n d numbers.

    >>> oracle = SHE(domain_size=128, epsilon=1.0)
    >>> oracle.steps, oracle.points, oracle.report_bits, round(oracle.variance(n=10_000), 1)
    (64, 4161, 1664, 79999.5)
    >>> float(oracle.ratio), round(float(oracle.mean), 4), round(float(oracle.gap), 4)
    (2.718281828459045, 2048.0, 64.0)

    References: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2012 (geometric noise); Wang, Blocki, Li, Jha 2017.
    """

    steps: int = None  # type: ignore[assignment]  # resolved below
    largest_domain: ClassVar[int] = 1 << 16
    small: ClassVar[Mapping[str, int]] = {"steps": 2}
    small_size: ClassVar[int] = 2
    small_epsilon: ClassVar[float] = 7.5  # its grid is the coarser, the larger epsilon is

    def resolve(self) -> None:
        if self.steps is None:  # a scale of about 128 steps: the grid then costs less than 1e-5 of the variance
            object.__setattr__(self, "steps", max(2, 2 * round(32 * self.epsilon)))
        if type(self.steps) is not int or self.steps % 2 or not 2 <= self.steps <= LARGEST_STEPS:
            raise ParameterError(
                "steps", self.steps, allowed=f"an even integer from 2 to {LARGEST_STEPS}", fix="leave it out for a fine grid"
            )

    @cached_property
    def reach(self) -> int:
        """How many steps below 0 and above 1 the grid goes on: 16 scales, fewer where a point would not fit 16 bits."""
        scales = ceil(32 * self.steps / Fraction(exact_epsilon(self.epsilon)))
        return min(scales, (LARGEST_POINT - self.steps) // 2)

    @property
    def points(self) -> int:
        """The number of points of the grid. Point x stands for (x - reach) / steps; point ``points`` - 1 - x is its mirror image."""
        return self.steps + 2 * self.reach + 1

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """How likely each point is, over 2^64, for an entry that is 0. For an entry that is 1 it is the mirror image."""
        ratio = exp_below(self.epsilon, Fraction(-1, 2 * self.steps))
        step, center, tail = (_fixed(number) for number in (ratio, (1 - ratio) / (1 + ratio), 1 / (1 + ratio)))
        powers = list(accumulate(range(self.steps + self.reach), lambda power, _: power * step >> _GUARD, initial=1 << _GUARD))
        side = [_over_one(center * power) for power in powers]
        weights = side[self.reach : 0 : -1] + side
        weights[0], weights[-1] = _over_one(tail * powers[self.reach]), _over_one(tail * powers[-1])  # the folded tails
        half, middle = exp_below(self.epsilon, Fraction(1, 2)), self.points // 2
        for x in range(middle):
            weights[x] = min(weights[x], half.numerator * weights[-1 - x] // half.denominator)
        weights[middle] += ONE - sum(weights)
        return tuple(weights)

    @cached_property
    def cumulative(self) -> tuple[int, ...]:
        """The sums of the weights, as ``Source.pick`` takes them."""
        return tuple(accumulate(self.weights[:-1]))

    @property
    def thresholds(self) -> dict[str, int]:
        """The first weight and the middle one. All would be thousands; a wrong one among them shows in these two.

        The first is the end of a chain of products, one for each step, and the middle one is what all others leave of 2^64.
        """
        return {"first": self.weights[0], "middle": self.weights[self.points // 2]}

    @property
    def layout(self) -> Layout:
        return (Column("noisy", limit=self.points, count=self.domain_size),)

    @property
    def largest_count(self) -> int:
        return self.points - 1

    @cached_property
    def mean(self) -> Fraction:
        """The expected point of an entry that is 0."""
        return Fraction(sum(x * weight for x, weight in enumerate(self.weights)), ONE)

    @cached_property
    def gap(self) -> Fraction:
        """How much further up the expected point of an entry that is 1 is."""
        return self.points - 1 - 2 * self.mean

    @cached_property
    def spread(self) -> Fraction:
        """The variance of one score. Mirror images vary alike, so it is the same for every entry."""
        square = Fraction(sum(x * x * weight for x, weight in enumerate(self.weights)), ONE)
        return (square - self.mean**2) / self.gap**2

    @cached_property
    def kurtosis(self) -> float:
        """The excess kurtosis of one score, 3 for Laplace noise."""
        deviations = [x - float(self.mean) for x in range(self.points)]
        fourth = sum(weight / ONE * deviation**4 for weight, deviation in zip(self.weights, deviations, strict=True))
        return fourth / float(self.spread * self.gap**2) ** 2 - 3

    @cached_property
    def ratio(self) -> Fraction:
        """Two entries differ, and each has the worst point's ratio."""
        above, below = 1, 1
        for x in range(self.points // 2):
            if self.weights[x] * below > above * self.weights[-1 - x]:
                above, below = self.weights[x], self.weights[-1 - x]
        return Fraction(above, below) ** 2

    @property
    def outputs(self) -> int:
        return int(self.points**self.domain_size)

    def perturb(self, key: int, source: Source) -> tuple[int, ...]:
        noisy = [source.pick(self.cumulative) for _ in range(self.domain_size)]
        noisy[key] = self.points - 1 - noisy[key]
        return tuple(noisy)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[tuple[int, ...]]:
        mirrored = self.weights[::-1]
        tables = [mirrored if entry == key else self.weights for entry in range(self.domain_size)]
        reports = product(range(self.points), repeat=self.domain_size)
        whole = ONE**self.domain_size
        return OutputLaw({report: Fraction(prod(table[x] for table, x in zip(tables, report, strict=True)), whole) for report in reports})

    def score(self, report: tuple[int, ...], key: int) -> Fraction:
        return (report[key] - self.mean) / self.gap

    def evidence(self, report: tuple[int, ...], key: int) -> int:
        """Return 0 up to 0 and 2 from 1 on, where the ratio is the worst; 1 between."""
        return (report[key] > self.reach) + (report[key] >= self.reach + self.steps)

    def variance(self, n: int, f: float = 0.0) -> float:
        check_crowd(n, f)
        return n * float(self.spread)

    @property
    def pair_covariances(self) -> tuple[float, float]:
        return 0.0, 0.0

    @property
    def influence(self) -> float:
        return float((self.points - 1 - self.mean) / self.gap)


def _fixed(number: Fraction) -> int:
    return (number.numerator << _GUARD) // number.denominator


def _over_one(product: int) -> int:
    """Return a product of two such numbers as an integer over 2^64, rounded down."""
    return product >> 2 * _GUARD - 64
