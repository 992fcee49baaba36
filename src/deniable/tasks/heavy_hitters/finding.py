"""One call for the whole search: sensible settings, and what they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.contract.domain import Bytes, Domain, Integers, Text
from deniable.contract.source import Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.run import crowd_size
from deniable.core.table import Table
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.heavy_hitters.pem import PEM
from deniable.tasks.heavy_hitters.searching import RESULT


@dataclass(frozen=True, eq=False, repr=False)
class HeavyHitters(Table):
    """The values that were found, with counts and errors, and the search that found them."""

    search: PEM
    estimate: FrequencyEstimate
    declared: bool

    @property
    def values(self) -> list[Any]:
        """What was found, the most frequent first."""
        return list(self.estimate.values)

    @property
    def why(self) -> str:
        """The settings, in a few sentences."""
        search = self.search
        parts = [
            f"PEM: {len(search.lengths)} groups ask about prefixes of {', '.join(map(str, search.lengths))} bits",
            f"{search.keep} prefixes are followed"
            + (", twice k, since noise is small" if search.keep > search.k else ", since noise is large"),
            f"the last group, {self.estimate.n:,} people, is counted by {self.estimate.spec.mechanism}",
        ]
        if not self.declared:
            parts.append(f"the domain, {search.domain.describe()}, was read off the values: declare domain= where they are private")
        return "; ".join(parts)

    def rows(self) -> dict[str, Any]:
        return self.estimate.rows()

    def headline(self) -> str:
        return f"{self.estimate.headline()}\n{self.why}"

    def order(self) -> Array:
        return np.arange(len(self.estimate.values))


def heavy_hitters(
    values: Any,
    *,
    k: int,
    epsilon: float,
    domain: Domain | None = None,
    source: Source | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> HeavyHitters:
    """The k most frequent of many people's values, each reported once and privately; integers, text or bytes.

    The counts are those of the people in the last group; frequencies carry over to everyone.

    >>> from deniable.testing import ReplaySource
    >>> words = ["tea"] * 9000 + ["coffee"] * 6000 + ["mate"] * 3000 + ["water"] * 2000
    >>> found = heavy_hitters(words, k=3, epsilon=4.0, source=ReplaySource.from_key("drinks"))
    >>> found.values
    ['tea', 'coffee', 'mate']
    """
    found = domain if domain is not None else _domain_of(values)
    search = PEM(domain=found, k=k, epsilon=epsilon, people=crowd_size(values))
    return HeavyHitters(search, search.run(values, source=source, progress=progress)[RESULT], domain is not None)


def _domain_of(values: Any) -> Domain:
    """The smallest domain that holds the values: integers of up to 64 bits, or strings as long as the longest."""
    column = np.asarray(values) if not isinstance(values, list | tuple) else values
    first = next(iter(column), 0)
    if isinstance(first, str | bytes):
        longest = max(len(value.encode() if isinstance(value, str) else value) for value in set(column))
        return Text(max(longest, 1)) if isinstance(first, str) else Bytes(max(longest, 1))
    numbers = np.asarray(column)
    if numbers.dtype.kind not in "iu":
        raise DomainError("values", f"dtype {numbers.dtype}", allowed="integers, text or bytes", fix="convert them, or pass domain=")
    low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 1)
    return Integers(min(low, 0), max(high, low + 1, 1))
