"""Mechanisms by name, as options take them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Categories
from deniable.contract.spec import MECHANISMS

Mechanism = StrEnum("Mechanism", [(name, name) for name in sorted(MECHANISMS)])  # type: ignore[misc]  # the registry decides, at run time
Choice = StrEnum("Choice", [(name, name) for name in ("auto", *sorted(MECHANISMS))])  # type: ignore[misc]  # the registry decides

AUTO = Choice("auto")


def oracle_for(choice: str, domain: Categories, epsilon: float) -> FrequencySpec:
    """The mechanism that was named, or the one with the smallest predicted error."""
    name = str(choice)
    if name == "auto":
        from deniable.local.choose import frequency_oracle  # heavy, and a collector starts without it

        return frequency_oracle(domain=domain, epsilon=epsilon).spec
    cls: Any = MECHANISMS[name]
    spec: FrequencySpec = cls(domain=domain, epsilon=epsilon)
    return spec
