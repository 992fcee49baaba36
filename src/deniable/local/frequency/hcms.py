"""The private Hadamard count-mean sketch in bulk: signed counts of rows, and one transform for each function."""

from __future__ import annotations

import numpy as np

from deniable.client.hcms import HCMS
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import perturb_function_and_sign, signed_cells, transform_cells
from deniable.local.frequency.sketch import SketchOracle


@bulk_half(HCMS)
class BulkHCMS(SketchOracle[HCMS]):
    """A report supports the values whose cell has its sign in its row."""

    @property
    def raw_counters(self) -> int:
        return self.spec.hashes * (self.spec.width + 1)

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        thresholds = np.uint64(self.spec.width), np.uint64(self.spec.keep)
        columns = reports.columns["function"][part], reports.columns["row"][part], reports.columns["sign"]
        return perturb_function_and_sign(keys, self.functions, self.long, *thresholds, *columns, part.start, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        sums = np.zeros(self.raw_counters, dtype=np.int64)
        signed_cells(
            reports.columns["function"][part], reports.columns["row"][part], reports.columns["sign"], part.start, *self._split(sums)
        )
        return sums

    def finish(self, sums: Array, n: int) -> Array:
        table, totals = self._split(sums)
        transform_cells(table, totals)
        return table.ravel()

    def _split(self, sums: Array) -> tuple[Array, Array]:
        size = self.tally_counters
        return sums[:size].reshape(self.spec.hashes, self.spec.width), sums[size:]
