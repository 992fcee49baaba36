"""Optimized local hashing in bulk: seeds and symbols, matched against candidates."""

from __future__ import annotations

import numpy as np

from deniable.client.blh import BLH
from deniable.client.olh import OLH
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.hashing import perturb_hashed, support_of_keys, support_of_range
from deniable.local.frequency.oracle import PureOracle

_BLOCK = 1 << 12
"""Counters that stay in the fastest cache while the reports go by."""


@bulk_half(OLH)
@bulk_half(BLH)
class BulkOLH(PureOracle[OLH]):
    """A report supports the candidates that its seed hashes to its symbol."""

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        seeds, symbols = reports.columns["seed"][part], reports.columns["symbol"][part]
        return perturb_hashed(keys, np.uint64(self.spec.hash_range), np.uint64(self.spec.keep), seeds, symbols, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        columns = reports.columns["seed"][part], reports.columns["symbol"][part], np.uint64(self.spec.hash_range)
        size = self.spec.domain_size if candidates is None else candidates.keys.size
        supports = np.zeros(size, dtype=np.uint32)  # a chunk of people cannot overflow 32 bits
        for start in range(0, size, _BLOCK):
            block = supports[start : start + _BLOCK]
            if candidates is not None:
                support_of_keys(*columns, candidates.keys[start : start + _BLOCK], block)
            elif self.spec.seed_words == 2:
                support_of_range(*columns, np.uint64(start), block)
            else:
                support_of_keys(*columns, np.arange(start, start + block.size, dtype=np.uint64), block)
        return supports
