"""Fast local hashing in bulk: functions and symbols, counted in a table."""

from __future__ import annotations

import numpy as np

from deniable.client.flh import FLH
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import count_cells, perturb_function_and_symbol
from deniable.local.frequency.sketch import SketchOracle


@bulk_half(FLH)
class BulkFLH(SketchOracle[FLH]):
    """A symbol supports the values that its function hashes to it."""

    @property
    def report_sum(self) -> int:
        return 1

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        thresholds = np.uint64(self.spec.hash_range), np.uint64(self.spec.keep)
        columns = reports.columns["function"][part], reports.columns["symbol"][part]
        return perturb_function_and_symbol(keys, self.functions, self.long, *thresholds, *columns, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        table = np.zeros((self.spec.hashes, self.spec.hash_range), dtype=np.int64)
        count_cells(reports.columns["function"][part], reports.columns["symbol"][part], table)
        return table.ravel()
