"""Estimates made by hand: values and the law that the test is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deniable.core.frequency import FrequencyEstimate
from deniable.core.regression import Regression
from deniable.core.scores import Scores
from deniable.core.supports import Supports


def of_supports(spec: Any, values: Sequence[Any], *law: Any, family_size: int = 0, **options: Any) -> FrequencyEstimate:
    return FrequencyEstimate.of(spec, values, Supports(*law, **options), family_size=family_size)


def of_scores(spec: Any, values: Sequence[Any], *law: Any, family_size: int = 0, **options: Any) -> FrequencyEstimate:
    return FrequencyEstimate.of(spec, values, Scores(*law, **options), family_size=family_size)


def of_regression(spec: Any, values: Sequence[Any], *law: Any, family_size: int = 0, **options: Any) -> FrequencyEstimate:
    return FrequencyEstimate.of(spec, values, Regression(*law, **options), family_size=family_size)


def with_law(estimate: Any, **changes: Any) -> Any:
    """The same estimate with other errors."""
    return replace(estimate, law=replace(estimate.law, **changes))
