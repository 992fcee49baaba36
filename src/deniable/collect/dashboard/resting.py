"""What an answer rests on, by its mechanism: the smallest share that is told from zero, and how many liars would move a number."""

from __future__ import annotations

from math import ceil
from typing import Any

from deniable.client.frequency import FrequencySpec
from deniable.contract.spec import Spec
from deniable.tasks.plan import detectable


def smallest_share(spec: Spec | None, n: int | None) -> float | None:
    """The smallest share that this many reports tell from zero, half of the time; None if that cannot be said, or none is hidden."""
    return detectable(spec, n) if isinstance(spec, FrequencySpec) and n else None


def liars(spec: Spec | None, n: int | None, width: float) -> int | None:
    """How many people who send what they like would move a number by the width of its interval; None if that cannot be said."""
    if isinstance(spec, FrequencySpec):
        return ceil(width / spec.influence)
    mean: Any = None if spec is None else spec.mean_spec
    return None if mean is None or not n else ceil(width * n / mean.influence)
