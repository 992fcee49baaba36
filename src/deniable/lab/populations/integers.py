"""Populations of integers, by a formula. Laws without an end are cut where less than 2^-64 is left."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log1p
from typing import Any

import numpy as np
import scipy

from deniable.contract.domain import Domain
from deniable.contract.source import Source
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below
from deniable.lab.populations.base import LARGEST_TABLE, TAIL, Population, is_integer, is_number, require, span
from deniable.local.oracle_choice import check_people


@dataclass(frozen=True)
class Poisson(Population):
    """Counts of rare events: value v with probability e^-mean mean^v / v!.

    >>> Poisson(5).probabilities[:4].round(4).tolist(), Poisson(5).domain
    ([0.0067, 0.0337, 0.0842, 0.1404], IndexRange(count=37))
    """

    mean: float

    def __post_init__(self) -> None:
        require(is_number(self.mean, above=0), "mean", self.mean, "a number above 0", "pass the average of the counts")

    def table(self) -> tuple[Any, Array]:
        values = np.arange(int(_shorter("mean", self.mean, self.mean + 10 * self.mean**0.5 + 60)))  # more than enough
        values = values[: int(np.argmax(scipy.stats.poisson.sf(values, self.mean) < TAIL)) + 1]
        return values, scipy.stats.poisson.pmf(values, self.mean)


@dataclass(frozen=True)
class Uniform(Population):
    """The integers from low to high, all equally likely; drawn exactly, and as many as 2^63 of them.

    >>> Uniform(0, 14).counts(100).tolist()
    [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6]
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        good = is_integer(self.low) and is_integer(self.high) and 1 < self.high - self.low + 1 <= 2**63
        require(good, "low, high", (self.low, self.high), "integers, low < high, at most 2^63 values", "swap the ends, or narrow the range")

    @property
    def domain(self) -> Domain:
        return span(self.low, self.high)

    def table(self) -> tuple[Any, Array]:
        size = _shorter("high", self.high, self.high - self.low + 1)
        return np.arange(self.low, self.high + 1), np.ones(int(size))

    def draw(self, n: int, source: Source | None = None) -> Any:
        check_people(n)
        drawn = np.empty(n, dtype=np.uint64)
        count = np.uint64(self.high - self.low + 1)
        serve_everyone(n, lambda part, words: fill_below(count, drawn[part], words), source)
        return drawn.astype(np.int64) + self.low


@dataclass(frozen=True)
class Zipf(Population):
    """A skewed crowd: the k-th of ``size`` values in proportion to 1 / k^exponent. Value 0 is the most frequent.

    >>> Zipf(exponent=1.1, size=4).counts(1000).tolist()
    [504, 235, 151, 110]
    """

    exponent: float
    size: int

    def __post_init__(self) -> None:
        require(is_number(self.exponent, above=0), "exponent", self.exponent, "a number above 0", "try 1, which fits words")
        good = is_integer(self.size) and 2 <= self.size <= LARGEST_TABLE
        require(good, "size", self.size, f"an integer from 2 to {LARGEST_TABLE}", "pass the number of values")

    def table(self) -> tuple[Any, Array]:
        return np.arange(self.size), 1.0 / np.arange(1, self.size + 1) ** float(self.exponent)


@dataclass(frozen=True)
class Geometric(Population):
    """Failures before the first success: value v, from 0 on, with probability (1 - p)^v p.

    >>> Geometric(0.5).probabilities[:3].tolist()
    [0.5, 0.25, 0.125]
    """

    p: float

    def __post_init__(self) -> None:
        require(is_number(self.p, above=0) and self.p < 1, "p", self.p, "a number between 0 and 1", "pass the chance of a success")

    def table(self) -> tuple[Any, Array]:
        values = np.arange(int(_shorter("p", self.p, ceil(log(TAIL) / log1p(-self.p)))) + 1)
        return values, self.p * np.exp(values * log1p(-self.p))


@dataclass(frozen=True)
class RoundedNormal(Population):
    """A normal law of a mean and a standard deviation ``sd``, rounded to integers.

    Value v has the probability of v - 1/2 to v + 1/2.

    >>> crowd = RoundedNormal(mean=10, sd=2)
    >>> dict(zip(crowd.values.tolist(), crowd.probabilities.round(4).tolist()))[10]
    0.1974
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        require(is_number(self.mean) and abs(self.mean) < 2**52, "mean", self.mean, "a number of at most 52 bits", "shift the values")
        require(is_number(self.sd, above=0), "sd", self.sd, "a number above 0", "pass the standard deviation before rounding")

    def table(self) -> tuple[Any, Array]:
        reach = _shorter("sd", self.sd, self.sd * float(scipy.stats.norm.isf(TAIL))) + 1
        values = np.arange(round(self.mean - reach), round(self.mean + reach) + 1)
        low, high = ((values + side - self.mean) / self.sd for side in (-0.5, 0.5))
        # By symmetry taken from the lower tail, where differences of tiny numbers are still exact.
        lower, upper = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
        return values, scipy.special.ndtr(upper) - scipy.special.ndtr(lower)


def _shorter(parameter: str, value: float, values: float) -> float:
    """The number of values, or an error if they would not fit into a table; before any memory is taken."""
    if not values < LARGEST_TABLE:
        raise ParameterError(
            parameter, value, allowed=f"a distribution over fewer than {LARGEST_TABLE} values", fix="choose a narrower distribution"
        )
    return values
