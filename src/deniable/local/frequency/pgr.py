"""Projective geometry response in bulk: one column of points, counted, and one transform for all values."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from deniable.client.pgr import PGR
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.tally import Candidates
from deniable.kernels.compiled import Array
from deniable.kernels.projective import perturb_point, supports_of_values, table_of_coordinates
from deniable.kernels.symbols import count_symbols
from deniable.local.frequency.oracle import PureOracle

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
