"""Vectorized sketches: a table of supports by function and cell, asked about any candidates afterwards."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from deniable.client.cms import CMS
from deniable.client.flh import FLH
from deniable.client.hcms import HCMS
from deniable.client.sketch import SketchProtocol
from deniable.contract.hashing import public_function
from deniable.contract.spec import bulk_half
from deniable.core.frequency import FrequencyEstimate
from deniable.core.reports import Reports
from deniable.core.stream import CHUNK, in_parallel
from deniable.core.supports import Supports
from deniable.core.tally import Candidates, Tally
from deniable.kernels.bits import sums_by_group
from deniable.kernels.compiled import Array
from deniable.kernels.sketches import (
    count_cells,
    perturb_function_and_bits,
    perturb_function_and_sign,
    perturb_function_and_symbol,
    signed_cells,
    supports_of_cells,
    transform_cells,
)
from deniable.local.frequency.oracle import FrequencyOracle

SketchType = TypeVar("SketchType", bound=SketchProtocol)
_PIECE = 1 << 20
"""Counters whose variances are computed at a time."""
_BLOCK = 1 << 12
"""Candidates whose supports stay in the fastest cache while the functions go by."""


class SketchOracle(FrequencyOracle[SketchType]):
    """The vectorized half of a mechanism of ``client.sketch``: its counters are a table, functions times cells."""

    @property
    def tally_counters(self) -> int:
        return self.spec.hashes * self.spec.cells

    def check_countable(self, candidates: Any) -> None:
        pass  # a sketch is tallied without looking at values

    @cached_property
    def functions(self) -> Array:
        """The seeds of all public functions."""
        return public_functions(self.spec.salt, self.spec.hashes)

    @property
    def long(self) -> bool:
        """Whether keys have more than 32 bits."""
        return self.spec.domain.key_bits > self.spec.family.half

    def estimated(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        if candidates is None:
            super().check_countable(None)
        domain = self.spec.domain
        chosen = Candidates.everything(domain) if candidates is None else Candidates.of(domain, candidates)
        p, q = np.asarray(float(self.spec.p)), np.asarray(float(self.spec.q))
        squares = self.squares(tally)
        largest = squares**0.5  # no count is larger than the root of all squares
        jump = largest / (self.spec.hashes * (1 - float(self.spec.family.collision)))
        supports = self.supports(tally.counters, chosen.keys)
        law = Supports(tally.n, supports, p, q, collisions=self.spec.collisions, squares=squares, jump=jump)
        return FrequencyEstimate.of(self.spec, chosen.values, law)

    def squares(self, tally: Tally) -> float:
        """The sum of all values' squared counts, from how unevenly the cells are filled; three standard errors up.

        The squared distances of a function's supports from their mean add up, over all functions, to the ``scatter`` of each report, and to
        (p - r)^2 (1 - 1/m) / k times the sum that is sought, on average over the functions.
        """
        spec, n = self.spec, tally.n
        table = tally.counters.reshape(spec.hashes, spec.cells)
        gap, even = float(spec.p - spec.apart), 1 - 1 / spec.cells
        uneven = sum(float(part.var(axis=1).sum()) for part in np.array_split(table, -(-table.size // _PIECE))) * spec.cells
        noise = n * float(spec.scatter)
        seen = uneven - noise + 3 * np.sqrt(2 / (spec.hashes * spec.cells)) * noise
        return float(np.clip(spec.hashes * seen / (gap**2 * even), n * n / spec.domain_size, float(n) ** 2))

    def supports(self, counters: Array, keys: Array) -> Array:
        """How many reports support each key."""
        table = counters.reshape(self.spec.hashes, self.spec.cells)
        supports = np.zeros(keys.size, dtype=np.int64)
        blocks = [slice(start, start + _BLOCK) for start in range(0, keys.size, _BLOCK)]
        in_parallel(lambda block: supports_of_cells(self.functions, self.long, table, keys[block], supports[block]), blocks)
        return supports


def public_functions(salt: int, count: int) -> Array:
    """The seeds of the first functions of a salt, one in a row."""
    return np.array([public_function(salt, j) for j in range(count)], dtype=np.uint64)


@bulk_half(FLH)
class BulkFLH(SketchOracle[FLH]):
    """A symbol supports the values that its function hashes to it."""

    @property
    def report_sum(self) -> int:
        return 1

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        thresholds = np.uint64(self.spec.hash_range), np.uint64(self.spec.keep)
        columns = reports.columns["function"][part], reports.columns["symbol"][part]
        return perturb_function_and_symbol(keys, self.functions, self.long, *thresholds, *columns, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        table = np.zeros((self.spec.hashes, self.spec.hash_range), dtype=np.int64)
        count_cells(reports.columns["function"][part], reports.columns["symbol"][part], table)
        return table.ravel()


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


@bulk_half(HCMS)
class BulkHCMS(SketchOracle[HCMS]):
    """A report supports the values whose cell has its sign in its row."""

    @property
    def raw_counters(self) -> int:
        return self.spec.hashes * (self.spec.width + 1)

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        thresholds = np.uint64(self.spec.width), np.uint64(self.spec.keep)
        columns = reports.columns["function"][part], reports.columns["row"][part], reports.columns["sign"]
        return perturb_function_and_sign(keys, self.functions, self.long, *thresholds, *columns, part.start, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        sums = np.zeros(self.raw_counters, dtype=np.int64)
        signed_cells(
            reports.columns["function"][part], reports.columns["row"][part], reports.columns["sign"], part.start, *self._split(sums)
        )
        return sums

    def finish(self, sums: Array, n: int) -> Array:
        table, totals = self._split(sums)
        transform_cells(table, totals)
        return table.ravel()

    def _split(self, sums: Array) -> tuple[Array, Array]:
        size = self.tally_counters
        return sums[:size].reshape(self.spec.hashes, self.spec.width), sums[size:]
