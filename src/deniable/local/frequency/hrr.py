"""Hadamard randomized response in bulk: signed counts of the rows, and one transform for all values."""

from __future__ import annotations

import numpy as np

from deniable.client.hrr import HRR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import perturb_sign
from deniable.kernels.symbols import signed_counts
from deniable.kernels.transforms import walsh_hadamard
from deniable.local.frequency.pure import PureOracle


@bulk_half(HRR)
class BulkHRR(PureOracle[HRR]):
    """A report supports the half of the values whose column has its sign in its row."""

    @property
    def raw_counters(self) -> int:
        return self.spec.order

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        rows, signs = reports.columns["row"][part], reports.columns["sign"]
        return perturb_sign(keys, np.uint64(self.spec.order), np.uint64(self.spec.keep), rows, signs, part.start, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        sums = np.zeros(self.spec.order, dtype=np.int64)
        signed_counts(reports.columns["row"][part], reports.columns["sign"], part.start, sums)
        return sums

    def finish(self, sums: Array, n: int) -> Array:
        walsh_hadamard(sums)  # agreements minus disagreements, for every column
        supports: Array = (n + sums[: self.spec.domain_size]) // 2
        return supports
