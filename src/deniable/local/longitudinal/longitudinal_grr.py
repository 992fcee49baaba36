"""Longitudinal randomized response in bulk: one column of symbols, counted."""

from __future__ import annotations

import numpy as np

from deniable.client.longitudinal_grr import LongitudinalGRR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.longitudinal import symbols_twice
from deniable.kernels.symbols import count_symbols
from deniable.local.frequency.pure import PureOracle
from deniable.local.longitudinal.steps import Batches, Steps


@bulk_half(LongitudinalGRR)
class BulkLongitudinalGRR(Steps, PureOracle[LongitudinalGRR]):
    """A symbol supports itself."""

    @property
    def report_sum(self) -> int:
        return 1

    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        memos, out = batches
        thresholds = np.uint64(self.spec.keep), np.uint64(self.spec.keep_again)
        columns = memos.columns["symbol"][part], out.columns["symbol"][part]
        return symbols_twice(keys, self.spec.domain_size, *thresholds, steps, *columns, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        counts = np.zeros(self.spec.domain_size, dtype=np.int64)
        count_symbols(reports.columns["symbol"][part], counts)
        return counts
