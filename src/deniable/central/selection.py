"""Choosing the best candidate, privately and exactly: the exponential mechanism, and permute-and-flip, which is never worse.

Each candidate has a **utility**, a rational number that depends on people's data; ``sensitivity`` is how far one person can move any of
them. With u* the best utility and x_i = epsilon (u* - u_i) / (2 sensitivity)::

    exponential mechanism     draw a candidate at random, keep it with probability e^-x_i; otherwise draw again, from all of them
    permute-and-flip          the same without putting back: each candidate is tried once, in random order

The first is the law P(i) proportional to e^(epsilon u_i / (2 sensitivity)), since every trial is kept with just this weight. Both need only
coins of e^-x (``bernoulli_exp``), so the law is exact: there is no table of rounded weights, and utilities of any size are told apart.

**Guarantee.** For neighbors all u_i - u'_i lie in an interval of length 2 sensitivity, or of length sensitivity if the utilities are
``monotone``: adding a person moves no two of them in opposite directions. Then the 2 is left out. The ln-ratios of the exponential
mechanism lie in an interval of length epsilon (bounded range, a quarter of the usual price under composition). Permute-and-flip is
epsilon-DP: it is the largest of u_i + E_i with exponential noise E_i of scale 2 sensitivity / epsilon, and the threshold that E_i has to
pass moves by at most 2 sensitivity.

**Error.** P(i) <= e^-x_i for both. So the chosen utility is within (2 sensitivity / epsilon) ln((k - 1) / (1 - level)) of the best.

**Not protected.** How long a choice takes: the number of trials depends on the utilities. Do not publish it.

References: McSherry, Talwar 2007; Dong, Durfee, Rogers 2020 (bounded range); McKenna, Sheldon 2020; Ding et al. 2021 (exponential noise).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, log
from typing import Any

from deniable.accounting import BoundedRange, Event, Pure, Repeated
from deniable.accounting.event import ADD_REMOVE, NEIGHBORS, check_neighbors
from deniable.central.bernoulli_exp import RationalInterval, bernoulli_exp, exp_interval
from deniable.central.grid import rational
from deniable.central.rationals import exact_rate, exact_utilities
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.core.interval import check_level
from deniable.errors import ParameterError

Utilities = Sequence[Any]
"""Integers, fractions, or floats, which are taken as the rationals that they are; NumPy arrays too."""


@dataclass(frozen=True, kw_only=True)
class SelectionMechanism(ABC):
    """A way to choose among candidates. ``epsilon`` is the price of one choice.

    ``utilities`` has a number for each candidate, and ``sensitivity`` is how far one person can move any of them. ``monotone`` says that a
    person moves all of them in one direction: then the noise is half as large.
    """

    epsilon: float
    sensitivity: Any
    neighbors: str
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_neighbors(self.neighbors)
        rational("sensitivity", self.sensitivity)
        if type(self.monotone) is not bool:
            raise ParameterError(
                "monotone",
                self.monotone,
                allowed="True or False",
                fix="write True if adding a person never lowers a utility, or never raises one",
            )
        if self.monotone and self.neighbors != ADD_REMOVE:
            fix = "leave monotone out: replacing a person raises some utilities and lowers others"
            raise ParameterError("monotone", self.monotone, allowed=f"True for neighbors={ADD_REMOVE!r} only", fix=fix)

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of one choice, for accounting."""

    @abstractmethod
    def choose(self, utilities: Utilities, source: Source | None = None) -> int:
        """Return the index of one candidate, most likely one of the best."""

    @abstractmethod
    def law(self, utilities: Utilities) -> tuple[RationalInterval, ...]:
        """The probability of each candidate, between two rationals, for audits of some ten candidates."""

    def top(self, utilities: Utilities, k: int, source: Source | None = None) -> list[int]:
        """Return the indices of k candidates: k choices, each among those that are left. It costs ``top_event(k)``."""
        left = [(place, int(utility) if utility.denominator == 1 else utility) for place, utility in enumerate(exact_utilities(utilities))]
        check_candidates(k, len(left))
        found = []
        for _ in range(k):
            place = self.choose([utility for _, utility in left], source)
            found.append(left.pop(place)[0])
        return found

    def top_event(self, k: int) -> Event:
        """What ``top`` costs: k choices, one after the other."""
        return self.event if k == 1 else Repeated(event=self.event, times=k)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one choice."""
        return Guarantee(
            epsilon=self.epsilon,
            model="central",
            unit="one choice",
            neighbors=NEIGHBORS[self.neighbors],
            honest="the curator",
            certificate="exact law",
        )

    @cached_property
    def rate(self) -> Fraction:
        """How much of the exponent one unit of utility is: epsilon / (2 sensitivity), without the 2 if monotone."""
        return exact_rate(self.epsilon) / (rational("sensitivity", self.sensitivity) * (1 if self.monotone else 2))

    def exponents(self, utilities: Utilities) -> tuple[list[int], int]:
        """The x_i as integers, and the denominator that is shared by all."""
        rate = self.rate
        if isinstance(utilities, list) and utilities and all(type(utility) is int for utility in utilities):  # the usual case: no fractions
            top = max(utilities)
            return [rate.numerator * (top - utility) for utility in utilities], rate.denominator
        exact = exact_utilities(utilities)
        best = max(exact)
        below = [rate * (best - utility) for utility in exact]
        shared = lcm(*(x.denominator for x in below))
        return [int(x * shared) for x in below], shared

    def weights(self, utilities: Utilities) -> list[RationalInterval]:
        """The e^-x_i, each between two rationals."""
        exponents, shared = self.exponents(utilities)
        return [exp_interval(Fraction(x, shared)) for x in exponents]

    def shortfall(self, candidates: int, level: float = 0.95) -> float:
        """How far the chosen utility is below the best of so many, at most, with probability ``level``."""
        check_candidates(candidates)
        check_level("level", level)
        return (log(candidates - 1) - log(1 - level)) / float(self.rate) if candidates > 1 else 0.0


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(SelectionMechanism):
    """Choose candidate i with probability proportional to e^(epsilon u_i / (2 sensitivity)), exactly.

    Of bounded range epsilon, which composes at a quarter of the price of epsilon alone: the one to take where many choices are made. It
    tries k / (sum of e^-x_i) candidates on average, at most k.

    >>> from deniable.testing import ReplaySource
    >>> drinks = ExponentialMechanism(epsilon=1.0, sensitivity=1, neighbors="add-remove", monotone=True)
    >>> drinks.choose([40, 44, 31], ReplaySource.from_key("drinks"))
    1
    >>> [round(float(p.low), 4) for p in drinks.law([40, 44, 31])], drinks.event
    ([0.018, 0.982, 0.0], BoundedRange(epsilon=1.0, neighbors='add-remove'))
    >>> drinks.top([40, 44, 31], 2, ReplaySource.from_key("drinks")), round(drinks.shortfall(3), 2)
    ([1, 0], 3.69)
    """

    @property
    def event(self) -> Event:
        return BoundedRange(epsilon=self.epsilon, neighbors=self.neighbors)

    def choose(self, utilities: Utilities, source: Source | None = None) -> int:
        exponents, shared = self.exponents(utilities)
        words = SYSTEM if source is None else source
        found = None
        while found is None:
            found = self.trial(exponents, shared, words)
        return found

    def trial(self, exponents: list[int], shared: int, source: Source) -> int | None:
        """One candidate drawn at random, if it is kept; ``exponents`` and the denominator that they have ``shared`` are as above.

        Trials have no memory: their law is the mechanism's, up to what is not kept.
        """
        candidate = source.below(len(exponents))
        return candidate if bernoulli_exp(exponents[candidate], shared, source) else None

    def law(self, utilities: Utilities) -> tuple[RationalInterval, ...]:
        weights = self.weights(utilities)
        low, high = (sum((weight[side] for weight in weights), Fraction(0)) for side in (0, 1))
        return tuple(RationalInterval(weight.low / high, weight.high / low) for weight in weights)


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(SelectionMechanism):
    """Try the candidates in random order, and keep candidate i with probability e^-x_i: the best one is kept for certain.

    For a single choice it is never worse than the exponential mechanism, and up to twice as good, at the same epsilon. It tries each
    candidate once at most.

    >>> from deniable.testing import ReplaySource
    >>> drinks = PermuteAndFlip(epsilon=1.0, sensitivity=1, neighbors="add-remove", monotone=True)
    >>> drinks.choose([40, 44, 31], ReplaySource.from_key("drinks"))
    1
    >>> [round(float(p.low), 4) for p in drinks.law([40, 44, 31])]
    [0.0092, 0.9908, 0.0]
    """

    @property
    def event(self) -> Event:
        return Pure(epsilon=self.epsilon, neighbors=self.neighbors)

    def choose(self, utilities: Utilities, source: Source | None = None) -> int:
        exponents, shared = self.exponents(utilities)
        words = SYSTEM if source is None else source
        left = list(range(len(exponents)))
        while True:  # a best candidate has the exponent 0 and ends it
            place = words.below(len(left))
            if bernoulli_exp(exponents[left[place]], shared, words):
                return left[place]
            left[place] = left[-1]
            left.pop()

    def law(self, utilities: Utilities) -> tuple[RationalInterval, ...]:
        """Each candidate is tried at a time uniform between 0 and 1; it is chosen if those before it were not kept.

        So P(i) = w_i times the integral of the product over j != i of (1 - w_j z), z from 0 to 1: it falls with every other weight.
        """
        weights = self.weights(utilities)

        def chosen(i: int, own: Fraction, side: int) -> Fraction:
            return own * integral((Fraction(1), -weight[side]) for j, weight in enumerate(weights) if j != i)

        return tuple(RationalInterval(chosen(i, weight.low, 1), chosen(i, weight.high, 0)) for i, weight in enumerate(weights))


def integral(factors: Iterable[tuple[Fraction, Fraction]]) -> Fraction:
    """The integral of the product of all a + b z, z from 0 to 1: a time that is uniform, and what must not have happened by then.

    >>> integral([(Fraction(1), Fraction(-1))] * 2)
    Fraction(1, 3)
    """
    product = [Fraction(1)]
    for constant, slope in factors:
        product = [constant * a + slope * b for a, b in zip([*product, Fraction(0)], [Fraction(0), *product], strict=True)]
    return sum((factor / (power + 1) for power, factor in enumerate(product)), Fraction(0))


def check_candidates(k: object, most: int | None = None) -> None:
    """Raise unless this is a number of candidates."""
    if type(k) is not int or k < 1 or (most is not None and k > most):
        allowed = "an integer from 1 on" if most is None else f"an integer from 1 to {most}, the candidates"
        raise ParameterError("k", k, allowed=allowed, fix="choose a smaller k: each candidate is chosen at most once")
