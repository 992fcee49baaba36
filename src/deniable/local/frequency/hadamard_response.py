"""Hadamard response in bulk: one column of symbols, counted, and one transform for each block."""

from __future__ import annotations

import numpy as np

from deniable.client.hadamard_response import HadamardResponse
from deniable.client.hrr import HRR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.scores import Scores
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import perturb_sign
from deniable.kernels.symbols import count_symbols, perturb_hadamard, signed_counts
from deniable.kernels.transforms import walsh_hadamard
from deniable.local.frequency.oracle import ListedOracle, PureOracle


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


@bulk_half(HadamardResponse)
class BulkHadamardResponse(ListedOracle[HadamardResponse]):
    """A symbol speaks for the values of its block that mark it, and against the others there."""

    @property
    def tally_counters(self) -> int:
        return self.spec.outputs

    @property
    def report_sum(self) -> int:
        return 1

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        shape = np.uint64(self.spec.blocks), np.uint64(self.spec.order), np.uint64(self.spec.keep)
        return perturb_hadamard(keys, *shape, reports.columns["symbol"][part], words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        counts = np.zeros(self.spec.outputs, dtype=np.int64)
        count_symbols(reports.columns["symbol"][part], counts)
        return counts

    def count_law(self, n: int, counters: Array) -> Scores:
        spec, gap = self.spec, float(self.spec.gap)
        table = counters.reshape(spec.blocks, spec.order).copy()
        for block in table:
            walsh_hadamard(block)  # row 0 adds the block up, the others give marked minus unmarked
        keys = np.arange(spec.domain_size)
        blocks, rows = keys % spec.blocks, 1 + keys // spec.blocks
        worst = float(spec.marked + spec.unmarked) / gap**2  # everyone in the same block
        sums, seen = table[blocks, rows] / gap, table[blocks, 0] / gap**2
        least = min(worst - 1, 2 * float(spec.unmarked) / gap**2)  # a holder's, or that of someone from another block
        return Scores(n, sums, seen, slope=-1.0, reach=1 / gap, worst=worst, least=least)
