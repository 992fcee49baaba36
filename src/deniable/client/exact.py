"""Mechanisms with an exact law, for counts and for numbers: the epsilon that the law really has, and its guarantee.

The exact joint law of successive reports of one device, which keeps its permanent answers, is here as well.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from deniable.contract.guarantee import Guarantee
from deniable.contract.law import OutputLaw
from deniable.contract.probability import log_above
from deniable.contract.spec import Spec
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.client.longitudinal import Longitudinal

LARGEST_LAW = 1 << 16
"""So many different reports a law is written out for, at most."""
ONE = Fraction(1)


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
        """Return a spec whose reports can all be enumerated, unless ``epsilon`` or the ``size`` of its domain is too large for that."""

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
        """Return what a report shows about the values with these keys, in a few classes; audits by sampling count them."""

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to a person who sends one report."""
        return Guarantee(epsilon=self.epsilon)


def history_law(spec: Longitudinal, values: Sequence[Any], seed: tuple[int, ...]) -> OutputLaw[tuple[Any, ...]]:
    """Return the law of the reports of a device that holds these values in turn."""
    if spec.outputs ** len(values) > LARGEST_LAW:
        allowed = f"at most {LARGEST_LAW} different histories"
        raise ParameterError("values", f"{len(values)} of them", allowed=allowed, fix="use a smaller domain, or fewer reports")
    keys = [spec.key_of(value) for value in values]
    weights: defaultdict[tuple[Any, ...], Fraction] = defaultdict(Fraction)
    for personal, chance in spec.personal_law(seed).items():
        groups = [spec.class_of(key, personal) for key in keys]
        kept = list(dict.fromkeys(groups))
        together = [_repeated(spec, group, personal, groups.count(group)) for group in kept]
        for several in product(*(law.items() for law in together)):
            answers = {group: iter(found) for group, (found, _) in zip(kept, several, strict=True)}
            history = tuple(spec.joined(personal, next(answers[group])) for group in groups)
            weights[history] += chance * prod((weight for _, weight in several), start=ONE)
    return OutputLaw(weights)


def _repeated(spec: Longitudinal, group: int, personal: Any, count: int) -> dict[tuple[Any, ...], Fraction]:
    """Return the joint law of so many answers from one permanent answer."""
    weights: defaultdict[tuple[Any, ...], Fraction] = defaultdict(Fraction)
    for memo, chance in spec.permanent_law(group, personal).items():
        answers = spec.instantaneous_law(memo)
        for several in product(answers, repeat=count):
            weights[several] += chance * prod((answers[answer] for answer in several), start=ONE)
    return weights
