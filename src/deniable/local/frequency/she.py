"""Summation with histogram encoding in bulk: noisy entries, added up column by column."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from deniable.client.she import SHE
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.scores import Scores
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.noise import guide_table, perturb_noisy, sum_rows
from deniable.local.frequency.oracle import ListedOracle


@bulk_half(SHE)
class BulkSHE(ListedOracle[SHE]):
    """An entry adds its point to the counter of its value."""

    @cached_property
    def tables(self) -> tuple[Array, Array]:
        cumulative = np.array(self.spec.cumulative, dtype=np.uint64)
        return cumulative, guide_table(cumulative)

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        return perturb_noisy(keys, *self.tables, reports.columns["noisy"][part], words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        sums = np.zeros(self.spec.domain_size, dtype=np.int64)
        sum_rows(reports.columns["noisy"][part], sums)
        return sums

    def count_law(self, n: int, counters: Array) -> Scores:
        spec = self.spec
        sums = (counters - n * float(spec.mean)) / float(spec.gap)
        spread = np.asarray(spec.variance(n))
        kurtosis = max(spec.kurtosis, 0.01) / max(n, 1)  # where tails are folded early there is less than none
        return Scores(n, sums, spread, slope=0.0, reach=spec.influence, worst=spec.variance(1), kurtosis=kurtosis, known=True)
