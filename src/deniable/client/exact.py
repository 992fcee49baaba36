"""What all mechanisms with an exact law share, for counts and for numbers: the epsilon that the law really has, and the promise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import log_above
from deniable.contract.spec import Spec

LARGEST_LAW = 1 << 16
"""So many different reports a law is written out for, at most."""


class ExactSpec(Spec):
    """A mechanism whose probabilities are exact, and so is its epsilon."""

    tight: ClassVar[bool] = True
    """Whether the law uses up the epsilon it is given; where it cannot, ``effective_epsilon`` says what it uses."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of different reports, for one seed where there is one."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two inputs: e to the effective epsilon."""

    @classmethod
    @abstractmethod
    def example(cls, epsilon: float | None = None, size: int | None = None) -> Self:
        """A spec whose reports can all be enumerated, unless ``epsilon`` or the ``size`` of its domain is too large for that."""

    def resolve(self) -> None:
        """Fill in the parameters that were left open, once epsilon and domain are known to be good."""

    @cached_property
    def effective_epsilon(self) -> float:
        """The epsilon of the integer law, rounded up to a float; never above epsilon."""
        return log_above(self.ratio)

    @property
    def report_epsilon(self) -> float:
        """The exact epsilon of one report, which is all there is unless a device answers again and again."""
        return self.effective_epsilon

    @property
    def report_claim(self) -> float:
        """The epsilon that is promised for one report, which ``report_epsilon`` must not exceed."""
        return self.epsilon

    @property
    def ways(self) -> int:
        """How many ways lead to a report of one value, at most: as many as there are reports, unless they are drawn in two steps."""
        return self.outputs

    @abstractmethod
    def event(self, report: Any, keys: tuple[int, ...]) -> Hashable:
        """What a report shows about the values with these keys, in a few classes; audits by sampling count them."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to a person who sends one report."""
        return Guarantee(epsilon=self.epsilon)
