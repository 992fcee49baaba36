"""Vectorized generalized randomized response: one column of symbols, counted."""

from __future__ import annotations

import numpy as np

from deniable.client.grr import GRR
from deniable.client.rr import RR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import perturb_symbol
from deniable.kernels.single_bits import perturb_bit
from deniable.kernels.symbols import count_symbols
from deniable.local.frequency.oracle import PureOracle


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


@bulk_half(RR)
class BulkRR(PureOracle[RR]):
    """A "yes" supports "yes", a "no" supports "no"."""

    @property
    def report_sum(self) -> int:
        return 1

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        yes, no = self.spec.coin
        return perturb_bit(keys, np.uint64(yes), np.uint64(no), reports.columns["bit"], part.start, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        # Bits past the last person are zero, so a byte may be counted whole.
        ones = int(np.bitwise_count(reports.columns["bit"][part.start // 8 : -(-part.stop // 8)]).sum(dtype=np.int64))
        return np.array([part.stop - part.start - ones, ones])

    def probabilities(self) -> tuple[Array, Array]:
        pairs = [self.spec.probabilities(key) for key in (0, 1)]
        return np.array([float(p) for p, _ in pairs]), np.array([float(q) for _, q in pairs])
