"""What every population is: values, their probabilities, and a crowd drawn from them, one random word a person."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.contract.domain import Categories, Domain, IndexRange, Integers
from deniable.contract.source import Source
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.oracle_choice import check_people

POPULATIONS: dict[str, type[Population]] = {}
"""Every population by its name, for experiments that are declared in a file."""
LARGEST_TABLE = 1 << 24
"""The most values a population lists."""
TAIL = 2.0**-64
"""Where laws without an end are cut: one random word cannot tell such values apart."""


class Population(ABC):
    """A law that people's values are drawn from. A subclass is a frozen dataclass that says which values there are and how likely.

    Integers are drawn as a NumPy array, labels as an Arrow dictionary array; mechanisms and protocols take both.

    >>> from deniable.lab.populations import Zipf
    >>> from deniable.testing import ReplaySource
    >>> crowd = Zipf(exponent=1.1, size=4)
    >>> crowd.draw(12, ReplaySource.from_key("docs"))
    array([0, 0, 1, 0, 1, 0, 1, 0, 3, 0, 0, 2])
    >>> crowd.probabilities.round(3).tolist(), crowd.counts(1000).tolist(), crowd.describe()
    ([0.504, 0.235, 0.151, 0.11], [504, 235, 151, 110], 'Zipf(1.1, 4)')
    """

    def __init_subclass__(cls, *, named: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        if named:  # else it is found where it is used: what its people hold is not what a file's mechanisms can ask for
            POPULATIONS[cls.__name__] = cls

    @abstractmethod
    def table(self) -> tuple[Any, Array]:
        """The values, integers in ascending order or a list of labels, and a weight for each."""

    # --- what follows ---

    @cached_property
    def _law(self) -> tuple[Any, Array]:
        values, weights = self.table()
        if len(values) > LARGEST_TABLE:
            raise ParameterError("population", self.describe(), allowed=f"at most {LARGEST_TABLE} values", fix="choose a narrower range")
        return values, weights / weights.sum()

    @property
    def values(self) -> Any:
        """The values that people can hold: an array of integers in ascending order, or a list of labels."""
        return self._law[0]

    @property
    def probabilities(self) -> Array:
        """How likely each value is."""
        return self._law[1]

    @property
    def labeled(self) -> bool:
        """Whether the values are labels rather than integers."""
        return isinstance(self.values, list)

    @property
    def domain(self) -> Domain:
        """The smallest domain of consecutive integers, or of labels, that holds every value."""
        if self.labeled:
            return Categories(*self.values)
        return span(int(self.values[0]), int(self.values[-1]))

    @cached_property
    def _thresholds(self) -> tuple[Array, Array]:
        """Positions that can be drawn, and the cumulative thresholds between them, over 2^64 as in ``Source.pick``."""
        possible = np.flatnonzero(self.probabilities)
        ends = np.floor(np.cumsum(self.probabilities[possible])[:-1] * 2.0**64)
        return possible, np.minimum(ends, 2.0**64 - 2048).astype(np.uint64)  # the largest float below 2^64

    def draw(self, n: int, source: Source | None = None) -> Any:
        """The values of n people, independent of each other; one word a person. Without a source they are fresh every time."""
        check_people(n)
        possible, thresholds = self._thresholds
        drawn = np.empty(n, dtype=np.int64)

        def serve(part: slice, words: Array) -> tuple[int, int]:
            count = min(part.stop - part.start, words.size)
            drawn[part.start : part.start + count] = np.searchsorted(thresholds, words[:count], side="right")
            return count, count

        serve_everyone(n, serve, source)
        return self.at(possible[drawn])

    def counts(self, n: int) -> Array:
        """How many of n people hold each value if no luck is involved: the expected counts, rounded by the largest remainders."""
        check_people(n)
        exact = n * self.probabilities
        counts: Array = np.floor(exact).astype(np.int64)
        counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1
        return counts

    def at(self, positions: Array) -> Any:
        """The values at some positions of the table, as a column."""
        if self.labeled:
            return pa.DictionaryArray.from_arrays(pa.array(positions.astype(np.int32)), self.values)
        return self.values[positions]

    def describe(self) -> str:
        """The population in a few words, for tables and charts."""
        shown = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in self._parameters())
        return f"{type(self).__name__}({shown})"

    def identity(self) -> str:
        """All that the crowd depends on, as text; experiments derive their replay keys from it."""
        return repr(self)

    def _parameters(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]  # type: ignore[arg-type]  # subclasses are dataclasses


def span(low: int, high: int) -> Domain:
    """The integers from low to high as a domain; as indices where they start at 0."""
    return IndexRange(high + 1) if low == 0 else Integers(low, high)


def require(condition: bool, parameter: str, value: object, allowed: str, fix: str) -> None:
    """Refuse a parameter of a population."""
    if not condition:
        raise ParameterError(parameter, value, allowed=allowed, fix=fix)


def require_one_of(allowed: Collection[str], parameter: str, value: object) -> None:
    """Refuse a name that is none of those that there are."""
    require(value in allowed, parameter, value, f"one of {list(allowed)}", "check the spelling")


def is_number(value: object, above: float = -np.inf) -> bool:
    """Whether a parameter is a finite number above a limit."""
    return isinstance(value, int | float) and not isinstance(value, bool) and above < value < np.inf


def is_integer(value: object) -> bool:
    """Whether a parameter is an integer of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
