"""Mechanisms by name, for options."""

from __future__ import annotations

from enum import StrEnum

from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Categories
from deniable.contract.spec import MECHANISMS

Mechanism = StrEnum("Mechanism", [(name, name) for name in sorted(MECHANISMS)])  # type: ignore[misc]  # the registry decides, at run time
Choice = StrEnum("Choice", [(name, name) for name in ("auto", *sorted(MECHANISMS))])  # type: ignore[misc]  # the registry decides

AUTO = Choice("auto")


def oracle_for(choice: str, domain: Categories, epsilon: float, people: int) -> FrequencySpec:
    """Return the mechanism of a name; for auto, the one with the smallest predicted error for this many people."""
    from deniable.tasks.oracles import oracle_of  # heavy, and the help needs only the names

    return oracle_of(str(choice), domain, epsilon=epsilon, people=people)
