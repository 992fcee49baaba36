"""Vectorized mechanisms with an entry for each value, or for some that are drawn: noisy numbers or bits, added up value by value."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from deniable.client.dbitflip import DBitFlip
from deniable.client.she import SHE
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.scores import Scores
from deniable.core.tally import Candidates
from deniable.kernels.buckets import count_buckets, perturb_buckets
from deniable.kernels.compiled import Array
from deniable.kernels.inversion import guide_table, perturb_noisy
from deniable.kernels.symbols import sum_rows
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


@bulk_half(DBitFlip)
class BulkDBitFlip(ListedOracle[DBitFlip]):
    """Two counters for each value: first all that count ones, then all that count draws."""

    @property
    def tally_counters(self) -> int:
        return 2 * self.spec.domain_size

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        spec = self.spec
        buckets, bits, first, stride = self._columns(reports, part)
        thresholds = np.uint64(spec.raise_other), np.uint64(spec.keep)
        return perturb_buckets(keys, spec.domain_size, *thresholds, buckets, bits, first, stride, words)

    def count(self, reports: Reports, part: slice, candidates: Candidates | None) -> Array:
        counters = np.zeros(self.tally_counters, dtype=np.int64)
        count_buckets(*self._columns(reports, part), *np.split(counters, 2))
        return counters

    def count_law(self, n: int, counters: Array) -> Scores:
        spec = self.spec
        ones, asked = np.split(counters, 2)
        share = spec.domain_size / spec.bits
        sums = share * (ones - float(spec.q) * asked) / float(spec.p - spec.q)
        spread, worst = np.asarray(spec.variance(n)), spec.variance(1, f=1.0)
        return Scores(n, sums, spread, slope=share - 1, reach=spec.influence, worst=worst, known=True)

    def _columns(self, reports: Reports, part: slice) -> tuple[Array, Array, int, int]:
        """The buckets of some people, everybody's bits as one row, the first person's number, and how many bits a person has there."""
        bits = reports.columns["bits"]
        stride = 1 if self.spec.bits == 1 else 8 * bits.shape[1]
        return reports.columns["buckets"][part].reshape(-1, self.spec.bits), bits.reshape(-1), part.start, stride
