"""Choices: what was chosen by its predicted error, and the table that it was chosen from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from deniable.core.table import Table
from deniable.kernels.compiled import Array

CLOSE = 1.03
"""Where predicted errors are within 3 %, the preferred one wins."""
Chosen = TypeVar("Chosen")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Choice(Table, Generic[Chosen]):
    """What was ``chosen``, be it a mechanism, a protocol or a design, and the table that it was chosen from.

    >>> from deniable.local.oracle_choice import frequency_oracle
    >>> choice = frequency_oracle(domain_size=10, epsilon=1.0, n=10_000)
    >>> choice.spec, choice.why
    (SubsetSelection(domain_size=10, epsilon=1.0, size=3), 'SubsetSelection: the smallest predicted error, 171 people of 10,000')
    """

    chosen: Chosen
    why: str
    """The choice in a sentence, and what was ruled out."""
    considered: tuple[Any, ...]
    """All candidates within the limits."""
    refused: tuple[str, ...] = ()
    """Why other candidates were ruled out."""
    columns: Callable[[], Mapping[str, Any]]
    """What gives the columns, ``error`` among them: only who looks at the table has them computed."""
    legend: str
    """The names of the columns, explained."""

    @property
    def spec(self) -> Chosen:
        """What was chosen, where it is a mechanism."""
        return self.chosen

    def rows(self) -> dict[str, Any]:
        return dict(self.columns())

    def headline(self) -> str:
        return f"{self.why}\n{self.legend}"

    def order(self) -> Array:
        return np.argsort(self.columns()["error"], kind="stable")


def nearly_least(errors: Sequence[float]) -> tuple[int, str]:
    """The first place whose error is within 3 % of the least, and how near it is in words.

    >>> nearly_least([5.0, 1.02, 1.0])
    (1, 'within 3 % of the smallest predicted error')
    """
    least = min(errors)
    place = next(place for place, error in enumerate(errors) if error <= CLOSE * least)
    return place, "the smallest predicted error" if errors[place] == least else "within 3 % of the smallest predicted error"
