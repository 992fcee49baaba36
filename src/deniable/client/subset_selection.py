"""Subset selection: a random set of values that probably holds the true one."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, exp
from typing import ClassVar

from deniable.client.pure import PureProtocol
from deniable.contract.law import Class, OutputLaw, PairLaw
from deniable.contract.probability import exp_below, favored_threshold, floor_threshold
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError


@mechanism
class SubsetSelection(PureProtocol):
    """Send a set of w values: it holds the true one with probability p, and is otherwise uniform.

    Guarantee: epsilon-local for any two inputs; p = w e^epsilon / (w e^epsilon + d - w), rounded down.

    Estimator: a report supports its members; q = (p (w - 1) + (1 - p) w) / (d - 1). Variance as in ``pure``: averaged over all values
    no mechanism has less, at the default w, one of the two integers around d / (e^epsilon + 1). With w = 1 it is GRR.

    Cost: log2 of d over w bits of information, sent as d bits; about d / 9 random words on the device; the collector adds up n d bits.

    The other members are drawn as independent bits first; then uniform elements are added or removed until their number is right. Every
    step treats all values alike, so the result is exactly uniform.

    >>> oracle = SubsetSelection(domain_size=128, epsilon=1.0)
    >>> oracle.size, round(oracle.variance(n=10_000), 2)
    (34, 36097.88)

    References: Ye, Barg 2018; Wang, Huang, Wang, Nie, Xu, Yang, Li, Qiao 2016.
    """

    size: int = None  # type: ignore[assignment]  # resolved below
    """The members of a set: w. Left out, the number with the least variance."""
    largest_domain: ClassVar[int] = 1 << 24
    preference: ClassVar[int] = 1

    def resolve(self) -> None:
        if self.size is None:
            object.__setattr__(self, "size", best_size(self.domain_size, self.epsilon))
        check_size(self.size, self.domain_size)

    @cached_property
    def keep(self) -> int:
        """The threshold of including the true value. Rounded down: including it less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, self.size, self.domain_size - self.size)

    @cached_property
    def first_draw(self) -> int:
        """The threshold of the bits that are drawn first: near w / d, where the fewest corrections follow. Any would do."""
        return floor_threshold(Fraction(self.size, self.domain_size))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "first_draw": self.first_draw}

    @property
    def layout(self) -> Layout:
        return (Column.of_bits("members", self.domain_size, ones=self.size),)

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @cached_property
    def q(self) -> Fraction:
        return (self.p * (self.size - 1) + (1 - self.p) * self.size) / (self.domain_size - 1)

    @property
    def most_supported(self) -> int:
        return self.size

    @property
    def pair_law(self) -> PairLaw:
        d, w, p = self.domain_size, self.size, self.p
        neither = (w - 1) * (w - 2 * p) / ((d - 1) * (d - 2)) if d > 2 else self.q**2  # of two values, one is held
        return PairLaw(neither, p * (w - 1) / (d - 1))

    @property
    def channel(self) -> tuple[Class, ...]:
        d, w = self.domain_size, self.size
        inside, outside = self._weights
        sets = (1, 0, comb(d - 2, w - 1)), (0, 1, comb(d - 2, w - 1)), (1, 1, comb(d - 2, w - 2) if w > 1 else 0), (0, 0, comb(d - 2, w))
        return tuple((n * (inside if a else outside), n * (inside if b else outside), n * outside) for a, b, n in sets)

    @property
    def third(self) -> float | None:
        d, w = self.domain_size, self.size
        inside, outside = self._weights
        return float(inside * (comb(d - 3, w - 2) if w > 1 else 0) + outside * comb(d - 3, w - 1)) if d > 2 else None

    @property
    def _weights(self) -> tuple[Fraction, Fraction]:
        """The probabilities of one set with the true value in it, and of one without."""
        return self.p / comb(self.domain_size - 1, self.size - 1), (1 - self.p) / comb(self.domain_size - 1, self.size)

    @property
    def ratio(self) -> Fraction:
        """A set that holds one input and not the other."""
        return self.p * (self.domain_size - self.size) / ((1 - self.p) * self.size)

    @property
    def outputs(self) -> int:
        return comb(self.domain_size, self.size)

    def perturb(self, key: int, source: Source) -> int:
        included = source.bernoulli(self.keep)
        target = self.size - included
        others = self.domain_size - 1
        members = source.bernoulli_bits(self.first_draw, others)  # the true value's place is cut out, and put back at the end
        while (count := members.bit_count()) < target:
            members |= 1 << _position(~members, source.below(others - count))
        while (count := members.bit_count()) > target:
            members &= ~(1 << _position(members, source.below(count)))
        low = members & ((1 << key) - 1)
        return low | included << key | (members >> key) << (key + 1)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        with_key, without = self._weights
        sets = combinations(range(self.domain_size), self.size)
        return OutputLaw({sum(1 << value for value in members): with_key if key in members else without for members in sets})

    def supports(self, report: int, key: int) -> bool:
        return bool(report >> key & 1)

    @property
    def best_guess(self) -> float:
        """Any member."""
        return float(self.p) / self.size


def best_size(count: int, epsilon: float) -> int:
    """Return the size of sets of ``count`` values with the least variance: an integer next to count / (e^epsilon + 1)."""
    e = exp(epsilon)

    def spread(size: int) -> float:
        """Return the variance for each report, averaged over the values."""
        p = size * e / (size * e + count - size)
        q = (p * (size - 1) + (1 - p) * size) / (count - 1)
        return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / count

    below = int(count / (exp_below(epsilon) + 1))
    return min((max(1, below), below + 1), key=spread)


def check_size(size: object, count: int) -> None:
    """Raise if sets of this size are empty or hold everything."""
    if type(size) is not int or not 1 <= size < count:
        raise ParameterError("size", size, allowed=f"an integer from 1 to {count - 1}", fix="leave it out for the best one")


def _position(bits: int, rank: int) -> int:
    """Return where the one of this rank stands, counting from the lowest."""
    for _ in range(rank):
        bits &= bits - 1
    return (bits & -bits).bit_length() - 1
