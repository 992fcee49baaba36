"""The bulk half of the tests' identity: answers, counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.contract.source import Source
from deniable.core.frequency import FrequencyEstimate
from deniable.core.reports import Reports
from deniable.core.supports import Supports
from deniable.core.tally import Candidates, Tally
from deniable.testing.identity import PlainAnswer


class BulkPlainAnswer:
    """A report supports the answer that it is."""

    def __init__(self, spec: PlainAnswer) -> None:
        self.spec = spec

    def privatize(self, values: Any, source: Source | None) -> Reports:
        return Reports.collect(self.spec, [self.spec.randomize(value) for value in values])  # tests only: crowds are small

    def tally(self, reports: Reports, candidates: Any) -> Tally:
        return Tally(self.spec, reports.n, np.bincount(reports.columns["symbol"].astype(np.int64), minlength=self.spec.domain.size))

    def estimate(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        values = Candidates.everything(self.spec.domain).values
        return FrequencyEstimate.of(self.spec, values, Supports(tally.n, tally.counters, np.asarray(1.0), np.asarray(0.0)))
