"""A mechanism that hides nothing, to test the way of a report from a device to a count: every report is known, so every count is.

It is no mechanism of the library: in a task its name is unknown, and refused, unless the process has called ``know_identity``.
"""

from __future__ import annotations

import importlib
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.law import OutputLaw
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import MECHANISMS, BulkHalf, Spec, mechanism
from deniable.contract.wire import Column, Layout


@mechanism
class PlainAnswer(Spec):
    """The answer itself, in the clear.

    >>> from deniable.contract.domain import IndexRange
    >>> open_book = PlainAnswer(domain=IndexRange(9))
    >>> open_book.randomize(7), open_book.epsilon
    (7, inf)
    """

    domain: Domain

    @property
    def epsilon(self) -> float:  # type: ignore[override]  # no parameter: nothing is hidden
        return inf

    @property
    def layout(self) -> Layout:
        return (Column("symbol", limit=self.domain.size),)

    def randomize(self, value: Any, source: Source = SYSTEM) -> int:
        return self.domain.key(value)

    def law(self, value: Any, *, seed: tuple[int, ...] = ()) -> OutputLaw[int]:
        return OutputLaw({self.domain.key(value): Fraction(1)})

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=inf, certificate="none: for tests")

    @property
    def thresholds(self) -> dict[str, int]:
        return {}

    @cached_property
    def _bulk(self) -> BulkHalf:
        bulk: BulkHalf = importlib.import_module("deniable.local.identity").BulkPlainAnswer(self)  # the analyst's half, known by name only
        return bulk


del MECHANISMS[PlainAnswer.mechanism]
PlainAnswer.mechanism = "Identity"  # as published tasks name it


def know_identity() -> None:
    """From now on this process reads specs of the identity."""
    MECHANISMS[PlainAnswer.mechanism] = PlainAnswer
