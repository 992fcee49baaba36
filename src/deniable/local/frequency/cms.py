"""The private count-mean sketch in bulk: packed rows of bits, added up function by function."""

from __future__ import annotations

import numpy as np

from deniable.client.cms import CMS
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.stream import CHUNK
from deniable.core.tally import Candidates
from deniable.kernels.bits import sums_by_group
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import perturb_function_and_bits
from deniable.local.frequency.sketch import SketchOracle


@bulk_half(CMS)
class BulkCMS(SketchOracle[CMS]):
    """A set bit supports the values that the report's function hashes to it."""

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        thresholds = np.uint64(self.spec.width), np.uint64(self.spec.raise_other), np.uint64(self.spec.keep)
        columns = reports.columns["function"][part], reports.columns["bits"][part]
        return perturb_function_and_bits(keys, self.functions, self.long, *thresholds, *columns, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        return sums_by_function(reports.columns["function"][part], reports.columns["bits"][part], self.spec.hashes, self.spec.width).ravel()


def sums_by_function(names: Array, rows: Array, functions: int, count: int) -> Array:
    """How many of the packed rows with each function have each of the first ``count`` bits set."""
    table = np.zeros((functions, 8 * rows.shape[1]), dtype=np.int64)
    for start in range(0, names.size, CHUNK):
        chunk = slice(start, start + CHUNK)
        sums_by_group(rows[chunk], names[chunk], np.argsort(names[chunk], kind="stable"), table)
    return np.ascontiguousarray(table[:, :count])
