"""Numbers in a task file: the range that answers may have."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from deniable.contract.numbers import Numbers
from deniable.core.declared import check_names
from deniable.errors import ParameterError

RANGE = ("low", "high", "steps", "clip")


def read_numbers(content: object) -> Numbers:
    """The range behind ``numbers = { low = 0, high = 120 }``; ends may be points in time.

    >>> read_numbers({"low": 0, "high": 120, "clip": True})
    Numbers(0, 120, steps=32760, clip=True)
    """
    if not isinstance(content, Mapping):
        raise ParameterError("numbers", content, allowed="a table", fix="as in numbers = { low = 0, high = 120 }")
    check_names("numbers", content, ["low", "high"], ["steps", "clip"])
    return Numbers(**{name: point_in_time(value) for name, value in content.items()})


def range_of(content: Mapping[str, Any], domain: Numbers) -> dict[str, Any]:
    """What a mechanism is told: the domain, or without steps in the file the range alone, and the mechanism takes a grid that suits it."""
    if "steps" in content["numbers"]:
        return {"domain": domain}
    return {"low": domain.low, "high": domain.high, "clip": domain.clip}


def point_in_time(value: Any) -> Any:
    """A date is its first moment, by the clock on the wall; everything else is what it is."""
    return datetime(value.year, value.month, value.day) if isinstance(value, date) and not isinstance(value, datetime) else value
