"""Generalized randomized response in bulk: one column of symbols, counted."""

from __future__ import annotations

import numpy as np

from deniable.client.grr import GRR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import perturb_symbol
from deniable.kernels.symbols import count_symbols
from deniable.local.frequency.pure import PureOracle


@bulk_half(GRR)
class BulkGRR(PureOracle[GRR]):
    """A symbol supports itself."""

    @property
    def report_sum(self) -> int:
        return 1

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        return perturb_symbol(keys, self.spec.domain_size, np.uint64(self.spec.keep), reports.columns["symbol"][part], words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        counts = np.zeros(self.spec.domain_size, dtype=np.int64)
        count_symbols(reports.columns["symbol"][part], counts)
        return counts
