"""Counting by adding up: each report gives every value a score, and the scores of all reports add up to the estimated counts."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

from deniable.client.frequency import FrequencySpec
from deniable.errors import ParameterError


class LinearProtocol(FrequencySpec):
    """A mechanism whose estimate of a count is a sum over the reports."""

    averaged: ClassVar[bool] = True
    """True if ``variance`` is an average over the values; False if all have it (of a coin with unequal sides, the last one)."""

    @abstractmethod
    def score(self, report: Any, key: int) -> Fraction:
        """What one report adds to the count of the value with this key, exactly; its expectation is 1 for a holder and 0 for others."""


def check_crowd(n: object, f: object) -> None:
    """Refuse a crowd that cannot be."""
    if not (isinstance(n, int | float) and isinstance(f, int | float) and n >= 0 and 0 <= f <= 1):
        raise ParameterError("n, f", (n, f), allowed="n from 0 on, f from 0 to 1", fix="f is a share of the n people")
