"""Vectorized mechanisms that count one column and estimate by a transform: Hadamard matrices and projective geometries."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from deniable.client.hadamard_response import HadamardResponse
from deniable.client.hrr import HRR
from deniable.client.pgr import PGR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.scores import Scores
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.projective import perturb_point, supports_of_values, table_of_coordinates
from deniable.kernels.sampling import perturb_sign
from deniable.kernels.symbols import count_symbols, perturb_hadamard, signed_counts, walsh_hadamard
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


_LARGEST_TABLE = 1 << 22
"""Coordinates that are looked up; those of larger geometries are computed, by divisions."""


@bulk_half(PGR)
class BulkPGR(PureOracle[PGR]):
    """A report supports the values whose points are orthogonal to it."""

    @property
    def raw_counters(self) -> int:
        return self.spec.points

    @cached_property
    def _table(self) -> Array:
        points, dimension = self.spec.points, self.spec.dimension
        return table_of_coordinates(points if points * dimension <= _LARGEST_TABLE else 0, self.spec.order, dimension)

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        spec = self.spec
        inside, outside = spec.orthogonal, spec.points - spec.orthogonal
        return perturb_point(keys, spec.order, np.uint64(spec.keep), inside, outside, self._table, reports.columns["point"][part], words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        counts = np.zeros(self.spec.points, dtype=np.int64)
        count_symbols(reports.columns["point"][part], counts)
        return counts

    def finish(self, sums: Array, n: int) -> Array:
        supports = np.zeros(self.spec.domain_size, dtype=np.int64)
        supports_of_values(sums, self.spec.order, self.spec.dimension, supports)
        return supports
