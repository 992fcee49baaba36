"""Vectorized mechanisms that send one bit about a number: eight people to a byte, counted by their ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.duchi import Duchi
from deniable.client.one_bit import OneBitProtocol
from deniable.client.one_bit_mean import OneBitMean
from deniable.client.sign_rr import SignRR
from deniable.contract.source import Source
from deniable.contract.spec import bulk_half
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.numbers import Served
from deniable.kernels.single_bits import perturb_bit, round_to_bit
from deniable.local.mean.numeric import Grid
from deniable.local.mean.oracle import MeanOracle


@bulk_half(OneBitMean)
@bulk_half(Duchi)
class BulkOneBit(MeanOracle[OneBitProtocol]):
    """A report adds its bit."""

    def perturb(self, numbers: Array, grid: Grid, reports: Reports, part: slice, words: Array) -> Served:
        law = np.uint64(self.spec.first), np.uint64(self.spec.step)
        return round_to_bit(numbers, *grid, *law, reports.columns["bit"], part.start, words)

    def count(self, reports: Reports, part: slice) -> Array:
        # Bits past the last person are zero, so a byte may be counted whole.
        return np.array([np.bitwise_count(reports.columns["bit"][part.start // 8 : -(-part.stop // 8)]).sum(dtype=np.int64)])


@bulk_half(SignRR)
class BulkSignRR(BulkOneBit):
    """The same for answers that are low or high, of which nothing is rounded: randomized response."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        high = self._high(values)
        reports = Reports.empty(self.spec, high.size)
        coin = np.uint64(self.spec.first + self.spec.step), np.uint64(self.spec.first)
        bits = reports.columns["bit"]
        serve_everyone(high.size, lambda part, words: perturb_bit(high[part], *coin, bits, part.start, words), source)
        return reports

    def _high(self, values: Any) -> Array:
        """Who answers high; DomainError unless everybody answers that or low."""
        column, domain = self.column(values), self.spec.domain
        ends = column.start, float(domain.start + domain.width)
        nearly = np.clip(column.nearly, *ends) if domain.clip else column.nearly
        low, high = (np.asarray(nearly == end) for end in ends)
        if np.count_nonzero(low) + np.count_nonzero(high) < high.size:
            person = int(np.argmin(low | high))
            raise self.sign.refuse(float(column.nearly[person]), person)
        some = [int(np.argmax(end)) for end in (low, high) if end.any()]  # one stands for all whose double is the same, and the number
        for person in some if column.exact else range(high.size):
            if column.exact_place(person).denominator != 1:
                raise self.sign.refuse(float(column.nearly[person]), person)
        return np.asarray(high)

    @property
    def sign(self) -> SignRR:
        """The spec, which is no other kind."""
        if not isinstance(self.spec, SignRR):
            raise ParameterError("spec", self.spec, allowed="SignRR", fix="use the class that this mechanism registered")
        return self.spec
