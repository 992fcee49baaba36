"""One bit about a number, in bulk: eight people to a byte, counted by their ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.duchi import Duchi
from deniable.client.one_bit import OneBitProtocol
from deniable.client.one_bit_mean import OneBitMean
from deniable.client.sign_rr import SignRR
from deniable.contract.source import Source
from deniable.contract.spec import bulk_half
from deniable.core.number_column import NumberColumn
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.numbers import Served, round_to_bit
from deniable.kernels.sampling import perturb_bit
from deniable.local.mean.oracle import MeanOracle


@bulk_half(OneBitMean)
@bulk_half(Duchi)
class BulkOneBit(MeanOracle[OneBitProtocol]):
    """A report adds its bit."""

    def perturb(self, numbers: Array, grid: tuple[float, float, float, float], reports: Reports, part: slice, words: Array) -> Served:
        law = np.uint64(self.spec.first), np.uint64(self.spec.step)
        return round_to_bit(numbers, *grid, *law, reports.columns["bit"], part.start, words)

    def count(self, reports: Reports, part: slice) -> Array:
        # Bits past the last person are zero, so a byte may be counted whole.
        return np.array([np.bitwise_count(reports.columns["bit"][part.start // 8 : -(-part.stop // 8)]).sum(dtype=np.int64)])


@bulk_half(SignRR)
class BulkSignRR(BulkOneBit):
    """The same for answers that are low or high, of which nothing is rounded: randomized response."""

    def privatize(self, values: Any, source: Source | None) -> Reports:
        column = self.column(values)
        keys = column.nearly == float(self.spec.domain.start + self.spec.domain.width)
        reports = Reports.empty(self.spec, keys.size)
        coin = np.uint64(self.spec.first + self.spec.step), np.uint64(self.spec.first)
        bits = reports.columns["bit"]
        serve_everyone(keys.size, lambda part, words: perturb_bit(keys[part], *coin, bits[part.start // 8 :], words), source)
        return reports

    def column(self, values: Any) -> NumberColumn:
        column, domain = super().column(values), self.spec.domain
        ends = [np.asarray(column.nearly == float(end)) for end in (domain.start, domain.start + domain.width)]
        known = np.logical_or(*ends)
        if known.all() and all(column.exact_place(int(end.argmax())).denominator == 1 for end in ends if end.any()):
            return column
        person = int(known.argmin())
        raise self.sign.refuse(float(column.nearly[person]), person)

    @property
    def sign(self) -> SignRR:
        """The spec, which is no other kind."""
        if not isinstance(self.spec, SignRR):
            raise ParameterError("spec", self.spec, allowed="SignRR", fix="use its own bulk half")
        return self.spec
