"""Randomized response on plus and minus one, debiased."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from deniable.client.one_bit import OneBitProtocol
from deniable.contract.numbers import Numbers
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import mechanism
from deniable.errors import DomainError, ParameterError


@mechanism
class SignRR(OneBitProtocol):
    """Report whether the number is low or high, and lie with probability 1 / (e^epsilon + 1). Low is -1 and high is 1 unless declared.

    Guarantee: epsilon-local for any two inputs; the threshold of the truth is rounded down.

    Estimator: the mean of the reports times (e^epsilon + 1) / (e^epsilon - 1), with the law's exact probabilities. Without that factor, as
    it stands in lecture notes, the mean is pulled toward the middle: at epsilon 1 to less than half of what it is. Variance of one score
    4 e^epsilon / (e^epsilon - 1)^2, for answers of -1 and 1, whichever it is. Numbers between are refused; ``Duchi`` takes them.

    Cost: 1 bit; one random word on the device; the collector counts ones.

    >>> oracle = SignRR(epsilon=1.0)
    >>> oracle, round(oracle.variance(n=1, value=1), 5)
    (SignRR(low=-1, high=1, steps=1, epsilon=1.0), 3.68269)
    >>> [round(float(oracle.score(report) * oracle.unit - 1), 4) for report in (0, 1)]   # not -1 and 1
    [-2.164, 2.164]

    References: Warner 1965; Vadhan 2017; lecture notes "Applied Privacy for Data Science" (CS208), corrected.
    """

    rounds: ClassVar[bool] = False

    def _declared(self) -> Numbers:
        declared = self.low is not None or self.high is not None
        return super()._declared() if declared else Numbers(-1, 1, self.steps or 1, self.clip or False)

    def usual_steps(self) -> int:
        return 1

    @property
    def choices(self) -> tuple[Any, ...]:
        """Low and high."""
        return self.domain.low, self.domain.high

    def resolve(self) -> None:
        if self.steps != 1:
            raise ParameterError("steps", self.steps, allowed="1: an answer is low or high", fix="use Duchi for numbers between")

    def randomize(self, value: Any, source: Source = SYSTEM) -> int:
        """Return one person's report. Nothing is rounded, so no word is drawn for it."""
        return self.perturb(int(self.position(value)), source)

    def position(self, value: Any) -> Fraction:
        place = super().position(value)
        if place.denominator != 1:
            raise self.refuse(value)
        return place

    def refuse(self, value: object, position: int | None = None) -> DomainError:
        """Return the error for a value between low and high, naming its position where it came in a batch."""
        where = "value" if position is None else f"values[{position}]"
        low, high = (self.domain.value(key) for key in (0, 1))
        return DomainError(where, value, allowed=f"{low} or {high}, and nothing between", fix="use Duchi for numbers between")

    @cached_property
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """At 0 and 1 the square of the grid point is the grid point: then the variance is the same at both, and known."""
        a, b, _ = super().moments
        return a, b - 1, Fraction(1)
