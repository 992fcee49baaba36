"""dBitFlip in bulk: for each value, how often it was drawn, and how often its bit was 1 then."""

from __future__ import annotations

import numpy as np

from deniable.client.dbitflip import DBitFlip
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.scores import Scores
from deniable.core.tally import Candidates
from deniable.kernels.buckets import count_buckets, perturb_buckets
from deniable.kernels.compiled import Array
from deniable.local.frequency.oracle import ListedOracle


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
