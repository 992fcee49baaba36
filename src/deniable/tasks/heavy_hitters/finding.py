"""One call for the whole search: sensible settings, and what they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.source import Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.run import crowd_size
from deniable.errors import ParameterError
from deniable.tasks.heavy_hitters.pem import PEM


@typed
def heavy_hitters(
    values: Any,
    *,
    domain: Domain | None = None,
    k: int,
    epsilon: float,
    source: Source | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FrequencyEstimate:
    """The k most frequent of many people's values, each reported once and privately; integers, text or bytes.

    The counts are those of the people in the last group; frequencies carry over to everyone. ``domain`` declares what may be held, and is
    never read off the values: the longest word, or the largest number, is somebody's, and would be told at any epsilon.

    >>> from deniable.contract.domain import Text
    >>> from deniable.testing import ReplaySource
    >>> words = ["tea"] * 9000 + ["coffee"] * 6000 + ["mate"] * 3000 + ["water"] * 2000
    >>> found = heavy_hitters(words, k=3, epsilon=4.0, domain=Text(8), source=ReplaySource.from_key("drinks"))
    >>> found.values
    ['tea', 'coffee', 'mate']
    """
    if domain is None:
        raise ParameterError(
            "domain",
            None,
            allowed="a domain of all that may be held, declared and not read off the values",
            fix="write domain=Text(20) for words of up to 20 bytes, Bytes(8), or Integers(0, 65_535)",
        )
    search = PEM(domain=domain, k=k, epsilon=epsilon, people=crowd_size(values))
    found: FrequencyEstimate = search.run(values, source=source, progress=progress)
    how = [
        f"PEM: {len(search.lengths)} groups ask about prefixes of {', '.join(map(str, search.lengths))} bits",
        f"{search.keep} prefixes are followed"
        + (", twice k, since noise is small" if search.keep > search.k else ", since noise is large"),
        f"the last group, {found.n:,} people, is counted by {found.spec.mechanism}",
    ]
    return replace(found, screening=replace(found.screening, how="; ".join(how)))  # type: ignore[type-var]  # a search has one
