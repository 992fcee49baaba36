"""Subset selection in bulk: packed rows of bits, added up column by column."""

from __future__ import annotations

import numpy as np

from deniable.client.subset_selection import SubsetSelection
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.subsets import perturb_subset
from deniable.local.frequency.pure import PureOracle
from deniable.local.frequency.unary import sum_bits


@bulk_half(SubsetSelection)
class BulkSubsetSelection(PureOracle[SubsetSelection]):
    """A report supports its members."""

    @property
    def report_sum(self) -> int:
        return self.spec.size

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        spec = self.spec
        thresholds = np.uint64(spec.keep), np.uint64(spec.first_draw)
        return perturb_subset(keys, spec.domain_size - 1, spec.size, *thresholds, reports.columns["members"][part], words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        return sum_bits(reports.columns["members"][part], self.spec.domain_size)
