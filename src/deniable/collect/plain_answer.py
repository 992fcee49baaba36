"""A mechanism that hides nothing, to test the way of a report from a device to a count: every report is known, so every count is.

It is no mechanism of the library: in a task its name is unknown, and refused, unless the process has called ``know_plain_answer``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from deniable.contract.domain import Domain
from deniable.contract.guarantee import Guarantee
from deniable.contract.law import OutputLaw
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import MECHANISMS, BulkHalf, Spec, mechanism
from deniable.contract.wire import Column, Layout
from deniable.core.frequency import FrequencyEstimate
from deniable.core.reports import Reports
from deniable.core.supports import Supports
from deniable.core.tally import Candidates, Tally


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
        return BulkPlainAnswer(self)


del MECHANISMS[PlainAnswer.mechanism]
PlainAnswer.mechanism = "Identity"  # as published tasks name it


class BulkPlainAnswer:
    """Answers, counted: a report supports the answer that it is."""

    def __init__(self, spec: PlainAnswer) -> None:
        self.spec = spec

    def privatize(self, values: Any, source: Source | None) -> Reports:
        return Reports.collect(self.spec, [self.spec.randomize(value) for value in values])  # tests only: crowds are small

    def tally(self, reports: Reports, candidates: Any) -> Tally:
        return Tally(self.spec, reports.n, np.bincount(reports.columns["symbol"].astype(np.int64), minlength=self.spec.domain.size))

    def estimate(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        values = Candidates.everything(self.spec.domain).values
        return FrequencyEstimate.of(self.spec, values, Supports(tally.n, tally.counters, np.asarray(1.0), np.asarray(0.0)))


def know_plain_answer() -> None:
    """From now on this process reads specs of answers in the clear."""
    MECHANISMS[PlainAnswer.mechanism] = PlainAnswer
