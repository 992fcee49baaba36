"""One bit about a number: it is 1 the more often, the larger the number is, and exactly in proportion."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from deniable.client.mean import Linear, MeanSpec
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exp_below
from deniable.contract.source import ONE, Source
from deniable.contract.wire import Column, Layout


class OneBitProtocol(MeanSpec):
    """A bit that is 1 with probability (first + i step) / 2^64 at the grid point i.

    The smallest and the largest of these probabilities add up to 1, so both answers have the same worst ratio. ``step`` is the largest
    integer that keeps it at most e^epsilon: the law is exact, and never a step beyond.
    """

    @cached_property
    def step(self) -> int:
        """By how much the threshold grows with each grid point. Rounded down: a flatter law only adds privacy."""
        e = exp_below(self.epsilon)
        step = (ONE * (e - 1) / (e + 1) / self.steps).__floor__()
        return step - (step * self.steps) % 2  # so that both ends are equally far from a fair coin

    @cached_property
    def first(self) -> int:
        """The threshold at low."""
        return (ONE - self.steps * self.step) // 2

    @property
    def thresholds(self) -> dict[str, int]:
        return {"first": self.first, "step": self.step}

    @property
    def layout(self) -> Layout:
        return (Column.of_bits("bit", 1),)

    @property
    def outputs(self) -> int:
        return 2

    @property
    def ratio(self) -> Fraction:
        return Fraction(ONE - self.first, self.first)

    def perturb(self, key: int, source: Source) -> int:
        return int(source.bernoulli(self.first + key * self.step))

    def output_law(self, key: int) -> OutputLaw[int]:
        one = Fraction(self.first + key * self.step, ONE)
        return OutputLaw({0: 1 - one, 1: one})

    def features(self, report: int) -> tuple[int, ...]:
        return (report,)

    @cached_property
    def score_range(self) -> tuple[Fraction, Fraction]:
        return Fraction(-self.first, self.step), Fraction(ONE - self.first, self.step)

    @cached_property
    def scores(self) -> Linear:
        low, high = self.score_range
        return Linear(low, (high - low,))

    @cached_property
    def squares(self) -> Linear:
        low, high = self.score_range
        return Linear(low**2, (high**2 - low**2,))

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """The square of a score is one of two numbers, and grows with the chance of the larger one: never with i^2."""
        low, high = self.score_range
        return -low * high, low + high, Fraction(0)
