"""Vectors by asking for a few coordinates: exact, on a box instead of a ball. Each person answers for some, each with a part of epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nextafter
from typing import Any

import numpy as np

from deniable.client.hybrid import Hybrid
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import Estimate
from deniable.core.number_column import number_column
from deniable.core.stream import serve_everyone
from deniable.core.vector import vector_of_means
from deniable.errors import DomainError, ParameterError
from deniable.kernels.buckets import fill_sets

EPSILON_EACH = 2.5
"""A coordinate more is asked for when each has this much: below, noise grows faster than more answers help (Wang et al. 2019)."""


@dataclass(frozen=True, kw_only=True)
class CoordinateSampling:
    """Send k coordinates out of all, drawn at random, each by ``Hybrid`` with epsilon / k; k = max(1, min(dimension, epsilon / 2.5)).

    Guarantee: epsilon-local for any two vectors of the box, exactly: k reports, whose epsilons add up to at most epsilon. Which coordinates
    are asked for does not depend on the vector.

    Estimator: the mean of each coordinate over those who answered for it. Variance dimension / k times that of ``Hybrid`` at epsilon / k,
    and what asking a part of the people adds.

    >>> sampling = CoordinateSampling(dimension=100, low=-1, high=1, epsilon=8.0)
    >>> sampling.asked, sampling.spec.epsilon <= 8 / 3
    (3, True)
    >>> one = CoordinateSampling(dimension=100, low=-1, high=1, epsilon=8.0, asked=1)
    >>> sampling.variance(n=1000) < one.variance(n=1000)
    True

    References: Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019 (ICDE).
    """

    dimension: int
    low: Any
    high: Any
    epsilon: float
    asked: int = None  # type: ignore[assignment]  # resolved below

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if type(self.dimension) is not int or not 1 <= self.dimension <= 1 << 20:
            raise ParameterError(
                "dimension", self.dimension, allowed="an integer from 1 to 2^20", fix="give the number of entries in a vector"
            )
        if self.asked is None:
            object.__setattr__(self, "asked", max(1, min(self.dimension, int(self.epsilon / EPSILON_EACH))))
        if type(self.asked) is not int or not 1 <= self.asked <= self.dimension:
            raise ParameterError("asked", self.asked, allowed=f"an integer from 1 to {self.dimension}", fix="leave it out for the best")

    @cached_property
    def spec(self) -> Hybrid:
        """The mechanism of one coordinate; its epsilon is rounded down, so that all together have no more than epsilon."""
        each = self.epsilon / self.asked
        while self.asked * Fraction(repr(each)) > Fraction(repr(self.epsilon)):
            each = nextafter(each, 0.0)
        return Hybrid(low=self.low, high=self.high, epsilon=each)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a person who answers once, for all coordinates together."""
        return Guarantee(epsilon=self.epsilon)

    def variance(self, n: int) -> float:
        """The expected squared distance of the estimated mean from the mean of n vectors, at worst, if they are a sample."""
        width = float(self.spec.domain.width)
        return (
            self.dimension * (self.dimension / self.asked) * (self.spec.variance(n) + (1 - self.asked / self.dimension) * width**2 / 4 / n)
        )

    def randomize(self, value: Any, source: Source = SYSTEM) -> list[tuple[int, int]]:
        """One person's report: coordinates in increasing order, and the report for each."""
        if len(value) != self.dimension:
            raise DomainError("value", f"{len(value)} numbers", allowed=f"{self.dimension} of them", fix="pass one number per coordinate")
        chosen: set[int] = set()
        for newest in range(self.dimension - self.asked, self.dimension):  # Floyd: every set is equally likely
            drawn = source.below(newest + 1)
            chosen.add(newest if drawn in chosen else drawn)
        return [(place, self.spec.randomize(value[place], source)) for place in sorted(chosen)]

    def run(self, values: Any, *, source: Source | None = None) -> Estimate:
        """Ask all people, one row of a matrix each, and return the estimated mean vector."""
        rows = np.asarray(values)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise DomainError("values", f"shape {rows.shape}", allowed=f"one row of {self.dimension} numbers each", fix="pass a matrix")
        number_column(self.spec.domain, rows.ravel())  # numbers that nobody asks for are checked, too
        chosen = np.zeros((len(rows), self.asked), dtype=np.uint32)
        serve_everyone(len(rows), lambda part, words: fill_sets(self.dimension, chosen[part], words), source)
        return vector_of_means({place: self._mean(rows, chosen, place, source) for place in range(self.dimension)})

    def _mean(self, rows: Any, chosen: Any, place: int, source: Source | None) -> Any:
        answers = rows[(chosen == place).any(axis=1), place]
        return self.spec.estimate(self.spec.tally(self.spec.privatize(answers, source=source)))
