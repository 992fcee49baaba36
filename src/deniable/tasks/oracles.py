"""The frequency oracle that a task asks with: the one that is named, or the one with the smallest predicted error."""

from __future__ import annotations

from functools import cache
from typing import Any

from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.local.oracle_choice import frequency_oracle

AUTO = "auto"
"""The name that picks the oracle with the smallest predicted error."""
SMALLEST = "use auto, which picks the one with the smallest error"
QUICK_STEPS = 10**9
"""What counting may take in all, in steps of about a nanosecond, unless there are many people: seconds, for a loss of about 1 %."""
STEPS_A_PERSON = 200


def check_oracle(name: str) -> None:
    """Raise unless an oracle exists; for questions outside of rounds, where a device may keep a permanent answer."""
    known = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec))
    if not isinstance(name, str) or (name != AUTO and name not in known):
        raise ParameterError("oracle", name, allowed=f"{AUTO} or one of {known}", fix=SMALLEST)


def oracle_of(name: str, domain: Domain, *, epsilon: float, people: int, server: int | None = None) -> FrequencySpec:
    """Return the oracle of a name for a domain; "auto" is the one with the smallest error for so many people, within ``server`` steps.

    >>> [oracle_of(name, IndexRange(16), epsilon=1.0, people=10_000).mechanism for name in ("OUE", "auto")]
    ['OUE', 'SubsetSelection']
    """
    if name == AUTO:
        return frequency_oracle(domain=domain, epsilon=epsilon, n=max(people, 1), server=server).spec
    made: Any = MECHANISMS[name]
    found: FrequencySpec = made(domain=domain, epsilon=epsilon)
    return found


def quick_oracle(name: str, size: int, epsilon: float, people: int) -> FrequencySpec:
    """Return the oracle of a name over so many values; "auto" is the best among those that count within seconds."""
    steps = max(QUICK_STEPS, STEPS_A_PERSON * people)
    return oracle_of(name, IndexRange(size), epsilon=epsilon, people=people, server=steps)


@cache
def best_oracle(size: int, epsilon: float, people: int) -> str:
    """Return the name of the oracle with the smallest error: once, however many groups are asked alike."""
    return oracle_of(AUTO, IndexRange(size), epsilon=epsilon, people=people).mechanism
