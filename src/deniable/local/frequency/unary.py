"""Vectorized unary encoding: packed rows of bits, added up column by column."""

from __future__ import annotations

import numpy as np

from deniable.client.oue import OUE
from deniable.client.subset_selection import SubsetSelection
from deniable.client.sue import SUE
from deniable.client.the import THE
from deniable.client.unary import UnaryEncoding
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.bits import column_sums
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import perturb_unary
from deniable.kernels.subsets import perturb_subset
from deniable.local.frequency.oracle import PureOracle

_WIDE = 256
"""Bytes that make a row wide enough for vector instructions; narrower rows are counted several at a time."""


@bulk_half(OUE)
@bulk_half(SUE)
@bulk_half(THE)
class BulkUnary(PureOracle[UnaryEncoding]):
    """A report supports the values whose bits are set."""

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        thresholds = np.uint64(self.spec.raise_other), np.uint64(self.spec.keep)
        return perturb_unary(keys, self.spec.domain_size, *thresholds, reports.columns["bits"][part], words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        return sum_bits(reports.columns["bits"][part], self.spec.domain_size)


def sum_bits(rows: Array, count: int) -> Array:
    """How many of the packed rows have each of the first ``count`` bits set."""
    n, width = rows.shape
    together = max(1, _WIDE // width)
    whole = n - n % together
    sums = _sums(rows[:whole].reshape(-1, together * width)).reshape(together, -1).sum(axis=0)
    total: Array = sums + _sums(rows[whole:])
    return total[:count]


def _sums(rows: Array) -> Array:
    sums = np.zeros(8 * rows.shape[1], dtype=np.int64)
    column_sums(rows, np.empty((8, rows.shape[1]), dtype=np.uint8), sums)
    return sums


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
