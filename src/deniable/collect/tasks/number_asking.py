"""Numbers in a task file: the range that answers may have, and what people are told about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from deniable.client.longitudinal import Longitudinal
from deniable.client.mean import MeanSpec
from deniable.client.numeric import NumericSpec
from deniable.client.square_wave import SquareWave
from deniable.contract.numbers import Numbers
from deniable.contract.spec import Spec
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


def check_answer(spec: NumericSpec, value: Any) -> None:
    """DomainError if a mechanism does not take a number of its range: some take whole numbers only, or only the ends."""
    if isinstance(spec, Longitudinal):
        spec.key_of(value)
    else:
        spec.position(value)


def mean_of(spec: Spec) -> MeanSpec | None:
    """The mechanism by which the mean is estimated; None for one that counts values."""
    if isinstance(spec, SquareWave):
        return spec.piecewise
    return spec if isinstance(spec, MeanSpec) else None


def grid_in_words(spec: NumericSpec) -> str:
    """What becomes of a number before it is sent, and of one out of range."""
    domain = spec.domain
    low, high = (bound.isoformat(sep=" ") if domain.times else str(domain.value(key)) for bound, key in _ends(domain))
    steps = "one step" if domain.steps == 1 else f"{domain.steps:,} equal steps"
    told = f"How a number is sent: as a point of a grid with {steps} from {low} to {high}, randomized. One that lies between two points "
    told += "becomes one of them at random, so that it is right on average. " if spec.rounds else "is not taken. "
    if domain.clip:
        return (
            f"{told}One out of range counts as the nearest end: the mean is then that of the clipped numbers, too high where small ones "
            "were clipped and too low where large ones were, and no report shows how far."
        )
    return f"{told}One out of range is refused on your device, and nothing is sent."


def _ends(domain: Numbers) -> list[tuple[Any, int]]:
    return [(domain.low, 0), (domain.high, domain.steps)]
